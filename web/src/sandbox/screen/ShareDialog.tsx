import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createLink } from "../../api/calls";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import type { Sandbox, ScreenLink } from "../../api/types";
import { Button, Copyable, Dialog, Field, Notice, Segments } from "../../ui";
import { titleOf } from "../../fleet/words";
import { HowLong } from "../share/HowLong";
import { Links } from "../share/Links";

/** Lets people without a key watch or drive, for a while; shows who can, and ends it. */
export function ShareDialog({ sandbox, own, onClose }: { sandbox: Sandbox; own: string | null; onClose: () => void }) {
  const client = useQueryClient();
  const [mode, setMode] = useState<ScreenLink["mode"]>("view");
  const [seconds, setSeconds] = useState(3600);
  const [label, setLabel] = useState("");
  const make = useMutation({
    mutationFn: () => createLink(sandbox.id, { mode, seconds, label: label.trim() || "a guest" }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.links(sandbox.id) }),
  });
  return (
    <Dialog title={`Share the screen of ${titleOf(sandbox)}`} onClose={onClose} onSubmit={() => make.mutate()} wide>
      <p className="muted">Whoever has the link can open the screen in a browser, without a key, until it expires or you revoke it. Opening it wakes a sleeping sandbox.</p>
      <div className="share-fields">
        <div className="field">
          <span className="label">May</span>
          <Segments label="May" value={mode} options={[{ value: "view", label: "Watch" }, { value: "control", label: "Watch and drive" }]} onChange={setMode} />
        </div>
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
      <Links sandbox={sandbox} port={null} own={own} />
    </Dialog>
  );
}
