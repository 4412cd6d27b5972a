/** What the states of a sandbox mean for a page that shows one. */

import type { Sandbox } from "../api/types";

/** Its agent answers. */
export const isAwake = ({ state }: Pick<Sandbox, "state">): boolean => state === "running" || state === "snapshotting";

export const isAsleep = ({ state }: Pick<Sandbox, "state">): boolean => state === "paused";

export const isOver = ({ state }: Pick<Sandbox, "state">): boolean => state === "dead" || state === "killing";

export const TABS = ["screen", "terminal", "files", "timeline", "activity", "ports", "settings"] as const;
export type Tab = (typeof TABS)[number];

/** The tab that is asked for, or the one that shows most. */
export function tabOf(asked: string | undefined, sandbox: Pick<Sandbox, "has_desktop">): Tab {
  return TABS.find((tab) => tab === asked) ?? (sandbox.has_desktop ? "screen" : "terminal");
}
