import { describe, expect, it } from "vitest";
import type { Event, Fleet, Sandbox, State } from "../api/types";
import { applyToFleet, matches, parseMessage, prependEvents, staleAfter } from "./apply";

const sandbox = (id: string, state: State = "running"): Sandbox =>
  ({ id, name: null, state, template: "base", created_at: "2026-01-01T00:00:00Z", metadata: {} }) as unknown as Sandbox;
const event = (sequence: number, kind = "sandbox.woke", of: string | null = "a"): Event => ({
  sequence,
  kind,
  at: "2026-01-01T00:00:00Z",
  sandbox: of,
  facts: {},
});
const fleet = (...ids: string[]): Fleet => ({
  sandboxes: ids.map((id) => ({
    sandbox: sandbox(id),
    activity: { awake: true, dozing: false, awake_because: [], sleeps_at: "2026-01-01T00:10:00Z", then: "pause" },
    cpu: [0.1],
    memory: [100],
    at: "2026-01-01T00:00:00Z",
  })),
  open_questions: 0,
  cursor: 7,
});
const ids = (value: Fleet) => value.sandboxes.map((entry) => entry.sandbox.id);

describe("the fleet after messages", () => {
  it("replaces a record and keeps its figures and its place", () => {
    const after = applyToFleet(fleet("a", "b"), [{ type: "sandbox", sandbox: { ...sandbox("a"), name: "new" } }]);
    expect(ids(after)).toEqual(["a", "b"]);
    expect(after.sandboxes[0]?.sandbox.name).toBe("new");
    expect(after.sandboxes[0]?.cpu).toEqual([0.1]);
  });

  it("keeps a record that is newer than the message", () => {
    const at = (revision: number, state: State): Sandbox => ({ ...sandbox("a", state), revision });
    const woken = applyToFleet(fleet("a"), [{ type: "sandbox", sandbox: at(5, "running") }]);
    const late = applyToFleet(woken, [{ type: "sandbox", sandbox: at(4, "paused") }]);
    expect(late.sandboxes[0]).toMatchObject({ sandbox: { state: "running" }, activity: { awake: true } });
  });

  it("adds one that is new and drops one that died", () => {
    const after = applyToFleet(fleet("a"), [
      { type: "sandbox", sandbox: sandbox("b", "creating") },
      { type: "sandbox", sandbox: sandbox("a", "dead") },
    ]);
    expect(ids(after)).toEqual(["b"]);
    expect(after.sandboxes[0]?.cpu).toEqual([]);
  });

  it("forgets why one was awake when it sleeps, and does not say it again when it wakes", () => {
    const asleep = applyToFleet(fleet("a"), [{ type: "sandbox", sandbox: sandbox("a", "paused") }]);
    expect(asleep.sandboxes[0]?.activity).toMatchObject({ awake: false, sleeps_at: null });
    const awake = applyToFleet(asleep, [{ type: "sandbox", sandbox: sandbox("a") }]);
    expect(awake.sandboxes[0]?.activity).toMatchObject({ awake: true, sleeps_at: null });
  });

  it("says who dozes, of those that sleep, until they wake", () => {
    const asleep = applyToFleet(fleet("a", "b"), [{ type: "sandbox", sandbox: sandbox("a", "paused") }]);
    const message = parseMessage("pulse", '{"p":{},"d":{"a":true,"b":true,"gone":true}}');
    if (message?.type !== "pulse") throw new Error("not understood");
    const renamed = { ...sandbox("a", "paused"), name: "renamed" };
    const dozing = applyToFleet(asleep, [message, { type: "sandbox", sandbox: renamed }]);
    expect(dozing.sandboxes.map(({ activity }) => activity.dozing)).toEqual([true, false]);
    expect(applyToFleet(dozing, [message])).toBe(dozing);
    const woken = applyToFleet(dozing, [{ type: "sandbox", sandbox: sandbox("a") }]);
    expect(woken.sandboxes[0]?.activity).toMatchObject({ awake: true, dozing: false });
  });

  it("keeps the last thirty readings", () => {
    const beat = { type: "pulse" as const, figures: { a: [0.5, 200] as [number, number], gone: [1, 1] as [number, number] } };
    const after = applyToFleet(
      fleet("a"),
      Array.from({ length: 40 }, () => beat),
    );
    expect(after.sandboxes[0]?.cpu).toHaveLength(30);
    expect(after.sandboxes[0]?.memory.at(-1)).toBe(200);
    expect(ids(after)).toEqual(["a"]);
  });

  it("moves the cursor forward only, and is the same object when nothing changed", () => {
    const before = fleet("a");
    expect(
      applyToFleet(before, [
        { type: "event", event: event(9) },
        { type: "event", event: event(8) },
      ]).cursor,
    ).toBe(9);
    expect(applyToFleet(before, [{ type: "event", event: event(3) }])).toBe(before);
    expect(applyToFleet(before, [{ type: "pulse", figures: { other: [1, 1] } }])).toBe(before);
  });

  it("leaves what it was given alone", () => {
    const before = fleet("a", "b");
    const copy = structuredClone(before);
    applyToFleet(before, [
      { type: "sandbox", sandbox: sandbox("a", "dead") },
      { type: "pulse", figures: { b: [1, 1] } },
    ]);
    expect(before).toEqual(copy);
  });
});

describe("messages", () => {
  it("are told apart by their name and shape", () => {
    expect(parseMessage("sandbox", '{"id":"a"}')).toMatchObject({ type: "sandbox" });
    expect(parseMessage("pulse", '{"p":{"a":[0.5,12]}}')).toEqual({ type: "pulse", figures: { a: [0.5, 12] } });
    expect(parseMessage("sandbox.woke", '{"sequence":3,"kind":"sandbox.woke"}')).toMatchObject({ type: "event" });
    expect(parseMessage("news", '{"of":"a later server"}')).toBeNull();
    expect(parseMessage("news", "3")).toBeNull();
  });
});

describe("lists of events", () => {
  it("take new ones in front, newest first, each once", () => {
    const known = [event(5), event(4)];
    expect(prependEvents(known, [event(6), event(5), event(7)]).map((each) => each.sequence)).toEqual([7, 6, 5, 4]);
    expect(prependEvents(known, [event(5), event(1)])).toBe(known);
    expect(prependEvents([], [event(1)])).toHaveLength(1);
  });

  it("take only what their filter asks for", () => {
    expect(matches({}, event(1))).toBe(true);
    expect(matches({ sandbox: "b" }, event(1))).toBe(false);
    expect(matches({ sandbox: "a", kind: ["sandbox.woke"] }, event(1))).toBe(true);
    expect(matches({ kind: ["sandbox.died"] }, event(1))).toBe(false);
    expect(matches({ kind: [] }, event(1))).toBe(true);
  });

  it("make the lists stale that they concern", () => {
    expect(staleAfter(event(1, "question.asked"))).toContain("questions");
    expect(staleAfter(event(1, "sandbox.snapshotted"))).toContain("snapshots");
    expect(staleAfter(event(1, "sandbox.died"))).toEqual(expect.arrayContaining(["dead", "snapshots", "templates"]));
    expect(staleAfter(event(1, "sandbox.woke"))).toEqual([]);
  });
});
