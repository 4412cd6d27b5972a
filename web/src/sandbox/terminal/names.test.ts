import { describe, expect, it } from "vitest";
import { newName, numberOf, terminalsOf } from "./names";

describe("names of terminals", () => {
  it("are found among all that runs, in order", () => {
    const running = ["terminal-2-x9", null, "roost-1234", "terminal-10-a", "terminal-1-b"].map((tag, pid) => ({
      pid,
      tag,
      command: "",
      args: [],
    }));
    expect(terminalsOf(running).map(({ number }) => number)).toEqual([1, 2, 10]);
  });

  it("count on from the highest", () => {
    expect(newName([], "r4nd")).toEqual({ tag: "terminal-1-r4nd", number: 1 });
    expect(
      newName(
        [
          { tag: "terminal-4-a", number: 4 },
          { tag: "terminal-2-b", number: 2 },
        ],
        "z",
      ).number,
    ).toBe(5);
    expect(numberOf(newName([], "z").tag)).toBe(1);
  });

  it("are no others", () => {
    expect([null, "terminal-x-1", "my-terminal-1-a"].map(numberOf)).toEqual([null, null, null]);
  });
});
