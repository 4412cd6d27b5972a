import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { getActivity } from "../api/calls";
import { keys } from "../api/keys";
import type { Sandbox } from "../api/types";
import { useSources } from "../app/queries";
import { Badge, Button, Icon, Menu, RelativeTime, useNow, type MenuEntry } from "../ui";
import { ForkDialog, KillDialog, SnapshotDialog } from "./dialogs";
import { isAsleep, isAwake, isOver } from "./state";
import { STATES, statusLine, titleOf } from "../fleet/words";
import { usePause } from "./usePause";
import { useWake } from "./useWake";

type Asking = "snapshot" | "fork" | "kill" | null;

/** Who it is, how it is, and what can be done with all of it. */
export function Header({ sandbox }: { sandbox: Sandbox }) {
  const [asking, setAsking] = useState<Asking>(null);
  const pause = usePause(sandbox);
  const waking = useWake(sandbox);
  const state = STATES[sandbox.state];
  const sourceOf = useSources([sandbox.template]);
  const done = (): void => setAsking(null);
  const more: MenuEntry[] = [
    { label: "Snapshot…", icon: "camera", disabled: !isAwake(sandbox), onSelect: () => setAsking("snapshot") },
    { label: "Fork…", icon: "fork", onSelect: () => setAsking("fork") },
    "separator",
    { label: "Kill…", icon: "trash", danger: true, onSelect: () => setAsking("kill") },
  ];
  return (
    <header className="sandbox-head">
      <Link to="/" className="sandbox-back" aria-label="Back to the fleet" title="Back to the fleet">
        <Icon name="back" />
      </Link>
      <div className="sandbox-titles">
        <div className="row wrap">
          <h1 className="truncate">{titleOf(sandbox)}</h1>
          <Badge tone={state.tone} dot moving={state.moving}>
            {state.label}
          </Badge>
          {sandbox.driver && (
            <Badge tone="amber">
              <Icon name="hand" size={12} /> {sandbox.driver.who} drives
            </Badge>
          )}
        </div>
        <p className="small muted sandbox-about">
          {sandbox.name && (
            <>
              <code className="mono">{sandbox.id}</code> ·{" "}
            </>
          )}
          <span>{sourceOf(sandbox.template)}</span> ·{" "}
          <span>
            made <RelativeTime at={sandbox.created_at} />
          </span>
          {!isOver(sandbox) && <Why sandbox={sandbox} />}
        </p>
      </div>
      {!isOver(sandbox) && (
        <div className="sandbox-actions">
          {isAsleep(sandbox) || sandbox.state === "resuming" ? (
            <Button look="primary" icon="sun" busy={waking.isPending || sandbox.state === "resuming"} onClick={waking.wake}>
              Wake
            </Button>
          ) : (
            <Button
              icon="moon"
              busy={pause.isPending || sandbox.state === "pausing"}
              disabled={!isAwake(sandbox)}
              onClick={() => pause.mutate()}
            >
              Pause
            </Button>
          )}
          <span className="sandbox-actions-wide">
            <Button icon="camera" disabled={!isAwake(sandbox)} onClick={() => setAsking("snapshot")}>
              Snapshot
            </Button>
            <Button icon="fork" onClick={() => setAsking("fork")}>
              Fork
            </Button>
            <Button icon="trash" onClick={() => setAsking("kill")}>
              Kill
            </Button>
          </span>
          <span className="sandbox-actions-narrow">
            <Menu label="More actions" entries={more} />
          </span>
        </div>
      )}
      {asking === "snapshot" && <SnapshotDialog sandbox={sandbox} onClose={done} />}
      {asking === "fork" && <ForkDialog sandbox={sandbox} onClose={done} />}
      {asking === "kill" && <KillDialog sandbox={sandbox} onClose={done} />}
    </header>
  );
}

function Why({ sandbox }: { sandbox: Sandbox }) {
  const activity = useActivity(sandbox);
  const now = useNow(1);
  return activity.data ? (
    <>
      {" "}
      · <span className="number">{statusLine(sandbox, activity.data, now)}</span>
    </>
  ) : null;
}

export function useActivity(sandbox: Sandbox) {
  return useQuery({
    queryKey: keys.activity(sandbox.id),
    queryFn: ({ signal }) => getActivity(sandbox.id, signal),
    enabled: !isOver(sandbox),
  });
}
