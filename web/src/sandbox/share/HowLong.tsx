import { Field } from "../../ui";

const TIMES = [
  { value: 3600, label: "1 hour" },
  { value: 28_800, label: "8 hours" },
  { value: 86_400, label: "1 day" },
  { value: 604_800, label: "1 week" },
] as const;

/** For how long a link is to open anything, in seconds. */
export function HowLong({ value, onChange }: { value: number; onChange: (seconds: number) => void }) {
  return (
    <Field label="For">
      {(ids) => (
        <select {...ids} className="select" value={value} onChange={(event) => onChange(Number(event.target.value))}>
          {TIMES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
