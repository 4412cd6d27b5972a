import { memo } from "react";
import { moment, relative } from "./format";
import { useNow } from "./clock";

const WIDTH = 100;
const HEIGHT = 28;

/** The outline of a small chart on a field of 100 × 28, newest at the right. */
export function sparkline(values: readonly number[], top: number): { line: string; area: string } {
  if (values.length === 0) return { line: "", area: "" };
  const ceiling = Math.max(top, ...values) || 1;
  const step = values.length > 1 ? WIDTH / (values.length - 1) : 0;
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)},${(HEIGHT - (value / ceiling) * (HEIGHT - 2) - 1).toFixed(1)}`,
  );
  if (points.length === 1) points.push(`${WIDTH},${points[0]?.split(",")[1]}`);
  const line = `M${points.join("L")}`;
  return { line, area: `${line}L${WIDTH},${HEIGHT}L0,${HEIGHT}Z` };
}

/** Where a figure has been lately. `top` is the least that the full height stands for. */
export const Sparkline = memo(function Sparkline({
  values,
  top = 0,
  label,
}: {
  values: readonly number[];
  top?: number;
  label: string;
}) {
  const { line, area } = sparkline(values, top);
  return (
    <svg className="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path className="area" d={area} />
      <path className="line" d={line} />
    </svg>
  );
});

/** "4 min ago", exact on hover, kept up to date. */
export function RelativeTime({ at }: { at: string }) {
  const when = Date.parse(at);
  const isFresh = Math.abs(useNow(20) - when) < 90_000; // then every second counts
  const now = useNow(isFresh ? 1 : 20);
  return (
    <time dateTime={at} title={moment(when)}>
      {relative(when, now)}
    </time>
  );
}
