import { describe, expect, it } from "vitest";
import { commandOf, PLACES } from "./shortcuts";

describe("keys", () => {
  it("lead to every place, each by its own", () => {
    expect(new Set(PLACES.map((place) => place.key)).size).toBe(PLACES.length);
    for (const place of PLACES) expect(commandOf(place.key, true)).toEqual({ go: place.to });
  });
  it("mean something else, or nothing, on their own", () => {
    expect(commandOf("?", false)).toBe("help");
    expect(commandOf("/", false)).toBe("search");
    expect(commandOf("c", false)).toBe("create");
    expect(commandOf("f", false)).toBeNull();
    expect(commandOf("?", true)).toBeNull();
  });
});
