import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as calls from "../api/calls";
import { messageOf } from "../api/errors";
import { keys } from "../api/keys";
import type { Sandbox } from "../api/types";
import { put } from "../live/stream";
import { Button, Icon, Loading, Notice, Prose, notify, notifyError, RelativeTime, useNow } from "../ui";
import { duration } from "../ui/format";
import { titleOf } from "./words";

/** Those that died lately. Of most the disk is kept for a day: they can come back. */
export function RecentlyKilled() {
  const [open, setOpen] = useState(false);
  return (
    <details className="killed" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Recently killed</summary>
      {open && <List />}
    </details>
  );
}

function List() {
  const dead = useQuery({
    queryKey: keys.dead,
    queryFn: async ({ signal }) => (await calls.listDead(signal)).sandboxes,
    staleTime: 0,
  });
  if (dead.isError)
    return (
      <Notice tone="error">
        <Prose text={messageOf(dead.error)} />
      </Notice>
    );
  if (!dead.data) return <Loading lines={2} />;
  if (dead.data.length === 0)
    return <p className="muted small">None. A killed sandbox can be brought back from here for a day.</p>;
  const latest = [...dead.data].sort((a, b) => b.changed_at.localeCompare(a.changed_at));
  return (
    <ul className="card">
      {latest.map((sandbox) => (
        <Row key={sandbox.id} sandbox={sandbox} />
      ))}
    </ul>
  );
}

function Row({ sandbox }: { sandbox: Sandbox }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const now = useNow(20);
  const left = sandbox.undelete_until ? (Date.parse(sandbox.undelete_until) - now) / 1000 : 0;
  const bringBack = async () => {
    setBusy(true);
    try {
      const back = await calls.undeleteSandbox(sandbox.id);
      put(client, [{ type: "sandbox", sandbox: back }]);
      notify(`Brought back ${titleOf(back)}.`);
      await client.invalidateQueries({ queryKey: keys.dead });
    } catch (error) {
      notifyError(error);
    }
    setBusy(false);
  };
  return (
    <li>
      <Icon name="trash" />
      <div className="grow">
        <p className="truncate">
          <strong>{titleOf(sandbox)}</strong> <span className="muted">{sandbox.template}</span>
        </p>
        <p className="muted small truncate">
          {sandbox.reason ?? "it died"} · <RelativeTime at={sandbox.changed_at} />
        </p>
      </div>
      {left > 0 ? (
        <>
          <span className="faint small nowrap wide-only">{duration(left, 1)} left</span>
          <Button small icon="undo" busy={busy} onClick={() => void bringBack()}>
            Bring back
          </Button>
        </>
      ) : (
        <span className="faint small nowrap">nothing kept</span>
      )}
    </li>
  );
}
