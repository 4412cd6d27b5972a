import { describe, expect, it } from "vitest";
import { ApiError } from "../../api/errors";
import type { makeDirectory, write } from "../agent/files";
import { clashesOf, summaryOf, Uploads, worthShowing, type Upload } from "./uploads";

const door = { id: "i1", url: "http://{port}-i1.test" };
const file = (name: string) => ({ name, file: new File(["12345"], name) });
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
  it("sends four at a time, the rest in turn", async () => {
    const { uploads, ends } = held();
    uploads.add(door, "/home", [..."abcde"].map(file));
    expect(uploads.list.map(({ state }) => state)).toEqual(["sending", "sending", "sending", "sending", "waiting"]);
    ends.get("/home/a")!.progress(3);
    expect(uploads.list[0]!.sent).toBe(3);
    ends.get("/home/a")!.resolve();
    await settled();
    expect(uploads.list.map(({ state, sent }) => [state, sent]).filter((_, at) => at === 0 || at === 4)).toEqual([
      ["done", 5],
      ["sending", 0],
    ]);
  });

  it("goes on after a failure, and remembers it", async () => {
    const { uploads, ends } = held();
    uploads.add(door, "/home", [file("a"), file("b"), file("c")]);
    ends.get("/home/b")!.reject(new Error("no space"));
    await settled();
    expect(uploads.list.map(({ state }) => state)).toEqual(["sending", "failed", "sending"]);
    uploads.clear();
    expect(uploads.list.map(({ path }) => path)).toEqual(["/home/a", "/home/c"]);
  });

  it("stops what is under way and what waits", async () => {
    const { uploads } = held();
    uploads.add(door, "/home", [..."abcde"].map(file));
    uploads.stop(5);
    uploads.stop(1);
    await settled();
    expect(uploads.list.map(({ state }) => state)).toEqual(["stopped", "sending", "sending", "sending", "stopped"]);
  });

  it("makes folders that hold nothing, and does not mind those that are there", async () => {
    const made: string[] = [];
    const make: typeof makeDirectory = (_door, path) => {
      made.push(path);
      return Promise.reject(new ApiError(409, "already_exists", "directory already exists"));
    };
    const uploads = new Uploads(() => expect.unreachable(), make);
    uploads.add(door, "/", [{ name: "docs/empty", file: null }]);
    await settled();
    expect([made, uploads.list[0]!.state]).toEqual([["/docs/empty"], "done"]);
  });
});

describe("what is told of them", () => {
  const upload = (state: Upload["state"], id = 1): Upload => ({
    id,
    name: "a",
    path: "/a",
    isFolder: false,
    size: 1,
    sent: 0,
    state,
    error: null,
  });

  it("counts what is left, then how it ended", () => {
    expect(summaryOf([upload("done"), upload("sending"), upload("waiting")])).toBe("Uploading, 2 to go");
    expect(summaryOf([upload("done"), upload("failed"), upload("done")])).toBe("2 uploaded, 1 failed");
    expect(summaryOf([upload("stopped")])).toBe("1 stopped");
  });

  it("never hides a failure behind what went well", () => {
    const many = Array.from({ length: 20 }, (_, at) => upload("done", at));
    expect(worthShowing([...many, upload("failed", 20), upload("sending", 21)], 3).map(({ id }) => id)).toEqual([20, 21, 0]);
  });
});

describe("clashesOf", () => {
  it("finds files and the folders that files come in, each once", () => {
    const incoming = ["docs/a", "docs/b", "new/a", "notes", "a"].map((name) => ({ name, file: null }));
    expect(clashesOf(incoming, new Set(["docs", "notes", "b"]))).toEqual(["docs", "notes"]);
  });
});
