import { describe, expect, it } from "vitest";
import type { Metric } from "../../api/types";
import { areaOf, ceiling, levels, nearest, pathOf, rates, thinned } from "./series";

const at = (second: number): string => new Date(second * 1000).toISOString();
const metric = (second: number, cpu_s: number, memory_bytes = 0): Metric => ({
  at: at(second),
  cpu_s,
  memory_bytes,
  disk_bytes: 0,
  received_bytes: 0,
  sent_bytes: 0,
});

describe("rates", () => {
  it("are what a counter grew by in a second", () => {
    expect(rates([metric(0, 0), metric(5, 5), metric(10, 7.5)], "cpu_s")).toEqual([
      [
        { at: 5000, value: 1 },
        { at: 10000, value: 0.5 },
      ],
    ]);
  });

  it("do not lead over a sleep, nor over a new incarnation", () => {
    const lines = rates([metric(0, 0), metric(5, 5), metric(500, 6), metric(505, 11), metric(510, 0), metric(515, 5)], "cpu_s");
    expect(lines.map((line) => line.map((point) => point.at / 1000))).toEqual([[5], [505], [515]]);
  });
});

describe("levels", () => {
  it("break where nothing was sampled", () => {
    expect(
      levels([metric(0, 0, 1), metric(5, 0, 2), metric(100, 0, 3)], "memory_bytes").map((line) => line.map(({ value }) => value)),
    ).toEqual([[1, 2], [3]]);
  });
});

describe("thinned", () => {
  it("keeps the peaks", () => {
    const line = Array.from({ length: 1000 }, (_, index) => ({ at: index, value: index === 501 ? 9 : 1 }));
    const [thin] = thinned([line], { start: 0, end: 1000 }, 50);
    expect(thin).toHaveLength(50);
    expect(Math.max(...thin!.map(({ value }) => value))).toBe(9);
  });
});

describe("ceiling", () => {
  it("is round and not below", () => {
    expect([0, 0.03, 1, 1.2, 4.9, 7, 100].map((value) => ceiling(value))).toEqual([1, 0.05, 1, 2, 5, 10, 100]);
    expect([3, 4, 5_000_000].map((value) => ceiling(value, 2))).toEqual([4, 4, 8_388_608]);
  });
});

describe("paths", () => {
  const span = { start: 0, end: 100 };
  it("run from the bottom left, and stay in the box", () => {
    expect(
      pathOf(
        [
          [
            { at: 0, value: 0 },
            { at: 50, value: 5 },
            { at: 100, value: 99 },
          ],
        ],
        span,
        10,
        200,
        40,
      ),
    ).toBe("M0.0 40.0L100.0 20.0L200.0 0.0");
    expect(pathOf([[{ at: 50, value: 10 }], []], span, 10, 200, 40)).toBe("M100.0 0.0h0");
    expect(
      areaOf(
        [
          [
            { at: 0, value: 0 },
            { at: 100, value: 10 },
          ],
          [{ at: 1, value: 1 }],
        ],
        span,
        10,
        200,
        40,
      ),
    ).toBe("M0.0 40.0L200.0 0.0L200.0 40L0.0 40Z");
  });
});

describe("nearest", () => {
  it("looks in all lines", () => {
    expect(nearest([[{ at: 0, value: 1 }], [{ at: 90, value: 2 }]], 60)).toEqual({ at: 90, value: 2 });
    expect(nearest([], 60)).toBeNull();
  });
});
