import { useState } from "react";
import { Button, copy, Dialog, Field } from "../../ui";

interface ClipboardProps {
  text: string;
  driving: boolean;
  /** Whether what is copied there comes here. */
  isTold: boolean;
  onSend: (text: string) => void;
  onClose: () => void;
}

/** The sandbox's clipboard, for browsers that do not let a page carry it by itself. */
export function ClipboardDialog({ text, driving, isTold, onSend, onClose }: ClipboardProps) {
  const [draft, setDraft] = useState(text);
  return (
    <Dialog
      title="Clipboard of the sandbox"
      onClose={onClose}
      onSubmit={() => (onSend(draft), onClose())}
      actions={
        <>
          <Button icon="copy" disabled={!draft} onClick={() => void copy(draft)}>
            Copy to mine
          </Button>
          <Button type="submit" look="primary" disabled={!driving}>
            Send to the sandbox
          </Button>
        </>
      }
    >
      <Field
        label="Text"
        hint={
          driving
            ? "What was copied there is here. What you send can be pasted there."
            : isTold
              ? "What was copied there is here. To send text, take over first."
              : "Take over first: then what is copied there appears here, and what you send can be pasted there."
        }
      >
        {(ids) => (
          <textarea
            {...ids}
            className="textarea mono"
            rows={6}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
