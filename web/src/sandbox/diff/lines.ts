/**
 * How one text differs from another, line by line. The search is the `diff` package's. Two texts with little in common would cost it the
 * square of their length; beyond `maxCost` changed lines everything between what both begin and end with is simply called replaced.
 */

import { diffArrays } from "diff";

export type EditKind = "same" | "removed" | "added";

export interface Edit {
  kind: EditKind;
  text: string;
  /** Line numbers from 1; null on the side that does not have it. */
  oldLine: number | null;
  newLine: number | null;
}

export interface Hunk {
  oldStart: number;
  newStart: number;
  edits: Edit[];
}

const MAX_COST = 1000;

export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  // A newline ends a line, it does not begin another.
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

export function diffLines(oldLines: readonly string[], newLines: readonly string[], maxCost = MAX_COST): Edit[] {
  const [head, tail] = ends(oldLines, newLines);
  const [left, right] = [oldLines.slice(head, oldLines.length - tail), newLines.slice(head, newLines.length - tail)];
  const same = (value: string[]) => ({ value, removed: false, added: false });
  const found = diffArrays(left, right, { maxEditLength: maxCost }) ?? [
    { value: left, removed: true, added: false },
    { value: right, removed: false, added: true },
  ];
  const stretches = [same(oldLines.slice(0, head)), ...found, same(oldLines.slice(oldLines.length - tail))];
  let oldLine = 0;
  let newLine = 0;
  return stretches.flatMap(({ value, removed, added }) => {
    const kind = removed ? "removed" : added ? "added" : "same";
    return value.map((text) => ({
      kind,
      text,
      oldLine: added ? null : ++oldLine,
      newLine: removed ? null : ++newLine,
    }));
  });
}

/** How many lines both begin with, and how many of the others both end with. */
function ends(left: readonly string[], right: readonly string[]): [number, number] {
  const shorter = Math.min(left.length, right.length);
  let head = 0;
  while (head < shorter && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < shorter - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  return [head, tail];
}

/** What changed, with some unchanged lines around it; changes that are close together share a hunk. */
export function hunksOf(edits: readonly Edit[], context = 3): Hunk[] {
  const hunks: Hunk[] = [];
  let end = 0;
  for (let at = 0; at < edits.length; at++) {
    if (edits[at]!.kind === "same") continue;
    const start = Math.max(at - context, end);
    const last = hunks[hunks.length - 1];
    const stop = Math.min(at + 1 + context, edits.length);
    if (last && start <= end) last.edits.push(...edits.slice(end, stop));
    else hunks.push(hunk(edits, start, stop));
    end = Math.max(end, stop);
  }
  return hunks;
}

export function countsOf(edits: readonly Edit[]): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  for (const { kind } of edits) {
    if (kind === "added") added++;
    else if (kind === "removed") removed++;
  }
  return { added, removed };
}

function hunk(edits: readonly Edit[], start: number, stop: number): Hunk {
  let oldStart = 1;
  let newStart = 1;
  for (const edit of edits.slice(0, start)) {
    if (edit.oldLine !== null) oldStart = edit.oldLine + 1;
    if (edit.newLine !== null) newStart = edit.newLine + 1;
  }
  return { oldStart, newStart, edits: edits.slice(start, stop) };
}
