import { useState } from "react";
import { Button, copy, Dialog, Field } from "../../ui";

/** The sandbox's clipboard, for browsers that do not let a page carry it by itself. */
export function ClipboardDialog({ text, driving, onSend, onClose }: { text: string; driving: boolean; onSend: (text: string) => void; onClose: () => void }) {
  const [draft, setDraft] = useState(text);
  return (
    <Dialog
      title="Clipboard of the sandbox"
      onClose={onClose}
      onSubmit={() => (onSend(draft), onClose())}
      actions={
        <>
          <Button icon="copy" disabled={!draft} onClick={() => void copy(draft)}>Copy to mine</Button>
          <Button type="submit" look="primary" disabled={!driving}>Send to the sandbox</Button>
        </>
      }
    >
      <Field label="Text" hint={driving ? "What is copied there appears here. What you send can be pasted there." : "What is copied there appears here. To send text, take over first."}>
        {(ids) => <textarea {...ids} className="textarea mono" rows={6} value={draft} onChange={(event) => setDraft(event.target.value)} />}
      </Field>
    </Dialog>
  );
}
