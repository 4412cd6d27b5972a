// What a message of the live stream does to what the pages know. Pure: old knowledge and messages in, new knowledge out.
import type { Activity, Event, Fleet, FleetEntry, Sandbox } from "../api/types";

export type LiveMessage =
  | { type: "sandbox"; sandbox: Sandbox }
  | { type: "pulse"; figures: Record<string, [cpu: number, memory: number]>; dozing?: Record<string, boolean> }
  | { type: "event"; event: Event };

const SAMPLES_KEPT = 30;
const UNKNOWN: Activity = { awake: true, dozing: false, awake_because: [], sleeps_at: null, then: null };

/** A message from its wire form; null for one that this page is too old to know. */
export function parseMessage(name: string, data: string): LiveMessage | null {
  const body: unknown = JSON.parse(data);
  if (body === null || typeof body !== "object") return null;
  if (name === "sandbox" && "id" in body) return { type: "sandbox", sandbox: body as Sandbox };
  if (name === "pulse" && "p" in body) {
    const figures = body.p as Record<string, [number, number]>;
    return "d" in body ? { type: "pulse", figures, dozing: body.d as Record<string, boolean> } : { type: "pulse", figures };
  }
  if ("sequence" in body && "kind" in body) return { type: "event", event: body as Event };
  return null;
}

/** Answers and messages overtake each other: what is known stays if it is the newer. */
export const newest = (known: Sandbox | undefined, told: Sandbox): Sandbox =>
  known && known.revision > told.revision ? known : told;

const isAsleep = (state: Sandbox["state"]): boolean => state === "paused" || state === "resuming";

function entryFor(sandbox: Sandbox, before: FleetEntry | undefined, at: string): FleetEntry {
  const fresh = before ?? { sandbox, activity: UNKNOWN, cpu: [], memory: [], at };
  if (isAsleep(sandbox.state)) {
    const dozing = !fresh.activity.awake && fresh.activity.dozing;
    return { ...fresh, sandbox, activity: { awake: false, dozing, awake_because: [], sleeps_at: null, then: null } };
  }
  const woke = fresh.activity.awake ? fresh.activity : UNKNOWN;
  return { ...fresh, sandbox, activity: woke };
}

/** The fleet after the messages, in order. The same object when they change nothing of it. */
export function applyToFleet(fleet: Fleet, messages: readonly LiveMessage[]): Fleet {
  const entries = new Map(fleet.sandboxes.map((entry) => [entry.sandbox.id, entry]));
  let cursor = fleet.cursor;
  let changed = false;
  for (const message of messages) {
    if (message.type === "event") {
      cursor = Math.max(cursor, message.event.sequence);
    } else if (message.type === "sandbox") {
      const before = entries.get(message.sandbox.id);
      const sandbox = newest(before?.sandbox, message.sandbox);
      if (sandbox.state === "dead") changed = entries.delete(sandbox.id) || changed;
      else {
        entries.set(sandbox.id, entryFor(sandbox, before, before?.at ?? sandbox.created_at));
        changed = true;
      }
    } else {
      for (const [id, [cpu, memory]] of Object.entries(message.figures)) {
        const before = entries.get(id);
        if (!before) continue;
        const add = (values: readonly number[], value: number) => [...values.slice(1 - SAMPLES_KEPT), value];
        entries.set(id, { ...before, cpu: add(before.cpu, cpu), memory: add(before.memory, memory) });
        changed = true;
      }
      for (const [id, dozing] of Object.entries(message.dozing ?? {})) {
        const before = entries.get(id);
        if (!before || before.activity.awake || before.activity.dozing === dozing) continue;
        entries.set(id, { ...before, activity: { ...before.activity, dozing } });
        changed = true;
      }
    }
  }
  if (!changed && cursor === fleet.cursor) return fleet;
  return { ...fleet, cursor, sandboxes: changed ? [...entries.values()] : fleet.sandboxes };
}

export interface EventFilter {
  sandbox?: string;
  kind?: readonly string[];
}

export const matches = (filter: EventFilter, event: Event): boolean =>
  (filter.sandbox === undefined || filter.sandbox === event.sandbox) &&
  (filter.kind === undefined || filter.kind.length === 0 || filter.kind.includes(event.kind));

/** Newest first, each once: a reconnect may tell an event again. */
export function prependEvents(known: readonly Event[], news: readonly Event[]): Event[] {
  const newest = known[0]?.sequence ?? 0;
  const later = news.filter((event) => event.sequence > newest).sort((a, b) => b.sequence - a.sequence);
  return later.length === 0 ? (known as Event[]) : [...later, ...known];
}

/** Which lists an event makes stale, by the first word of their names in the cache. */
export function staleAfter(event: Event): string[] {
  const [noun = ""] = event.kind.split(".");
  const stale = new Set<string>();
  if (noun === "question") stale.add("questions").add("question");
  if (
    noun === "snapshot" ||
    event.kind === "sandbox.snapshotted" ||
    event.kind === "sandbox.paused" ||
    event.kind === "sandbox.forked"
  )
    stale.add("snapshots");
  if (event.kind === "sandbox.died" || event.kind === "sandbox.rolled_back") stale.add("snapshots").add("dead");
  if (event.kind === "sandbox.undeleted") stale.add("dead");
  if (noun === "template" || event.kind === "sandbox.created" || event.kind === "sandbox.died") stale.add("templates");
  if (noun === "driver" || noun === "link") stale.add("links");
  return [...stale];
}
