import type { ReactNode } from "react";
import { Field } from "./controls";

interface KeyFieldProps {
  value: string;
  onChange: (key: string) => void;
  label?: string;
  hint: ReactNode;
  takesFocus?: boolean;
}

/** Where an API key is typed, or filled in by a password manager. */
export function KeyField({ value, onChange, label = "API key", hint, takesFocus }: KeyFieldProps) {
  return (
    <>
      {/* For password managers: they keep nothing without a name. */}
      <input type="text" name="username" autoComplete="username" defaultValue="roost" hidden />
      <Field label={label} hint={hint}>
        {(ids) => (
          <input
            {...ids}
            className="input mono"
            type="password"
            name="password"
            autoComplete="current-password"
            spellCheck={false}
            required
            // eslint-disable-next-line jsx-a11y/no-autofocus -- where it is the only thing to do
            autoFocus={takesFocus}
            value={value}
            onChange={(event) => onChange(event.target.value.trim())}
          />
        )}
      </Field>
    </>
  );
}

/** The key again, for what would outlive the session. */
export function KeyAgain({ value, onChange, what }: { value: string; onChange: (key: string) => void; what: string }) {
  return (
    <KeyField
      label="Your API key, again"
      value={value}
      onChange={onChange}
      hint={
        <>
          {what} outlives this session, so being signed in is not enough. <code>roost env</code> prints the key on the
          server&rsquo;s machine.
        </>
      }
    />
  );
}
