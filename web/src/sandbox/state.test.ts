import { describe, expect, it } from "vitest";
import { tokenOf } from "./screen/token";
import { readTabSearch } from "./search";
import { isAsleep, isAwake, isOver, tabOf } from "./state";

describe("tabOf", () => {
  it("shows the tab asked for, and else what shows most", () => {
    expect(tabOf("files", { has_desktop: true })).toBe("files");
    expect(tabOf(undefined, { has_desktop: true })).toBe("screen");
    expect(tabOf("nonsense", { has_desktop: false })).toBe("terminal");
  });
});

describe("states", () => {
  it("are awake, asleep, over or on the way", () => {
    const of = (state: Parameters<typeof isAwake>[0]["state"]) => [isAwake({ state }), isAsleep({ state }), isOver({ state })];
    expect(of("running")).toEqual([true, false, false]);
    expect(of("snapshotting")).toEqual([true, false, false]);
    expect(of("paused")).toEqual([false, true, false]);
    expect(of("resuming")).toEqual([false, false, false]);
    expect(of("dead")).toEqual([false, false, true]);
  });
});

describe("readTabSearch", () => {
  it("takes whole paths and nothing else", () => {
    expect(readTabSearch({ path: "/home/user", file: "/etc/hosts" })).toEqual({ path: "/home/user", file: "/etc/hosts" });
    expect(readTabSearch({ path: "../up", file: 7, other: "x" })).toEqual({ path: undefined, file: undefined });
  });
});

describe("tokenOf", () => {
  it("is behind the sandbox", () => {
    expect(tokenOf("#i0h3mn29fk4ttq0xv2c71.4c10.23ba")).toBe("4c10.23ba");
    expect([tokenOf(""), tokenOf("#"), tokenOf("#i1"), tokenOf("#i1."), tokenOf("#.x")]).toEqual([null, null, null, null, null]);
  });
});
