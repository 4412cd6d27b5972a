import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { portUrl } from "../../api/agent";
import { createPortLink } from "../../api/calls";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import type { Sandbox } from "../../api/types";
import { Button, Copyable, Dialog, Field, Notice } from "../../ui";
import { titleOf } from "../../fleet/words";
import { HowLong } from "../share/HowLong";
import { Links } from "../share/Links";
import { isPublic } from "./isPublic";

/** Gives a port to somebody else: the address where it is public, else a link that ends. */
export function SharePort({ sandbox, port, onClose }: { sandbox: Sandbox; port: number; onClose: () => void }) {
  const title = `Share port ${port} of ${titleOf(sandbox)}`;
  if (isPublic(sandbox)) {
    return (
      <Dialog title={title} onClose={onClose} wide>
        <p className="muted">The ports of this sandbox are public: anybody who knows the address can open it, and so wakes the sandbox if its settings allow that.</p>
        <Copyable text={portUrl(sandbox, port)} label="address" />
        <Links sandbox={sandbox} port={port} />
      </Dialog>
    );
  }
  return <ByLink sandbox={sandbox} port={port} title={title} onClose={onClose} />;
}

function ByLink({ sandbox, port, title, onClose }: { sandbox: Sandbox; port: number; title: string; onClose: () => void }) {
  const client = useQueryClient();
  const [seconds, setSeconds] = useState(3600);
  const [label, setLabel] = useState("");
  const make = useMutation({
    mutationFn: () => createPortLink(sandbox.id, { port, seconds, label: label.trim() || "a guest" }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.links(sandbox.id) }),
  });
  return (
    <Dialog title={title} onClose={onClose} onSubmit={() => make.mutate()} wide>
      <p className="muted">Whoever has the link can open this port in a browser, without a key, until it expires or you revoke it. It opens no other port. Opening it wakes the sandbox as any traffic does.</p>
      <div className="share-fields">
        <HowLong value={seconds} onChange={setSeconds} />
        <Field label="Who">
          {(ids) => <input {...ids} className="input" value={label} maxLength={60} placeholder="anna" autoComplete="off" onChange={(event) => setLabel(event.target.value)} />}
        </Field>
        <Button type="submit" look="primary" icon="link" busy={make.isPending}>Make link</Button>
      </div>
      {make.error && <Notice tone="error">{messageOf(make.error)}</Notice>}
      {make.data && (
        <div className="stack tight" role="status">
          <Copyable text={make.data.url} label="link" />
          <p className="small muted">It is shown this once: copy it now.</p>
        </div>
      )}
      <Links sandbox={sandbox} port={port} />
    </Dialog>
  );
}
