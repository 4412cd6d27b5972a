import { describe, expect, it } from "vitest";
import type { Snapshot } from "../api/types";
import { lineage, narrow, totalBytes } from "./lineage";

const snapshot = (id: string, parent: string | null, created: number, memory_bytes = 1): Snapshot =>
  ({ id, parent, created_at: `2026-01-${String(created).padStart(2, "0")}`, memory_bytes }) as Snapshot;
const drawn = (rows: ReturnType<typeof lineage>) => rows.map((row) => `${"  ".repeat(row.depth)}${row.snapshot.id}`);

describe("the tree of snapshots", () => {
  const all = [
    snapshot("leaf", "mid", 9),
    snapshot("old", null, 1),
    snapshot("root", null, 2),
    snapshot("mid", "root", 3),
    snapshot("early", "root", 2),
    snapshot("new", null, 5),
  ];

  it("hangs each below the one it came from, the tree with the newest first, siblings oldest first", () => {
    expect(drawn(lineage(all))).toEqual(["root", "  early", "  mid", "    leaf", "new", "old"]);
    expect(lineage(all)[0]?.descendants).toBe(3);
  });

  it("makes roots of those whose parent is gone", () => {
    expect(drawn(lineage([snapshot("orphan", "deleted", 1)]))).toEqual(["orphan"]);
  });

  it("loses none when records point in a circle", () => {
    expect(drawn(lineage([snapshot("a", "b", 1), snapshot("b", "a", 2), snapshot("c", "c", 3)])).sort()).toEqual(["a", "b", "c"]);
  });

  it("keeps what leads to what matches", () => {
    expect(drawn(narrow(lineage(all), (each) => each.id === "leaf"))).toEqual(["root", "  mid", "    leaf"]);
    expect(narrow(lineage(all), () => false)).toEqual([]);
  });

  it("counts what the memory images take", () => expect(totalBytes(all)).toBe(6));
});
