/** What Tab does in code. */

export interface Edit {
  /** Replace from `start` to `end` with `text`, then select `from` to `to`. */
  start: number;
  end: number;
  text: string;
  from: number;
  to: number;
}

/** The unit that a text indents with. */
export function unitOf(text: string): string {
  if (/^\t/m.test(text)) return "\t";
  return /^ {2}\S/m.test(text) ? "  " : "    ";
}

export function tab(text: string, from: number, to: number, backwards: boolean): Edit {
  const unit = unitOf(text);
  const start = text.lastIndexOf("\n", from - 1) + 1;
  if (!backwards && from === to) return { start: from, end: to, text: unit, from: from + unit.length, to: from + unit.length };
  // A selection that ends right behind a newline does not mean the line after it.
  const last = to > from && text[to - 1] === "\n" ? to - 1 : to;
  const found = text.indexOf("\n", last);
  const end = found === -1 ? text.length : found;
  const lines = text.slice(start, end).split("\n");
  const changed = lines.map((line) => (backwards ? outdented(line, unit) : line === "" ? line : unit + line));
  const first = changed[0]!.length - lines[0]!.length;
  const replacement = changed.join("\n");
  return {
    start,
    end,
    text: replacement,
    from: Math.max(start, from + first),
    to: Math.max(start, to + replacement.length - (end - start)),
  };
}

function outdented(line: string, unit: string): string {
  if (line.startsWith(unit)) return line.slice(unit.length);
  return line.replace(/^[ \t]+/, (space) => (unit === "\t" ? "" : space.slice(Math.min(space.length, unit.length))));
}
