import { useId, useMemo, useState, type PointerEvent } from "react";
import { format } from "../../ui";
import { areaOf, ceiling, nearest, pathOf, thinned, type Line, type Span } from "./series";

export interface Series {
  label: string;
  lines: Line[];
  tone: "accent" | "blue";
}

interface ChartProps {
  title: string;
  series: Series[];
  span: Span;
  /** The full height, when there is a limit to show. */
  top?: number;
  base?: 10 | 2;
  words: (value: number) => string;
}

const WIDTH = 600;
const HEIGHT = 120;

/** One figure over time. Gaps are times asleep. */
export function Chart({ title, series, span, top: given, base = 10, words }: ChartProps) {
  const id = useId();
  const [at, setAt] = useState<number | null>(null);
  const thin = useMemo(() => series.map((each) => ({ ...each, lines: thinned(each.lines, span, 300) })), [series, span]);
  const most = Math.max(0, ...thin.flatMap(({ lines }) => lines.flatMap((line) => line.map(({ value }) => value))));
  const top = given !== undefined && given >= most ? given : ceiling(most * 1.05, base);
  const last = thin.map(({ lines }) => lines[lines.length - 1]?.at(-1) ?? null);
  const pointed = at === null ? null : thin.map(({ lines }) => nearest(lines, at));
  const shown = pointed ?? last;
  const point = (event: PointerEvent<SVGSVGElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    setAt(span.start + ((event.clientX - box.left) / box.width) * (span.end - span.start));
  };
  const x = pointed?.[0] ? ((pointed[0].at - span.start) / (span.end - span.start)) * WIDTH : null;
  return (
    <figure className="chart card" aria-labelledby={id}>
      <figcaption id={id}>
        <span className="chart-title">{title}</span>
        <span className="chart-figures small">
          {thin.map(({ label, tone }, index) => (
            <span key={label} className={`chart-figure ${tone}`}>
              {thin.length > 1 && <span className="muted">{label} </span>}
              <strong className="number">{shown[index] ? words(shown[index].value) : "–"}</strong>
            </span>
          ))}
          {pointed?.[0] && <span className="muted number">{format.clock(pointed[0].at)}</span>}
        </span>
      </figcaption>
      <div className="chart-plot">
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${thin.map(({ label }, index) => `${label} ${last[index] ? words(last[index].value) : "not known"}`).join(", ")}; at most ${words(most)} in this time`}
          onPointerMove={point}
          onPointerLeave={() => setAt(null)}
        >
          {[0, 0.5, 1].map((share) => (
            <line key={share} className="chart-grid" x1="0" x2={WIDTH} y1={share * HEIGHT} y2={share * HEIGHT} />
          ))}
          {thin.map(({ label, lines, tone }) => (
            <g key={label} className={tone}>
              <path className="chart-area" d={areaOf(lines, span, top, WIDTH, HEIGHT)} />
              <path className="chart-line" d={pathOf(lines, span, top, WIDTH, HEIGHT)} />
            </g>
          ))}
          {x !== null && <line className="chart-cursor" x1={x} x2={x} y1="0" y2={HEIGHT} />}
        </svg>
        <span className="chart-top small faint number" aria-hidden="true">
          {words(top)}
        </span>
      </div>
      <p className="chart-times small faint number" aria-hidden="true">
        <span>{format.clock(span.start)}</span>
        <span>{format.clock(span.end)}</span>
      </p>
    </figure>
  );
}
