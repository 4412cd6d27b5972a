import { describe, expect, it } from "vitest";
import type { Sandbox } from "../api/types";
import { forEach, names } from "./useMoves";

describe("bulk moves", () => {
  it("are done a few at a time, and one that fails stops none of the others", async () => {
    let under = 0;
    let most = 0;
    const { done, errors } = await forEach(
      Array.from({ length: 30 }, (_, index) => index),
      async (index) => {
        under += 1;
        most = Math.max(most, under);
        await Promise.resolve();
        under -= 1;
        if (index % 10 === 3) throw new Error(`no ${index}`);
      },
    );
    expect(most).toBe(8);
    expect(done).toHaveLength(27);
    expect(errors.map((error) => (error as Error).message).sort()).toEqual(["no 13", "no 23", "no 3"]);
  });

  it("say whom they mean, of many the first few", () => {
    const fleet = Array.from(
      { length: 8 },
      (_, index) => ({ id: `i${index}`, name: index === 1 ? null : `agent-${index}` }) as Sandbox,
    );
    expect(names(fleet.slice(0, 3))).toBe("agent-0, i1, agent-2");
    expect(names(fleet)).toBe("agent-0, i1, agent-2, agent-3, agent-4 and 3 more");
  });
});
