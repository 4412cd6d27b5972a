/** From samples to lines: counters become rates, times asleep become gaps, and a day fits into a few hundred points. */

import type { Metric } from "../../api/types";

export interface Point {
  at: number;
  value: number;
}

/** Stretches without a gap. */
export type Line = Point[];

type Counter = "cpu_s" | "received_bytes" | "sent_bytes";
type Gauge = "memory_bytes" | "disk_bytes";

/** Samples come every 5 s. Further apart than this, the sandbox slept in between. */
const GAP_MS = 30_000;

/** Per second. A counter that fell belongs to a new incarnation: no rate leads over that. */
export function rates(metrics: readonly Metric[], counter: Counter): Line[] {
  const lines = new Lines();
  for (let index = 1; index < metrics.length; index++) {
    const [before, now] = [metrics[index - 1]!, metrics[index]!];
    const at = Date.parse(now.at);
    const passed = at - Date.parse(before.at);
    const grown = now[counter] - before[counter];
    if (passed <= 0) continue;
    if (passed > GAP_MS || grown < 0) lines.break();
    else lines.add({ at, value: (grown / passed) * 1000 });
  }
  return lines.all;
}

export function levels(metrics: readonly Metric[], gauge: Gauge): Line[] {
  const lines = new Lines();
  let last = Number.NEGATIVE_INFINITY;
  for (const metric of metrics) {
    const at = Date.parse(metric.at);
    if (at - last > GAP_MS) lines.break();
    lines.add({ at, value: metric[gauge] });
    last = at;
  }
  return lines.all;
}

class Lines {
  readonly all: Line[] = [];
  #open = false;

  add(point: Point): void {
    if (this.#open) this.all[this.all.length - 1]!.push(point);
    else this.all.push([point]);
    this.#open = true;
  }

  break(): void {
    this.#open = false;
  }
}

/** At most about `count` points over the span, each the highest of its stretch: a short burst must not vanish. */
export function thinned(lines: readonly Line[], span: Span, count: number): Line[] {
  const width = (span.end - span.start) / count;
  return lines.map((line) => {
    const kept: Line = [];
    let bucket = Number.NaN;
    for (const point of line) {
      const its = Math.floor((point.at - span.start) / width);
      const last = kept[kept.length - 1];
      if (its !== bucket || !last) kept.push(point);
      else if (point.value > last.value) kept[kept.length - 1] = point;
      bucket = its;
    }
    return kept;
  });
}

export interface Span {
  start: number;
  end: number;
}

/** The smallest round number of 1, 2 or 5 times a power of the base that is not below. */
export function ceiling(value: number, base: 10 | 2 = 10): number {
  if (value <= 0) return 1;
  if (base === 2) return 2 ** Math.ceil(Math.log2(value));
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}

/** SVG path data of the lines, in a box of `width` × `height` with the origin at the top. */
export function pathOf(lines: readonly Line[], span: Span, top: number, width: number, height: number): string {
  const x = (at: number): string => (((at - span.start) / (span.end - span.start)) * width).toFixed(1);
  const y = (value: number): string => (height - (Math.min(value, top) / top) * height).toFixed(1);
  return lines
    .filter((line) => line.length > 0)
    .map((line) => {
      const points = line.map(({ at, value }) => `${x(at)} ${y(value)}`);
      // A lone sample is a dot, drawn as a line of no length with round ends.
      return `M${points.join("L")}${line.length === 1 ? "h0" : ""}`;
    })
    .join("");
}

export function areaOf(lines: readonly Line[], span: Span, top: number, width: number, height: number): string {
  const x = (at: number): string => (((at - span.start) / (span.end - span.start)) * width).toFixed(1);
  return lines
    .filter((line) => line.length > 1)
    .map(
      (line) =>
        `${pathOf([line], span, top, width, height)}L${x(line[line.length - 1]!.at)} ${height}L${x(line[0]!.at)} ${height}Z`,
    )
    .join("");
}

/** The point nearest to a time, for a cursor over the chart. */
export function nearest(lines: readonly Line[], at: number): Point | null {
  let found: Point | null = null;
  for (const line of lines) {
    for (const point of line) if (!found || Math.abs(point.at - at) < Math.abs(found.at - at)) found = point;
  }
  return found;
}
