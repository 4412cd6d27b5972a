import { describe, expect, it } from "vitest";
import { countsOf, diffLines, hunksOf, linesOf, type Edit } from "./lines";

const sides = (edits: Edit[]): [string[], string[]] => [
  edits.filter(({ kind }) => kind !== "added").map(({ text }) => text),
  edits.filter(({ kind }) => kind !== "removed").map(({ text }) => text),
];

/** A small generator with a seed, so that a failure comes again. */
function dice(seed: number): () => number {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

/** The cost by dynamic programming: slow and obviously right. */
function shortest(old: string[], fresh: string[]): number {
  const row = Array.from({ length: fresh.length + 1 }, (_, at) => at);
  for (let i = 1; i <= old.length; i++) {
    let corner = row[0]!;
    row[0] = i;
    for (let j = 1; j <= fresh.length; j++) {
      const above = row[j]!;
      row[j] = old[i - 1] === fresh[j - 1] ? corner : 1 + Math.min(above, row[j - 1]!);
      corner = above;
    }
  }
  return row[fresh.length]!;
}

describe("diffLines", () => {
  it("finds nothing between equal texts", () => {
    expect(diffLines(["a", "b"], ["a", "b"]).every(({ kind }) => kind === "same")).toBe(true);
    expect(diffLines([], [])).toEqual([]);
  });

  it("numbers the lines of both sides", () => {
    expect(diffLines(["a", "b", "c"], ["a", "x", "c"])).toEqual([
      { kind: "same", text: "a", oldLine: 1, newLine: 1 },
      { kind: "removed", text: "b", oldLine: 2, newLine: null },
      { kind: "added", text: "x", oldLine: null, newLine: 2 },
      { kind: "same", text: "c", oldLine: 3, newLine: 3 },
    ]);
  });

  it("is a shortest way, and gives both texts back, whatever they are", () => {
    const roll = dice(7);
    for (let round = 0; round < 400; round++) {
      const letters = 1 + Math.floor(roll() * 5);
      const text = (): string[] => Array.from({ length: Math.floor(roll() * 24) }, () => String(Math.floor(roll() * letters)));
      const [old, fresh] = [text(), text()];
      const edits = diffLines(old, fresh);
      expect(sides(edits)).toEqual([old, fresh]);
      const { added, removed } = countsOf(edits);
      expect(added + removed, `${old.join()} -> ${fresh.join()}`).toBe(shortest(old, fresh));
    }
  });

  it("is quick with long texts that have nothing in common, and with long ones that have nearly all", () => {
    const long = Array.from({ length: 50_000 }, (_, at) => `line ${at}`);
    const other = long.map((line) => `${line}!`);
    const began = performance.now();
    expect(countsOf(diffLines(long, other))).toEqual({ added: 50_000, removed: 50_000 });
    expect(countsOf(diffLines(long, [...long.slice(0, 30_000), "new", ...long.slice(30_001)]))).toEqual({ added: 1, removed: 1 });
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it("stays right when it gives up on being shortest", () => {
    const roll = dice(3);
    const text = (): string[] => Array.from({ length: 300 }, () => String(Math.floor(roll() * 20)));
    const [old, fresh] = [text(), text()];
    expect(sides(diffLines(old, fresh, 5))).toEqual([old, fresh]);
  });
});

describe("hunksOf", () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);

  it("joins changes that are close and parts those that are not", () => {
    const changed = lines.map((line, at) => (at === 3 || at === 8 || at === 25 ? `${line}!` : line));
    const hunks = hunksOf(diffLines(lines, changed));
    expect(hunks.map(({ oldStart, newStart }) => [oldStart, newStart])).toEqual([
      [1, 1],
      [23, 23],
    ]);
    expect(countsOf(hunks[0]!.edits)).toEqual({ added: 2, removed: 2 });
    expect(hunks[0]!.edits).toHaveLength(14);
  });

  it("has none for equal texts", () => {
    expect(hunksOf(diffLines(lines, lines))).toEqual([]);
  });
});

describe("linesOf", () => {
  it("takes a newline as the end of a line", () => {
    expect(linesOf("")).toEqual([]);
    expect(linesOf("a\nb\n")).toEqual(["a", "b"]);
    expect(linesOf("a\n\nb")).toEqual(["a", "", "b"]);
  });
});
