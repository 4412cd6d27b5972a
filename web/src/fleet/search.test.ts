import { describe, expect, it } from "vitest";
import type { FleetEntry, State } from "../api/types";
import { count, readSearch, select } from "./search";

const entry = (
  name: string | null,
  state: State,
  more: { template?: string; created?: string; cpu?: number[]; metadata?: Record<string, string> } = {},
): FleetEntry =>
  ({
    sandbox: {
      id: `id-${name}`,
      name,
      state,
      template: more.template ?? "base",
      created_at: more.created ?? "2026-01-01",
      metadata: more.metadata ?? {},
    },
    cpu: more.cpu ?? [],
    memory: [],
  }) as unknown as FleetEntry;
const names = (entries: FleetEntry[]) => entries.map(({ sandbox }) => sandbox.name);

const fleet = [
  entry("b10", "paused", { cpu: [0.9, 0.1], created: "2026-01-03" }),
  entry("b9", "running", { cpu: [0.2], metadata: { owner: "Anna" } }),
  entry("desk", "running", { template: "desktop", cpu: [0.5], created: "2026-01-02" }),
  entry(null, "resuming"),
];

describe("what is shown of the fleet", () => {
  it("is searched in names, ids, templates and metadata, by every word", () => {
    expect(names(select(fleet, { q: "anna" }))).toEqual(["b9"]);
    expect(names(select(fleet, { q: "owner=anna B9" }))).toEqual(["b9"]);
    expect(names(select(fleet, { q: "anna desk" }))).toEqual([]);
    expect(names(select(fleet, { q: "id-desk" }))).toEqual(["desk"]);
  });

  it("is filtered by state and template", () => {
    expect(names(select(fleet, { state: "asleep" }))).toEqual(["b10"]);
    expect(names(select(fleet, { state: "moving" }))).toEqual([null]);
    expect(names(select(fleet, { state: "awake", template: "base" }))).toEqual(["b9"]);
    expect(count(fleet)).toEqual({ all: 4, awake: 2, asleep: 1, moving: 1 });
  });

  it("is ordered: awake first, by name as people count, by age, by use", () => {
    expect(names(select(fleet, {})).at(-1)).toBe("b10");
    expect(names(select(fleet, { sort: "name" }))).toEqual(["b9", "b10", "desk", null]);
    expect(names(select(fleet, { sort: "newest" }))[0]).toBe("b10");
    expect(names(select(fleet, { sort: "oldest" })).at(-1)).toBe("b10");
    expect(names(select(fleet, { sort: "cpu" }))[0]).toBe("desk");
  });
});

describe("an address", () => {
  it("is read as far as it is understood", () => {
    expect(readSearch({ q: "x", state: "asleep", sort: "cpu", create: true, from: "base", evil: 1 })).toEqual({
      q: "x",
      state: "asleep",
      template: undefined,
      sort: "cpu",
      create: true,
      from: "base",
    });
    expect(readSearch({ state: "all", sort: "activity", q: "", create: "no" })).toEqual({});
    expect(readSearch({ q: 42, state: "sideways" })).toEqual({ q: "42" });
  });
});
