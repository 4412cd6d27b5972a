import type { ReactNode } from "react";
import type { Sandbox } from "../api/types";
import { Button, EmptyState } from "../ui";
import { isAsleep } from "./state";
import { useWake } from "./useWake";

/** Stands where something would be that only a waking sandbox can show. Looking never wakes it: the button does. */
export function Asleep({ sandbox, verb = "Wake it", children }: { sandbox: Sandbox; verb?: string; children?: ReactNode }) {
  const wake = useWake(sandbox);
  if (!isAsleep(sandbox)) {
    return (
      <EmptyState icon="sun" title={sandbox.state === "pausing" ? "Falling asleep…" : sandbox.state === "killing" ? "Ending…" : "Waking…"}>
        <p role="status">This takes a moment.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="moon"
      title="Asleep"
      action={<Button look="primary" icon="sun" busy={wake.isPending} onClick={() => wake.mutate()}>{verb}</Button>}
    >
      {children && <p>{children}</p>}
    </EmptyState>
  );
}
