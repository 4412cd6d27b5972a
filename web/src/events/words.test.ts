import { describe, expect, it } from "vitest";
import { eventKindValues } from "../api/schema";
import type { Event } from "../api/types";
import { EVENT_WORDS, mentions, namesIn, wordsOf } from "./words";

const event = (kind: string, facts: Record<string, unknown> = {}): Event => ({ sequence: 1, kind, at: "", sandbox: "i1", facts });

describe("events as sentences", () => {
  it("are there for every kind that the server knows", () => {
    for (const kind of eventKindValues) expect(EVENT_WORDS, kind).toHaveProperty([kind]);
  });

  it("say why", () => {
    expect(wordsOf(event("sandbox.paused", { why: "idle" })).sentence).toBe("fell asleep: nothing happened in it");
    expect(wordsOf(event("sandbox.woke", { why: "an answer to its question" })).sentence).toBe("woke: an answer to its question");
    expect(wordsOf(event("sandbox.woke", { why: "GET /?a=b on port 8000" })).sentence).toBe(
      "woke: a request to port 8000, GET /?a=b",
    );
    expect(wordsOf(event("sandbox.woke", { why: "POST /process.Process/Start on port 49983" })).sentence).toBe(
      "woke: a request to its agent, POST /process.Process/Start",
    );
    expect(wordsOf(event("driver.gave", { who: "anna", why: "handed back", seconds: 90 })).sentence).toBe(
      "anna gave the screen back (handed back) after 1 min 30 s",
    );
    expect(wordsOf(event("sandbox.failed", { action: "pause", reason: "the disk is full" })).sentence).toBe(
      "could not pause: the disk is full",
    );
  });

  it("name a kind that this page is too old to know", () => expect(wordsOf(event("moon.landed")).sentence).toBe("moon.landed"));

  it("know the names of those that are dead", () => {
    const events = [
      event("sandbox.died"),
      event("sandbox.created", { name: "demo" }),
      { ...event("sandbox.created"), sandbox: "i2" },
    ];
    expect([...namesIn(events)]).toEqual([["i1", "demo"]]);
  });

  it("are found by any of their words", () => {
    expect(mentions(event("sandbox.woke", { why: "traffic" }), "Research traffic", "research")).toBe(true);
    expect(mentions(event("sandbox.woke"), "died", "research")).toBe(false);
  });
});
