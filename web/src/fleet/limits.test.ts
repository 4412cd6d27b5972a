import { describe, expect, it } from "vitest";
import { limit, sizeOf } from "./limits";

describe("limits", () => {
  it("say only what was typed, in the API's units", () => {
    expect(sizeOf({ cpus: "", memory: "", disk: " " })).toEqual({});
    expect(sizeOf({ cpus: "0,5", memory: "1.5", disk: "" })).toEqual({ cpus: 0.5, memory_mb: 1536 });
    expect(sizeOf({ cpus: "", memory: "", disk: "0" })).toEqual({ disk_mb: 0 });
  });

  it("are numbers, and nothing is sent while one is not", () => {
    expect(["2 GB", "-1", "1e3", "many"].map(limit)).toEqual([null, null, null, null]);
    expect(sizeOf({ cpus: "2", memory: "lots", disk: "" })).toBeNull();
  });
});
