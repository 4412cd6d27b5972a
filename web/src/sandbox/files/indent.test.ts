import { describe, expect, it } from "vitest";
import { tab, unitOf } from "./indent";

/** `[` and `]` mark the selection. */
function pressed(marked: string, backwards = false): string {
  const from = marked.indexOf("[");
  const to = marked.indexOf("]") - 1;
  const text = marked.replace("[", "").replace("]", "");
  const edit = tab(text, from, to, backwards);
  const after = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
  return `${after.slice(0, edit.from)}[${after.slice(edit.from, edit.to)}]${after.slice(edit.to)}`;
}

describe("tab", () => {
  it("puts in one unit where the cursor stands", () => {
    expect(pressed("ab[]c")).toBe("ab    []c");
    expect(pressed("\tx\na[]")).toBe("\tx\na\t[]");
  });

  it("moves all marked lines in, empty ones not", () => {
    expect(pressed("a\n[b\n\nc]\nd")).toBe("a\n    [b\n\n    c]\nd");
    expect(pressed("[a\n]b")).toBe("    [a\n]b");
  });

  it("moves lines out as far as they are in", () => {
    expect(pressed("    a\n   [b\n    c]", true)).toBe("    a\n[b\nc]");
    expect(pressed("x\n[]    y", true)).toBe("x\n[]y");
    expect(pressed("[]x", true)).toBe("[]x");
  });
});

describe("unitOf", () => {
  it("follows the text", () => {
    expect([unitOf("a\n\tb"), unitOf("a:\n  b"), unitOf("def a():\n    b"), unitOf("")]).toEqual(["\t", "  ", "    ", "    "]);
  });
});
