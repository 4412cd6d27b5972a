import { QueryClient } from "@tanstack/react-query";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keys } from "../api/keys";
import type { Event, Fleet, Sandbox, State } from "../api/types";
import { follow, onLive, put, type EventPages, type LiveStatus } from "./stream";

const event = (sequence: number, kind = "sandbox.woke"): Event => ({
  sequence,
  kind,
  at: "2026-01-01T00:00:00Z",
  sandbox: "a",
  facts: {},
});
const told = (each: Event) => `id: ${each.sequence}\nevent: ${each.kind}\ndata: ${JSON.stringify(each)}\n\n`;

let server: Server;
let asked: string[];
let answers: ((response: ServerResponse) => void)[];
const client = new QueryClient();
const stop = { now: new AbortController() };

/** A real server on a free port; pages ask for paths, as they do in a browser. */
beforeEach(async () => {
  asked = [];
  answers = [];
  stop.now = new AbortController();
  client.clear();
  server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(request.url ?? "");
    const answer = answers.shift();
    if (answer) answer(response);
    else response.writeHead(200, { "Content-Type": "text/event-stream" }).write(": begun\n\n");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => real(base + path, init));
});

afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const streaming =
  (...parts: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(parts.join(""));
  };

async function followed(until: (statuses: LiveStatus[]) => boolean): Promise<LiveStatus[]> {
  const statuses: LiveStatus[] = [];
  const tell = (status: LiveStatus) => {
    statuses.push(status);
    if (until(statuses)) stop.now.abort();
  };
  await follow(client, 7, stop.now.signal, tell, () => Promise.resolve());
  return statuses;
}

const live = (count: number) => (statuses: LiveStatus[]) => statuses.filter((status) => status === "live").length === count;

describe("the live stream", () => {
  it("goes on behind the last event after a break, and says how it stands", async () => {
    answers = [streaming(told(event(8)), told(event(12))), (response) => response.destroy(), streaming(told(event(13)))];
    const statuses = await followed(live(3));
    expect(asked).toEqual(["/v1/live?after=7", "/v1/live?after=12", "/v1/live?after=12", "/v1/live?after=13"]);
    expect(statuses.slice(0, 3)).toEqual(["connecting", "live", "lost"]);
  });

  it("puts what it hears where the pages look", async () => {
    client.setQueryData<Fleet>(keys.fleet, { sandboxes: [], open_questions: 0, cursor: 7 });
    client.setQueryData<EventPages>(keys.events({}), { pages: [{ events: [event(7)] }], pageParams: [undefined] });
    client.setQueryData<EventPages>(keys.events({ kind: ["sandbox.died"] }), {
      pages: [{ events: [] }],
      pageParams: [undefined],
    });
    const heard: string[] = [];
    const deaf = onLive((message) => heard.push(message.type));
    answers = [streaming('event: sandbox\ndata: {"id":"a","state":"running","created_at":"2026-01-01"}\n\n', told(event(8)))];
    await followed(live(2));
    deaf();
    expect(heard).toEqual(["sandbox", "event"]);
    expect(client.getQueryData<Fleet>(keys.fleet)).toMatchObject({ cursor: 8, sandboxes: [{ sandbox: { id: "a" } }] });
    expect(client.getQueryData<EventPages>(keys.events({}))?.pages[0]?.events.map((each) => each.sequence)).toEqual([8, 7]);
    expect(client.getQueryData<EventPages>(keys.events({ kind: ["sandbox.died"] }))?.pages[0]?.events).toEqual([]);
  });

  it("has why it is awake asked again when a sandbox has arrived somewhere, not on its way", () => {
    const moves = (state: State) => put(client, [{ type: "sandbox", sandbox: { id: "a", state } as Sandbox }]);
    client.setQueryData(keys.activity("a"), { awake: false });
    vi.useFakeTimers();
    moves("resuming");
    vi.runAllTimers();
    expect(client.getQueryState(keys.activity("a"))?.isInvalidated).toBe(false);
    moves("running");
    vi.runAllTimers();
    expect(client.getQueryState(keys.activity("a"))?.isInvalidated).toBe(true);
  });

  it("ends, and says so to the page, when the session is over", async () => {
    client.setQueryData(keys.session, { team: "t" });
    answers = [(response) => response.writeHead(401).end('{"error":{"code":"session_over","message":"over"}}')];
    await followed(() => false);
    expect(asked).toHaveLength(1);
    expect(client.getQueryData(keys.session)).toBeNull();
  });
});
