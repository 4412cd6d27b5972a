// What is shown of the fleet, and in which order: kept in the address, so that a view can be shared.
import type { FleetEntry, State } from "../api/types";

export const SORTS = ["activity", "name", "newest", "oldest", "cpu", "memory"] as const;
export type Sort = (typeof SORTS)[number];
export const GROUPS = ["all", "awake", "asleep", "moving"] as const;
export type Group = (typeof GROUPS)[number];

export interface FleetSearch {
  q?: string;
  state?: Exclude<Group, "all">;
  template?: string;
  sort?: Exclude<Sort, "activity">;
  create?: boolean;
  from?: string;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
const oneOf = <T extends string>(value: unknown, options: readonly T[]): T | undefined => options.find((each) => each === value);

/** What of an address we understand; the rest is dropped. */
export function readSearch(raw: Record<string, unknown>): FleetSearch {
  const state = oneOf(raw.state, GROUPS);
  const sort = oneOf(raw.sort, SORTS);
  return {
    q: text(raw.q),
    state: state === "all" ? undefined : state,
    template: text(raw.template),
    sort: sort === "activity" ? undefined : sort,
    create: raw.create === true || raw.create === "true" ? true : undefined,
    from: text(raw.from),
  };
}

export function groupOf(state: State): Exclude<Group, "all"> {
  if (state === "running" || state === "snapshotting") return "awake";
  return state === "paused" ? "asleep" : "moving";
}

/** Every word must be in the name, the id, the template or the metadata. */
function mentions({ sandbox }: FleetEntry, words: readonly string[]): boolean {
  const pairs = Object.entries(sandbox.metadata).map(([key, value]) => `${key}=${value}`);
  const all = [sandbox.name ?? "", sandbox.id, sandbox.template, ...pairs].join("\n").toLowerCase();
  return words.every((word) => all.includes(word));
}

const last = (values: readonly number[]): number => values.at(-1) ?? 0;
const nameOf = ({ sandbox }: FleetEntry): string => sandbox.name ?? sandbox.id;
const byName = (a: FleetEntry, b: FleetEntry): number => nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true });
const newer = (a: FleetEntry, b: FleetEntry): number => b.sandbox.created_at.localeCompare(a.sandbox.created_at);
const RANK = { moving: 0, awake: 0, asleep: 1 };

const ORDER: Record<Sort, (a: FleetEntry, b: FleetEntry) => number> = {
  activity: (a, b) => RANK[groupOf(a.sandbox.state)] - RANK[groupOf(b.sandbox.state)] || newer(a, b) || byName(a, b),
  name: byName,
  newest: (a, b) => newer(a, b) || byName(a, b),
  oldest: (a, b) => newer(b, a) || byName(a, b),
  cpu: (a, b) => last(b.cpu) - last(a.cpu) || byName(a, b),
  memory: (a, b) => last(b.memory) - last(a.memory) || byName(a, b),
};

export function select(entries: readonly FleetEntry[], search: FleetSearch): FleetEntry[] {
  const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return entries
    .filter(
      (entry) =>
        (!search.state || groupOf(entry.sandbox.state) === search.state) &&
        (!search.template || entry.sandbox.template === search.template) &&
        mentions(entry, words),
    )
    .sort(ORDER[search.sort ?? "activity"]);
}

export function count(entries: readonly FleetEntry[]): Record<Group, number> {
  const counts = { all: entries.length, awake: 0, asleep: 0, moving: 0 };
  for (const entry of entries) counts[groupOf(entry.sandbox.state)] += 1;
  return counts;
}
