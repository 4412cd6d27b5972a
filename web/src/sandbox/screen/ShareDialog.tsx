import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createLink, listLinks, revokeLink } from "../../api/calls";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import type { Link, Sandbox } from "../../api/types";
import { Badge, Button, Copyable, Dialog, Field, IconButton, Loading, notifyError, Notice, RelativeTime, Segments } from "../../ui";
import { titleOf } from "../../fleet/words";

const TIMES = [
  { value: "3600", label: "1 hour" },
  { value: "28800", label: "8 hours" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "1 week" },
] as const;

/** Lets people without a key watch or drive, for a while; shows who can, and ends it. */
export function ShareDialog({ sandbox, own, onClose }: { sandbox: Sandbox; own: string | null; onClose: () => void }) {
  const client = useQueryClient();
  const [mode, setMode] = useState<Link["mode"]>("view");
  const [seconds, setSeconds] = useState<(typeof TIMES)[number]["value"]>("3600");
  const [label, setLabel] = useState("");
  const stale = (): Promise<void> => client.invalidateQueries({ queryKey: keys.links(sandbox.id) });
  const make = useMutation({
    mutationFn: () => createLink(sandbox.id, { mode, seconds: Number(seconds), label: label.trim() || "a guest" }),
    onSuccess: stale,
  });
  return (
    <Dialog title={`Share the screen of ${titleOf(sandbox)}`} onClose={onClose} onSubmit={() => make.mutate()} wide>
      <p className="muted">Whoever has the link can open the screen in a browser, without a key, until it expires or you revoke it. Opening it wakes a sleeping sandbox.</p>
      <div className="share-fields">
        <div className="field">
          <span className="label">May</span>
          <Segments label="May" value={mode} options={[{ value: "view", label: "Watch" }, { value: "control", label: "Watch and drive" }]} onChange={setMode} />
        </div>
        <Field label="For">
          {(ids) => (
            <select {...ids} className="select" value={seconds} onChange={(event) => setSeconds(event.target.value as typeof seconds)}>
              {TIMES.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
            </select>
          )}
        </Field>
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
      <Links sandbox={sandbox} own={own} />
    </Dialog>
  );
}

function Links({ sandbox, own }: { sandbox: Sandbox; own: string | null }) {
  const client = useQueryClient();
  const found = useQuery({ queryKey: keys.links(sandbox.id), queryFn: async ({ signal }) => (await listLinks(sandbox.id, signal)).links });
  const revoke = useMutation({
    mutationFn: (id: string) => revokeLink(sandbox.id, id),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.links(sandbox.id) }),
    onError: notifyError,
  });
  if (found.isPending) return <Loading lines={2} label="Loading links" />;
  if (found.isError) return <Notice tone="error">{messageOf(found.error)}</Notice>;
  if (found.data.length === 0) return null;
  return (
    <div className="stack tight">
      <h3>Links that work now</h3>
      <ul className="links">
        {found.data.map((link) => (
          <li key={link.id} className="row">
            <span className="grow truncate">{link.label || "no name"}{link.id === own && <span className="faint"> (this tab)</span>}</span>
            <Badge tone={link.mode === "control" ? "amber" : "plain"}>{link.mode === "control" ? "may drive" : "watches"}</Badge>
            <span className="small muted nowrap">ends <RelativeTime at={link.expires_at} /></span>
            <IconButton icon="trash" small label={`Revoke the link of ${link.label || "no name"}`} disabled={link.id === own} onClick={() => revoke.mutate(link.id)} />
          </li>
        ))}
      </ul>
    </div>
  );
}
