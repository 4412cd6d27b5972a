import { describe, expect, it } from "vitest";
import { initialChoice, needsText } from "./answering";

describe("answering", () => {
  it("never chooses between several by itself", () => {
    expect(initialChoice({ choices: ["approve", "deny"] })).toBeNull();
    expect(initialChoice({ choices: ["ok"] })).toBe("ok");
  });
  it("needs words only where there is nothing to choose", () => {
    expect(needsText({ choices: [] }, "  ")).toBe(true);
    expect(needsText({ choices: [] }, "yes")).toBe(false);
    expect(needsText({ choices: ["a"] }, "")).toBe(false);
  });
});
