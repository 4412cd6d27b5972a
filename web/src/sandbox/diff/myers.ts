/**
 * The shortest way from one list of lines to another: Myers' O(ND) search in linear space, by middle snakes. Two texts with little in
 * common would cost the square of their length; beyond `maxCost` a stretch is simply called replaced.
 */

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

const MAX_COST = 2000;

export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  // A newline ends a line, it does not begin another.
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

export function diffLines(oldLines: readonly string[], newLines: readonly string[], maxCost = MAX_COST): Edit[] {
  const [left, right] = numbered(oldLines, newLines);
  const removed = new Uint8Array(left.length);
  const added = new Uint8Array(right.length);
  new Search(left, right, removed, added, maxCost).run();
  const edits: Edit[] = [];
  let at = 0;
  let to = 0;
  while (at < oldLines.length || to < newLines.length) {
    if (at < oldLines.length && removed[at]) {
      edits.push({ kind: "removed", text: oldLines[at]!, oldLine: ++at, newLine: null });
    } else if (to < newLines.length && added[to]) {
      edits.push({ kind: "added", text: newLines[to]!, oldLine: null, newLine: ++to });
    } else {
      edits.push({ kind: "same", text: newLines[to]!, oldLine: ++at, newLine: ++to });
    }
  }
  return edits;
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

/** Equal lines get equal numbers: comparing numbers is what the search does most. */
function numbered(oldLines: readonly string[], newLines: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const number = (line: string): number => {
    let found = numbers.get(line);
    if (found === undefined) numbers.set(line, (found = numbers.size));
    return found;
  };
  return [Int32Array.from(oldLines, number), Int32Array.from(newLines, number)];
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

class Search {
  /** The furthest x reached on each diagonal, from either end. */
  readonly #forward: Int32Array;
  readonly #backward: Int32Array;
  readonly #middle: number;

  constructor(
    private readonly old: Int32Array,
    private readonly fresh: Int32Array,
    private readonly removed: Uint8Array,
    private readonly added: Uint8Array,
    private readonly maxCost: number,
  ) {
    this.#middle = old.length + fresh.length + 1;
    this.#forward = new Int32Array(2 * this.#middle + 1);
    this.#backward = new Int32Array(2 * this.#middle + 1);
  }

  run(): void {
    const waiting: Box[] = [{ left: 0, top: 0, right: this.old.length, bottom: this.fresh.length }];
    while (waiting.length > 0) {
      const box = this.#trimmed(waiting.pop()!);
      if (box.left === box.right || box.top === box.bottom) {
        this.#replace(box);
        continue;
      }
      const point = this.#meeting(box);
      if (point === null) {
        this.#replace(box);
        continue;
      }
      waiting.push({ ...box, right: point.x, bottom: point.y }, { ...box, left: point.x, top: point.y });
    }
  }

  /** Without the lines that both sides begin or end with. */
  #trimmed({ left, top, right, bottom }: Box): Box {
    while (left < right && top < bottom && this.old[left] === this.fresh[top]) {
      left++;
      top++;
    }
    while (left < right && top < bottom && this.old[right - 1] === this.fresh[bottom - 1]) {
      right--;
      bottom--;
    }
    return { left, top, right, bottom };
  }

  #replace({ left, top, right, bottom }: Box): void {
    this.removed.fill(1, left, right);
    this.added.fill(1, top, bottom);
  }

  /** A point on a shortest way through the box: where the searches from both corners meet. Null when that is too far to look. */
  #meeting(box: Box): { x: number; y: number } | null {
    const { left, top, right, bottom } = box;
    const delta = right - left - (bottom - top);
    const isOdd = (delta & 1) !== 0;
    const [forward, backward, middle] = [this.#forward, this.#backward, this.#middle];
    forward[middle + 1] = left;
    backward[middle + 1] = right;
    const limit = Math.min(Math.ceil((right - left + bottom - top) / 2), this.maxCost);
    for (let cost = 0; cost <= limit; cost++) {
      for (let k = -cost; k <= cost; k += 2) {
        let x = k === -cost || (k !== cost && forward[middle + k - 1]! < forward[middle + k + 1]!) ? forward[middle + k + 1]! : forward[middle + k - 1]! + 1;
        let y = top + (x - left) - k;
        while (x < right && y < bottom && this.old[x] === this.fresh[y]) {
          x++;
          y++;
        }
        forward[middle + k] = x;
        if (isOdd && Math.abs(k - delta) < cost && x >= backward[middle + delta - k]! && x <= right && y <= bottom) return { x, y };
      }
      for (let k = -cost; k <= cost; k += 2) {
        let x = k === -cost || (k !== cost && backward[middle + k - 1]! > backward[middle + k + 1]!) ? backward[middle + k + 1]! : backward[middle + k - 1]! - 1;
        let y = bottom - (right - x) + k;
        while (x > left && y > top && this.old[x - 1] === this.fresh[y - 1]) {
          x--;
          y--;
        }
        backward[middle + k] = x;
        if (!isOdd && Math.abs(k - delta) <= cost && x <= forward[middle + delta - k]! && x >= left && y >= top) return { x, y };
      }
    }
    return null;
  }
}
