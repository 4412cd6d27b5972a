import { describe, expect, it } from "vitest";
import type { Event, Question } from "../../api/types";
import type { CommandRow } from "../agent/status";
import { called, dayLabel, groupByDay, mergeTimeline, wordsOf } from "./merge";

const event = (sequence: number, kind: string, at: string, facts: Record<string, unknown> = {}): Event => ({
  sequence,
  kind,
  at,
  sandbox: "i1",
  facts,
});
const command: CommandRow = {
  pid: 9,
  command: "make test",
  user: "user",
  started_at: "2026-03-02T10:00:05Z",
  ended_at: "2026-03-02T10:01:10Z",
  exit_code: 2,
  pty: false,
};
const question: Question = {
  id: "q1",
  sandbox: "i1",
  sandbox_name: null,
  kind: "approval",
  text: "Deploy?",
  choices: ["approve", "deny"],
  state: "answered",
  created_at: "2026-03-02T10:00:20Z",
  expires_at: "2026-03-03T10:00:20Z",
  answer: { choice: "approve", text: null, by: "anna", at: "2026-03-02T10:02:00Z" },
  has_screenshot: false,
};

describe("mergeTimeline", () => {
  it("puts all on one clock, newest first", () => {
    const items = mergeTimeline(
      [
        event(1, "sandbox.created", "2026-03-02T10:00:00Z", { template: "base" }),
        event(2, "sandbox.paused", "2026-03-02T10:05:00Z", { snapshot: "s1", why: "idle" }),
      ],
      [command],
      [question],
    );
    expect(items.map(({ title }) => title)).toEqual([
      "Fell asleep",
      "anna answered",
      "Asked for approval",
      "make test",
      "Created",
    ]);
  });

  it("names the moment that a rollback left", () => {
    const [, slept] = mergeTimeline(
      [
        event(1, "sandbox.paused", "2026-03-02T10:00:00Z", { snapshot: "s2", why: "it is rolled back" }),
        event(2, "sandbox.rolled_back", "2026-03-02T10:00:01Z", { snapshot: "s1", left: "s2", left_name: "before-rollback-1" }),
      ],
      [],
      [],
    );
    expect(slept).toMatchObject({
      title: "Fell asleep",
      detail: "it is rolled back · kept as before-rollback-1",
      snapshot: "s2",
    });
  });

  it("knows where one can go back to", () => {
    const items = mergeTimeline(
      [
        event(1, "sandbox.snapshotted", "2026-03-02T10:00:00Z", { snapshot: "s1", name: "before" }),
        event(2, "sandbox.woke", "2026-03-02T10:00:01Z", { snapshot: "s0" }),
      ],
      [],
      [],
    );
    expect(items.map(({ snapshot }) => snapshot)).toEqual([null, "s1"]);
  });

  it("says each question once, though there are events of it", () => {
    const items = mergeTimeline(
      [event(1, "question.asked", question.created_at), event(2, "question.answered", "2026-03-02T10:02:00Z")],
      [],
      [question],
    );
    expect(items.map(({ id }) => id)).toEqual(["answered-q1", "asked-q1"]);
  });

  it("keeps the order of events of the same moment", () => {
    const at = "2026-03-02T10:00:00Z";
    expect(
      mergeTimeline([event(1, "sandbox.woke", at), event(2, "driver.took", at, { who: "anna" })], [], []).map(({ id }) => id),
    ).toEqual(["event-2", "event-1"]);
  });

  it("says every length of time in the same way", () => {
    const after = (seconds: number) => wordsOf({ kind: "driver.gave", facts: { who: "anna", seconds } }).detail;
    expect([after(0.2), after(2.44), after(59.7), after(3900)]).toEqual([
      "after 200 ms",
      "after 2.4 s",
      "after 1 min",
      "after 1 h 5 min",
    ]);
    expect(wordsOf({ kind: "sandbox.snapshotted", facts: { name: "a", frozen_s: 0.183 } }).detail).toBe(
      "a · stood still for 183 ms",
    );
  });

  it("calls sandboxes and snapshots by their names", () => {
    const names: Record<string, string> = { io05eq0ssoiqxf1hnkyg5: "try-sqlite" };
    expect(called("io05eq0ssoiqxf1hnkyg5, izp9ham0izc6eeysb6ujc", (id) => names[id] ?? id)).toBe(
      "try-sqlite, izp9ham0izc6eeysb6ujc",
    );
  });

  it("says how a command ended", () => {
    expect(mergeTimeline([], [command], [])[0]).toMatchObject({ tone: "bad", detail: "user · exit 2 after 1 min 5 s" });
    expect(mergeTimeline([], [{ ...command, ended_at: null, exit_code: null, pty: true }], [])[0]).toMatchObject({
      tone: "neutral",
      detail: "user · terminal · still runs",
    });
  });
});

describe("wordsOf", () => {
  it("shows a kind it does not know by its name and facts", () => {
    expect(wordsOf(event(1, "sandbox.turned_blue", "2026-03-02T10:00:00Z", { shade: "navy", depth: null }))).toMatchObject({
      title: "Turned blue",
      detail: "shade: navy",
    });
  });
});

describe("days", () => {
  const now = new Date(2026, 2, 10, 12).getTime();

  it("are called by what a person would", () => {
    expect(dayLabel(new Date(2026, 2, 10, 0, 1).getTime(), now)).toBe("Today");
    expect(dayLabel(new Date(2026, 2, 9, 23, 59).getTime(), now)).toBe("Yesterday");
    expect(dayLabel(new Date(2025, 2, 9).getTime(), now)).toContain("2025");
  });

  it("hold what happened on them", () => {
    const at = (day: number, hour: number): string => new Date(2026, 2, day, hour).toISOString();
    const items = mergeTimeline(
      [event(1, "sandbox.created", at(8, 9)), event(2, "sandbox.paused", at(9, 9)), event(3, "sandbox.woke", at(9, 10))],
      [],
      [],
    );
    expect(groupByDay(items, now).map(({ items }) => items.length)).toEqual([2, 1]);
  });
});
