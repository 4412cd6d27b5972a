// What a sandbox's state is called, and the one sentence that says why it is awake and how long.
import type { Activity, Reason, Sandbox, State } from "../api/types";
import { duration } from "../ui/format";
import type { Tone } from "../ui";

export const STATES: Record<State, { label: string; tone: Tone; moving?: boolean }> = {
  creating: { label: "Starting", tone: "amber", moving: true },
  running: { label: "Awake", tone: "green" },
  pausing: { label: "Falling asleep", tone: "amber", moving: true },
  paused: { label: "Asleep", tone: "indigo" },
  resuming: { label: "Waking", tone: "amber", moving: true },
  snapshotting: { label: "Snapshotting", tone: "amber", moving: true },
  killing: { label: "Ending", tone: "red", moving: true },
  dead: { label: "Dead", tone: "plain" },
};

/** What matters most to somebody who wonders why it is still awake. */
const WEIGHT: Record<string, number> = { moving: 0, hold: 1, traffic: 2, cpu: 3, network: 4, fresh: 5, deadline: 6, always: 7 };

export function mainReason(reasons: readonly Reason[]): Reason | undefined {
  return [...reasons].sort((a, b) => (WEIGHT[a.kind] ?? 9) - (WEIGHT[b.kind] ?? 9))[0];
}

const WHY: Record<string, (reason: Reason) => string> = {
  hold: (reason) => (reason.detail ? `held awake: ${reason.detail}` : "held awake"),
  traffic: () => "recent traffic",
  cpu: (reason) => reason.detail.replace(/^it used/, "it uses"),
  network: () => "it uses the network",
  fresh: () => "just started",
  deadline: () => "its time is not up",
  always: () => "no idle policy",
  moving: (reason) => reason.detail,
};

export const reasonText = (reason: Reason): string => WHY[reason.kind]?.(reason) ?? reason.detail;

/** "Sleeps in 4 min · it uses 34% of a core", "Asleep for 2 h". What comes next first: the line may be cut. */
export function statusLine(sandbox: Sandbox, activity: Activity, now: number): string {
  const since = (at: string) => duration((now - Date.parse(at)) / 1000, 1);
  switch (sandbox.state) {
    case "paused":
      return `${activity.dozing ? "Dozing" : "Asleep"} for ${since(sandbox.changed_at)}`;
    case "dead":
      return sandbox.reason ?? `Dead for ${since(sandbox.changed_at)}`;
    case "creating":
    case "pausing":
    case "resuming":
    case "killing":
      return `${STATES[sandbox.state].label} …`;
    default: {
      const reason = mainReason(activity.awake_because);
      const left = activity.sleeps_at === null ? null : Math.max(0, (Date.parse(activity.sleeps_at) - now) / 1000);
      const then = activity.then === "kill" ? "Ends" : "Sleeps";
      const end = left === null ? "" : left < 1 ? `${then} now` : `${then} in ${duration(left, 1)}`;
      const why = reason && reasonText(reason);
      if (end) return why ? `${end} · ${why}` : end;
      return why ? `Awake: ${why}` : `Awake for ${since(sandbox.changed_at)}`;
    }
  }
}

export const titleOf = (sandbox: Pick<Sandbox, "name" | "id">): string => sandbox.name ?? sandbox.id;
