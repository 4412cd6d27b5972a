import { describe, expect, it } from "vitest";
import { sparkline } from "./figures";
import { bytes, duration, parseDuration, plural, relative, share } from "./format";

describe("numbers", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1536, "1.5 KB"],
    [150 * 1024, "150 KB"],
    [3 * 1024 ** 3, "3 GB"],
    [2048 * 1024 ** 4, "2048 TB"],
  ])("%d bytes", (count, text) => expect(bytes(count)).toBe(text));
  it.each([
    [0, "0%"],
    [0.004, "<1%"],
    [0.034, "3%"],
    [1.5, "150%"],
  ])("%d of a core", (value, text) => expect(share(value)).toBe(text));
  it("of things", () => expect([plural(1, "sandbox", "sandboxes"), plural(0, "key")]).toEqual(["1 sandbox", "0 keys"]));
});

describe("times", () => {
  it.each([
    [0, "0 s"],
    [59.6, "1 min"],
    [5400, "1 h 30 min"],
    [86405, "1 d"],
    [90061, "1 d 1 h"],
    [-5, "0 s"],
  ])("%d seconds", (seconds, text) => expect(duration(seconds)).toBe(text));
  it("before and after now", () => {
    const now = 1_000_000;
    expect(relative(now - 2_000, now)).toBe("just now");
    expect(relative(now - 240_000, now)).toBe("4 min ago");
    expect(relative(now + 7_200_000, now)).toBe("in 2 h");
  });
  it.each([
    ["90", 90],
    ["45m", 2700],
    ["1h30m", 5400],
    ["2 d", 172_800],
    ["1.5h", 5400],
    ["10min", 600],
    ["", null],
    ["soon", null],
    ["5 x", null],
    ["h", null],
  ])("typed as %j", (text, seconds) => expect(parseDuration(text)).toBe(seconds));
});

describe("sparklines", () => {
  it("reach from the left to the right, and never above the top", () => {
    const { line } = sparkline([0, 1, 2], 0);
    expect(line.startsWith("M0.0,27.0")).toBe(true);
    expect(line.endsWith("L100.0,1.0")).toBe(true);
  });
  it("are flat for one value and empty for none", () => {
    expect(sparkline([5], 10).line).toMatch(/^M0\.0,(.+)L100,\1$/);
    expect(sparkline([], 1).line).toBe("");
    expect(sparkline([0, 0], 0).line).not.toContain("NaN");
  });
});
