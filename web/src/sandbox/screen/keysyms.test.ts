import { describe, expect, it } from "vitest";
import { keysymOf, typed } from "./keysyms";

describe("keysymOf", () => {
  it("knows Latin-1, Unicode and the keys that are no letters", () => {
    expect(["a", "ü", "€", "漢", "😀", "\n"].map(keysymOf)).toEqual([0x61, 0xfc, 0x010020ac, 0x01006f22, 0x0101f600, 0xff0d]);
  });
});

describe("typed", () => {
  it("is what a keyboard that corrects itself meant", () => {
    expect(typed("", "h")).toEqual({ erased: 0, added: ["h"] });
    expect(typed("hallp", "hallo")).toEqual({ erased: 1, added: ["o"] });
    expect(typed("ab", "a")).toEqual({ erased: 1, added: [] });
    expect(typed("teh ", "the ")).toEqual({ erased: 3, added: ["h", "e", " "] });
    expect(typed("😀", "")).toEqual({ erased: 1, added: [] });
  });
});
