import { describe, expect, it } from "vitest";
import type { write } from "../agent/files";
import { Uploads } from "./uploads";

const door = { url: "http://{port}-i1.test", access_token: "t" };
const file = (name: string) => ({ path: `/home/${name}`, file: new File(["12345"], name) });
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Uploads whose sending is in the test's hands. */
function held() {
  const ends = new Map<string, { resolve: () => void; reject: (error: unknown) => void; progress: (sent: number) => void }>();
  const put: typeof write = (_door, path, _content, options = {}) =>
    new Promise((resolve, reject) => {
      ends.set(path, { resolve, reject, progress: (sent) => options.onProgress?.(sent) });
      options.signal?.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
    });
  return { uploads: new Uploads(put), ends };
}

describe("Uploads", () => {
  it("sends two at a time, the rest in turn", async () => {
    const { uploads, ends } = held();
    uploads.add(door, [file("a"), file("b"), file("c")]);
    expect(uploads.list.map(({ state }) => state)).toEqual(["sending", "sending", "waiting"]);
    ends.get("/home/a")!.progress(3);
    expect(uploads.list[0]!.sent).toBe(3);
    ends.get("/home/a")!.resolve();
    await settled();
    expect(uploads.list.map(({ state, sent }) => [state, sent])).toEqual([["done", 5], ["sending", 0], ["sending", 0]]);
  });

  it("goes on after a failure, and remembers it", async () => {
    const { uploads, ends } = held();
    uploads.add(door, [file("a"), file("b"), file("c")]);
    ends.get("/home/b")!.reject(new Error("no space"));
    await settled();
    expect(uploads.list.map(({ state }) => state)).toEqual(["sending", "failed", "sending"]);
    uploads.clear();
    expect(uploads.list.map(({ path }) => path)).toEqual(["/home/a", "/home/c"]);
  });

  it("stops what is under way and what waits", async () => {
    const { uploads } = held();
    uploads.add(door, [file("a"), file("b"), file("c")]);
    uploads.stop(3);
    uploads.stop(1);
    await settled();
    expect(uploads.list.map(({ state }) => state)).toEqual(["stopped", "sending", "stopped"]);
  });
});
