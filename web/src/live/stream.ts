// The one live stream: opened once, kept open, its messages put into the query cache in small batches.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { isUnauthenticated } from "../api/errors";
import { keys } from "../api/keys";
import { send } from "../api/request";
import { readEvents } from "../api/sse";
import type { Event, Fleet } from "../api/types";
import { STATES } from "../fleet/words";
import { applyToFleet, matches, parseMessage, prependEvents, staleAfter, type EventFilter, type LiveMessage } from "./apply";

export type LiveStatus = "connecting" | "live" | "lost";
export type EventPages = InfiniteData<{ events: Event[] }, number | undefined>;

const BATCH_MS = 60;
const ASK_AFTER_MS = 300;
const SILENT_MS = 45_000; // the server says something every 15 s, if only that it is there
const LONGEST_PAUSE_MS = 15_000;

const listeners = new Set<(message: LiveMessage) => void>();

/** Hear every message as it comes. Returns how to stop. */
export function onLive(listener: (message: LiveMessage) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows from `after` on until the signal. Never throws; `tell` is told how it goes. */
export async function follow(
  client: QueryClient,
  after: number,
  signal: AbortSignal,
  tell: (status: LiveStatus) => void,
  wait = pause,
): Promise<void> {
  let cursor = after;
  let failures = 0;
  let waiting: LiveMessage[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const batch = waiting;
    waiting = [];
    put(client, batch);
  };
  while (!signal.aborted) {
    tell(failures === 0 ? "connecting" : "lost");
    const attempt = new AbortController();
    const end = () => attempt.abort();
    signal.addEventListener("abort", end);
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(end, SILENT_MS);
    };
    try {
      alive();
      const response = await send("GET", "/v1/live", {
        query: { after: cursor },
        signal: attempt.signal,
        headers: { Accept: "text/event-stream" },
      });
      tell("live");
      // Records and figures that changed meanwhile are not told again: ask for what is on the page.
      if (failures > 0) void client.invalidateQueries();
      failures = 0;
      for await (const { event, data } of readEvents(response, alive)) {
        const message = parseMessage(event, data);
        if (!message) continue;
        if (message.type === "event") cursor = Math.max(cursor, message.event.sequence);
        for (const listener of listeners) listener(message);
        waiting.push(message);
        timer ??= setTimeout(flush, BATCH_MS);
      }
    } catch (error) {
      if (isUnauthenticated(error)) {
        client.setQueryData(keys.session, null);
        return;
      }
    } finally {
      clearTimeout(watchdog);
      signal.removeEventListener("abort", end);
    }
    failures += 1;
    if (!signal.aborted) {
      tell("lost");
      await wait(Math.min(LONGEST_PAUSE_MS, 500 * 2 ** failures) * (0.75 + Math.random() / 2), signal);
    }
  }
  clearTimeout(timer);
  flush();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}

/** One batch into the cache: the fleet, single sandboxes, lists of events; what cannot be told is marked as stale. */
export function put(client: QueryClient, batch: readonly LiveMessage[]): void {
  client.setQueryData<Fleet>(keys.fleet, (fleet) => fleet && applyToFleet(fleet, batch));
  const events: Event[] = [];
  const stale = new Set<string>();
  const touched = new Set<string>();
  for (const message of batch) {
    if (message.type === "sandbox") {
      client.setQueryData(keys.sandbox(message.sandbox.id), (known: unknown) => known && message.sandbox);
      // Between two states there is nothing to ask yet.
      if (!STATES[message.sandbox.state].moving) touched.add(message.sandbox.id);
    } else if (message.type === "pulse") {
      stale.add("node");
      for (const id of Object.keys(message.figures)) touched.add(id);
    } else {
      events.push(message.event);
      for (const name of staleAfter(message.event)) stale.add(name);
    }
  }
  if (events.length > 0) putEvents(client, events);
  for (const name of stale) void client.invalidateQueries({ queryKey: [name] });
  // Why it is awake is told to those who ask: only cards on the screen do. Not at once: what somebody waits for comes first.
  const ask = () => touched.forEach((id) => void client.invalidateQueries({ queryKey: keys.activity(id) }));
  if (touched.size > 0) setTimeout(ask, ASK_AFTER_MS);
}

function putEvents(client: QueryClient, events: readonly Event[]): void {
  for (const query of client.getQueryCache().findAll({ queryKey: ["events"] })) {
    const filter = query.queryKey[1] as EventFilter;
    const news = events.filter((event) => matches(filter, event));
    if (news.length === 0) continue;
    client.setQueryData<EventPages>(query.queryKey, (known) => {
      const [first, ...rest] = known?.pages ?? [];
      return known && first ? { ...known, pages: [{ ...first, events: prependEvents(first.events, news) }, ...rest] } : known;
    });
  }
}
