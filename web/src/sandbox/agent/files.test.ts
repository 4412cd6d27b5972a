import { describe, expect, it } from "vitest";
import { changeOf, entryOf } from "./files";

describe("entryOf", () => {
  it("reads what the agent says of a file", () => {
    const raw = {
      name: "a",
      path: "/home/user/a",
      type: "FILE_TYPE_FILE",
      size: "12",
      permissions: "-rw-r--r--",
      owner: "user",
      modifiedTime: "2026-01-01T00:00:00Z",
    };
    expect(entryOf(raw)).toEqual({
      name: "a",
      path: "/home/user/a",
      kind: "file",
      size: 12,
      permissions: "-rw-r--r--",
      owner: "user",
      modifiedAt: "2026-01-01T00:00:00Z",
      target: null,
    });
  });

  it("knows links by their target and sockets as other", () => {
    expect(entryOf({ name: "l", type: "FILE_TYPE_DIRECTORY", isSymlink: true, symlinkTarget: "/etc" })).toMatchObject({
      kind: "directory",
      target: "/etc",
    });
    expect(entryOf({ name: "s", type: "FILE_TYPE_UNSPECIFIED" })).toMatchObject({ kind: "other", target: null });
  });
});

describe("changeOf", () => {
  it("reads changes and nothing else", () => {
    expect(changeOf({ filesystem: { name: "a", type: "EVENT_TYPE_WRITE" } })).toEqual({ name: "a", kind: "write" });
    expect(changeOf({ start: {} })).toBeNull();
    expect(changeOf({ keepalive: {} })).toBeNull();
  });
});
