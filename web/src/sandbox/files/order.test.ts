import { describe, expect, it } from "vitest";
import type { Entry } from "../agent/files";
import { matching, sorted } from "./order";

const entry = (name: string, kind: Entry["kind"], size = 0, modifiedAt = "2026-01-01T00:00:00Z"): Entry => ({
  name,
  kind,
  size,
  modifiedAt,
  path: `/${name}`,
  permissions: "",
  owner: "",
  target: null,
});
const entries = [
  entry("b10", "file", 5, "2026-01-03T00:00:00Z"),
  entry("b9", "file", 9),
  entry(".git", "directory"),
  entry("src", "directory"),
  entry("A", "file", 5),
];

describe("sorted", () => {
  it("has folders first and counts as people do", () => {
    expect(sorted(entries, { column: "name", descending: false }).map(({ name }) => name)).toEqual([
      ".git",
      "src",
      "A",
      "b9",
      "b10",
    ]);
  });

  it("goes by size and time, either way", () => {
    expect(sorted(entries, { column: "size", descending: true }).map(({ name }) => name)).toEqual([
      ".git",
      "src",
      "b9",
      "A",
      "b10",
    ]);
    expect(sorted(entries, { column: "modified", descending: true }).map(({ name }) => name)[2]).toBe("b10");
  });

  it("hides what begins with a dot, if asked", () => {
    expect(matching(entries, false)).toHaveLength(4);
    expect(matching(entries, true)).toHaveLength(5);
  });
});
