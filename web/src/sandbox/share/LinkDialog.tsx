import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import type { Sandbox } from "../../api/types";
import { Button, Copyable, Dialog, Field, KeyAgain, Notice } from "../../ui";
import { HowLong } from "./HowLong";

interface LinkDialogProps {
  sandbox: Sandbox;
  title: string;
  /** What whoever has the link can do. */
  says: string;
  make: (seconds: number, label: string, key?: string) => Promise<{ url: string }>;
  /** Being signed in is not enough to make it: the key is asked for again. */
  needsKey?: boolean;
  onClose: () => void;
  /** What else can be chosen. */
  choices?: ReactNode;
  /** The links there are. */
  children: ReactNode;
}

/** Makes a link that ends, for somebody without a key, and shows it this once. */
export function LinkDialog({ sandbox, title, says, make, needsKey = false, onClose, choices, children }: LinkDialogProps) {
  const client = useQueryClient();
  const [seconds, setSeconds] = useState(3600);
  const [label, setLabel] = useState("");
  const [key, setKey] = useState("");
  const making = useMutation({
    mutationFn: () => make(seconds, label.trim() || "a guest", needsKey ? key : undefined),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.links(sandbox.id) }),
  });
  const submit = (
    <Button type="submit" look="primary" icon="link" busy={making.isPending} disabled={needsKey && key === ""}>
      Make link
    </Button>
  );
  return (
    <Dialog title={title} onClose={onClose} onSubmit={() => making.mutate()} wide>
      <p className="muted">{says}</p>
      <div className="share-fields">
        {choices}
        <HowLong value={seconds} onChange={setSeconds} />
        <Field label="Who">
          {(ids) => (
            <input
              {...ids}
              className="input"
              value={label}
              maxLength={60}
              placeholder="anna"
              autoComplete="off"
              onChange={(event) => setLabel(event.target.value)}
            />
          )}
        </Field>
        {!needsKey && submit}
      </div>
      {needsKey && (
        <div className="share-fields">
          <div className="grow">
            <KeyAgain value={key} onChange={setKey} what="A link that drives" />
          </div>
          {submit}
        </div>
      )}
      {making.error && <Notice tone="error">{messageOf(making.error)}</Notice>}
      {making.data && (
        <div className="stack tight" role="status">
          <Copyable text={making.data.url} label="link" />
          <p className="small muted">It is shown this once: copy it now.</p>
        </div>
      )}
      {children}
    </Dialog>
  );
}
