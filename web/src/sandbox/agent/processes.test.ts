import { describe, expect, it } from "vitest";
import { toBase64 } from "./connect";
import { InputQueue, Tracker } from "./processes";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const data = (text: string, sequence: number): Record<string, unknown> => ({
  event: { data: { pty: toBase64(bytes(text)), sequence: String(sequence) } },
});

describe("Tracker", () => {
  it("starts where the agent says and counts on", () => {
    const tracker = new Tracker();
    expect(tracker.take({ event: { start: { pid: 7, sequence: "100" } } })).toEqual([{ kind: "start", pid: 7 }]);
    expect(tracker.take(data("abc", 100))).toEqual([{ kind: "output", data: bytes("abc") }]);
    expect(tracker.next).toBe(103);
  });

  it("drops what was read already", () => {
    const tracker = new Tracker();
    tracker.next = 103;
    expect(tracker.take(data("bcde", 101))).toEqual([{ kind: "output", data: bytes("de") }]);
    expect(tracker.take(data("de", 103))).toEqual([]);
    expect(tracker.next).toBe(105);
  });

  it("reports a hole and goes on behind it", () => {
    const tracker = new Tracker();
    tracker.next = 10;
    expect(tracker.take({ event: { start: { pid: 7, sequence: "50" } } })).toEqual([{ kind: "start", pid: 7 }]);
    expect(tracker.take(data("x", 50))).toEqual([
      { kind: "lost", bytes: 40 },
      { kind: "output", data: bytes("x") },
    ]);
  });

  it("tells how it ended, and is silent about signs of life", () => {
    const tracker = new Tracker();
    expect(tracker.take({ event: { keepalive: {} } })).toEqual([]);
    expect(tracker.take({ event: { end: { exitCode: 3, exited: true, status: "exit status 3" } } })).toEqual([
      { kind: "end", exit: { code: 3, status: "exit status 3" } },
    ]);
    expect(tracker.take({ event: { end: { exited: true, status: "exit status 0" } } })).toEqual([
      { kind: "end", exit: { code: 0, status: "exit status 0" } },
    ]);
  });
});

describe("InputQueue", () => {
  it("has one request under way and sends the rest together, in order", async () => {
    const sent: string[] = [];
    const releases: (() => void)[] = [];
    const queue = new InputQueue(
      (piece) => {
        sent.push(new TextDecoder().decode(piece));
        return new Promise<void>((resolve) => releases.push(resolve));
      },
      () => expect.unreachable(),
    );
    for (const key of "abcd") queue.push(bytes(key));
    expect(sent).toEqual(["a"]);
    releases[0]!();
    await Promise.resolve();
    await Promise.resolve();
    expect(sent).toEqual(["a", "bcd"]);
  });

  it("lets go of what waited when sending fails, and works again afterwards", async () => {
    const failures: unknown[] = [];
    const sent: string[] = [];
    let fails = true;
    const queue = new InputQueue(
      (piece) => {
        sent.push(new TextDecoder().decode(piece));
        return fails ? Promise.reject(new Error("gone")) : Promise.resolve();
      },
      (error) => failures.push(error),
    );
    queue.push(bytes("a"));
    queue.push(bytes("b"));
    await new Promise((resolve) => setTimeout(resolve));
    expect([sent, failures.length]).toEqual([["a"], 1]);
    fails = false;
    queue.push(bytes("c"));
    expect(sent).toEqual(["a", "c"]);
  });
});
