import type { ReactNode } from "react";
import type { Sandbox } from "../api/types";
import { Button, EmptyState } from "../ui";
import { isAsleep } from "./state";
import { useIsWaking, useWake } from "./useWake";

interface AsleepProps {
  sandbox: Sandbox;
  verb?: string;
  /** It was asked to wake; should that fail, `onFailed` follows. */
  onWake?: () => void;
  onFailed?: () => void;
  children?: ReactNode;
}

/** Stands where something would be that only a waking sandbox can show. Looking never wakes it: the button does. */
export function Asleep({ sandbox, verb = "Wake it", onWake, onFailed, children }: AsleepProps) {
  const { wake } = useWake(sandbox, onFailed);
  const waking = useIsWaking(sandbox);
  if (waking || !isAsleep(sandbox)) {
    return (
      <EmptyState
        icon="sun"
        title={sandbox.state === "pausing" ? "Falling asleep…" : sandbox.state === "killing" ? "Ending…" : "Waking…"}
      >
        <p role="status">This takes a moment.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="moon"
      title="Asleep"
      action={
        <Button look="primary" icon="sun" onClick={() => (wake(), onWake?.())}>
          {verb}
        </Button>
      }
    >
      {children && <p>{children}</p>}
    </EmptyState>
  );
}
