import { useId, useState, type ButtonHTMLAttributes, type ReactNode } from "react";
import { Icon, type IconName } from "./icons";
import { notify } from "./toasts";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "plain" | "primary" | "danger" | "ghost";
  small?: boolean;
  icon?: IconName;
  /** Shows a spinner and takes no clicks. */
  busy?: boolean;
}

export function Button({
  look = "plain",
  small,
  icon,
  busy,
  children,
  className = "",
  disabled,
  type = "button",
  ...rest
}: ButtonProps) {
  const words = ["button", look === "plain" ? "" : look, small ? "small" : "", className].filter(Boolean).join(" ");
  return (
    <button type={type} className={words} disabled={disabled || busy} aria-busy={busy || undefined} {...rest}>
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that is only a picture: `label` is what it says to those who cannot see it, and on hover. */
export function IconButton({
  icon,
  label,
  look = "ghost",
  small,
  busy,
  className = "",
  ...rest
}: Omit<ButtonProps, "icon" | "children"> & { icon: IconName; label: string }) {
  const words = ["button icon", look === "plain" ? "" : look, small ? "small" : "", className].filter(Boolean).join(" ");
  return (
    <button type="button" className={words} aria-label={label} title={label} {...rest}>
      {busy ? <span className="spinner" aria-hidden="true" /> : <Icon name={icon} />}
    </button>
  );
}

export type Tone = "plain" | "green" | "indigo" | "amber" | "red" | "blue";

export function Badge({
  tone = "plain",
  dot,
  moving,
  children,
}: {
  tone?: Tone;
  dot?: boolean;
  moving?: boolean;
  children: ReactNode;
}) {
  return (
    <span className={`badge ${tone}`}>
      {dot && <span className={`dot${moving ? " moving" : ""}`} aria-hidden="true" />}
      {children}
    </span>
  );
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  problem?: string | null;
  children: (ids: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean | undefined }) => ReactNode;
}

/** A label, a control, a hint, and what is wrong with it. */
export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId();
  const about = problem || hint ? `${id}-about` : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": about, "aria-invalid": problem ? true : undefined })}
      {problem ? (
        <p id={about} className="problem" role="alert">
          {problem}
        </p>
      ) : hint ? (
        <p id={about} className="hint">
          {hint}
        </p>
      ) : null}
    </div>
  );
}

/** A few choices of which one holds. */
export function Segments<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly { value: T; label: ReactNode }[];
  onChange: (value: T) => void;
}) {
  return (
    <div className="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}

export async function copy(text: string, what = "Copied."): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(what);
  } catch {
    notify("The browser does not let this page copy. Mark the text and copy it by hand.", { tone: "error" });
  }
}

/** Text to take along, with a button that does. */
export function Copyable({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  return (
    <div className="copyable">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- long ones scroll, by keyboard too */}
      <code tabIndex={0} aria-label={label}>
        {text}
      </code>
      <IconButton
        small
        icon={done ? "check" : "copy"}
        label={`Copy ${label}`}
        onClick={() => void copy(text).then(() => setDone(true))}
      />
    </div>
  );
}
