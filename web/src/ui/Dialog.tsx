import { useId, useLayoutEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { messageOf } from "../api/errors";
import { Button, IconButton } from "./controls";
import { Prose } from "./Prose";
import { Notice } from "./surfaces";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
  wide?: boolean;
  /** Makes the dialog a form: Enter submits it. */
  onSubmit?: () => void;
}

/** A native modal dialog: the browser keeps the focus inside and gives it back. Mounted means open. */
export function Dialog({ title, onClose, children, actions, wide, onSubmit }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // A layout effect: its end comes before the element is taken out. One that is out already gives no focus back.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      beginning(dialog).focus();
    }
    return () => dialog?.close();
  }, []);
  const inside = (
    <>
      <header>
        <h2 id={heading}>{title}</h2>
        <IconButton icon="close" label="Close" small onClick={onClose} />
      </header>
      <div className="content">{children}</div>
      {actions && <div className="actions">{actions}</div>}
    </>
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    // Escape and clicks on the backdrop close it; both have the Close button as their way by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events
    <dialog
      ref={element}
      className={`dialog${wide ? " wide" : ""}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      {onSubmit ? (
        <form onSubmit={submit} noValidate>
          {inside}
        </form>
      ) : (
        inside
      )}
    </dialog>
  );
}

const FIELDS = ".content :is(input:not([type=radio], [type=checkbox], [hidden]), textarea)";

/** Where one begins: the first field to type in; else the first answer, which takes nothing away. */
function beginning(dialog: HTMLDialogElement): HTMLElement {
  const touches = window.matchMedia("(pointer: coarse)").matches; // a keyboard would cover half of the dialog
  if (touches) return dialog;
  return dialog.querySelector<HTMLElement>(FIELDS) ?? dialog.querySelector<HTMLElement>(".actions .button") ?? dialog;
}

interface ConfirmProps {
  title: string;
  /** What will be lost, and what can be undone. */
  children: ReactNode;
  verb: string;
  tone?: "danger" | "primary";
  /** Something is still missing. */
  disabled?: boolean;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before something that cannot simply be taken back. Stays open, with the reason, when it fails. */
export function Confirm({ title, children, verb, tone = "danger", disabled, onConfirm, onClose }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const go = async () => {
    setBusy(true);
    setFailure(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => void go()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look={tone} busy={busy} disabled={disabled}>
            {verb}
          </Button>
        </>
      }
    >
      {children}
      {failure !== null && (
        <Notice tone="error">
          <Prose text={messageOf(failure)} />
        </Notice>
      )}
    </Dialog>
  );
}
