import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { getMetrics } from "../../api/calls";
import { keys } from "../../api/keys";
import type { Activity, Metric, Sandbox } from "../../api/types";
import { reasonText, STATES } from "../../fleet/words";
import {
  Button,
  Card,
  EmptyState,
  ErrorState,
  format,
  Icon,
  Loading,
  Notice,
  RelativeTime,
  Segments,
  useNow,
  type IconName,
} from "../../ui";
import { messageOf } from "../../api/errors";
import { processes, type ProcessRow } from "../agent/status";
import { useActivity } from "../Header";
import { isAwake } from "../state";
import { useFresh } from "../useFresh";
import { Chart, type Series } from "./Chart";
import { Hold } from "./Hold";
import { levels, rates, type Span } from "./series";

/** Why it is awake, what runs in it, and what it used. */
export function ActivityTab({ sandbox }: { sandbox: Sandbox }) {
  return (
    <div className="activity">
      <div className="activity-why">
        <Why sandbox={sandbox} />
        <Hold sandbox={sandbox} />
      </div>
      <Charts sandbox={sandbox} />
      <Processes sandbox={sandbox} />
    </div>
  );
}

/** Reasons that hold all the time since they began. */
const LASTING: ReadonlySet<string> = new Set(["always", "fresh", "moving"]);
/** Reasons whose words say all. */
const SAID: ReadonlySet<string> = new Set(["hold", "cpu", "moving"]);

const ICONS: Record<string, IconName> = {
  traffic: "plug",
  hold: "hand",
  cpu: "events",
  network: "share",
  fresh: "sun",
  always: "auto",
  deadline: "clock",
  moving: "settings",
};

function Why({ sandbox }: { sandbox: Sandbox }) {
  const activity = useActivity(sandbox);
  return (
    <Card title={isAwake(sandbox) ? "Why it is awake" : "Sleep"} padded>
      {activity.isPending ? (
        <Loading lines={2} label="Asking why" />
      ) : activity.isError ? (
        <Notice tone="error">{messageOf(activity.error)}</Notice>
      ) : (
        <Reasons sandbox={sandbox} activity={activity.data} />
      )}
    </Card>
  );
}

function Reasons({ sandbox, activity }: { sandbox: Sandbox; activity: Activity }) {
  const now = useNow(1);
  if (!activity.awake) {
    return (
      <div className="stack tight">
        <p className="row">
          <Icon name="moon" /> {activity.dozing ? "Dozing" : STATES[sandbox.state].label}{" "}
          <span className="muted">for {format.duration((now - Date.parse(sandbox.changed_at)) / 1000)}</span>
        </p>
        {activity.dozing && (
          <p className="small muted">
            It is saved on the disk and still in memory, so it wakes in milliseconds. When the machine needs that memory, it
            sleeps on from the disk.
          </p>
        )}
      </div>
    );
  }
  const left = activity.sleeps_at === null ? null : Math.max(0, (Date.parse(activity.sleeps_at) - now) / 1000);
  return (
    <div className="stack tight">
      <ul className="reasons">
        {activity.awake_because.map((reason) => (
          <li key={`${reason.kind} ${reason.detail}`}>
            <Icon name={ICONS[reason.kind] ?? "info"} />
            <div>
              <p>{capital(reasonText(reason))}</p>
              <p className="small muted dotted">
                {!SAID.has(reason.kind) && <span>{reason.detail}</span>}
                {reason.since && (
                  <span>
                    {LASTING.has(reason.kind) ? (
                      `for ${format.duration((now - Date.parse(reason.since)) / 1000, 1)}`
                    ) : (
                      <>
                        last <RelativeTime at={reason.since} />
                      </>
                    )}
                  </span>
                )}
                {reason.until && <span>counts until {format.clock(reason.until)}</span>}
              </p>
            </div>
          </li>
        ))}
      </ul>
      <p className="activity-end">
        {left === null ? (
          "It does not sleep by itself."
        ) : (
          <>
            If nothing new happens it {activity.then === "kill" ? <strong>is killed</strong> : "falls asleep"} in{" "}
            <strong className="number">{format.duration(left)}</strong>.
          </>
        )}
      </p>
    </div>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const SPANS = { "15 min": 900, "1 h": 3600, "6 h": 21_600, "24 h": 86_400 } as const;
type SpanName = keyof typeof SPANS;

function Charts({ sandbox }: { sandbox: Sandbox }) {
  const [name, setName] = useState<SpanName>("15 min");
  const found = useQuery({
    queryKey: [...keys.metrics(sandbox.id), name],
    queryFn: async ({ signal }) => {
      const end = Date.now();
      // Of a young one the time before it was made is not worth a place, but for a few minutes.
      const start = Math.max(end - SPANS[name] * 1000, Math.min(Date.parse(sandbox.created_at), end - 180_000));
      return { span: { start, end }, metrics: (await getMetrics(sandbox.id, start / 1000, signal)).metrics };
    },
    staleTime: 10_000,
    placeholderData: (before) => before,
  });
  useFresh(sandbox.id, keys.metrics(sandbox.id));
  return (
    <section aria-label="Use over time" className="stack">
      <div className="row between wrap">
        <h2>Use over time</h2>
        <Segments
          label="Time"
          value={name}
          options={(Object.keys(SPANS) as SpanName[]).map((value) => ({ value, label: value }))}
          onChange={setName}
        />
      </div>
      {found.isPending ? (
        <Loading label="Loading figures" />
      ) : found.isError ? (
        <ErrorState error={found.error} retry={() => void found.refetch()} />
      ) : (
        <Plots sandbox={sandbox} {...found.data} />
      )}
    </section>
  );
}

function Plots({ sandbox, metrics, span }: { sandbox: Sandbox; metrics: Metric[]; span: Span }) {
  const made = useMemo(() => {
    const one = (label: string, lines: Series["lines"], tone: Series["tone"] = "accent"): Series => ({ label, lines, tone });
    return {
      cpu: [one("CPU", rates(metrics, "cpu_s"))],
      memory: [one("Memory", levels(metrics, "memory_bytes"))],
      disk: [one("Disk", levels(metrics, "disk_bytes"))],
      network: [one("in", rates(metrics, "received_bytes")), one("out", rates(metrics, "sent_bytes"), "blue")],
    };
  }, [metrics]);
  if (metrics.length === 0)
    return (
      <EmptyState icon="events" title="No figures in this time">
        <p>They are taken every few seconds while it is awake.</p>
      </EmptyState>
    );
  return (
    <div className="charts">
      <Chart title="CPU" series={made.cpu} span={span} words={format.share} />
      <Chart
        title="Memory"
        series={made.memory}
        span={span}
        base={2}
        top={sandbox.size.memory_mb > 0 ? sandbox.size.memory_mb * 1024 * 1024 : undefined}
        words={format.bytes}
      />
      <Chart title="Disk" series={made.disk} span={span} base={2} words={format.bytes} />
      <Chart title="Network" series={made.network} span={span} base={2} words={(value) => `${format.bytes(value)}/s`} />
    </div>
  );
}

type Column = "cpu_percent" | "memory_bytes" | "pid";

function Processes({ sandbox }: { sandbox: Sandbox }) {
  const awake = isAwake(sandbox);
  const queryKey = ["processes", sandbox.id];
  const found = useQuery({
    queryKey,
    queryFn: ({ signal }) => processes(sandbox, { quiet: true, signal }),
    enabled: awake,
    staleTime: 0,
  });
  useFresh(sandbox.id, queryKey);
  const [column, setColumn] = useState<Column>("cpu_percent");
  const rows = useMemo(
    () => [...(found.data ?? [])].sort((a, b) => (column === "pid" ? a.pid - b.pid : b[column] - a[column] || a.pid - b.pid)),
    [found.data, column],
  );
  return (
    <Card
      title={`Processes${awake && found.data ? ` (${found.data.length})` : ""}`}
      actions={
        awake && (
          <Button small icon="undo" busy={found.isFetching} onClick={() => void found.refetch()}>
            Look again
          </Button>
        )
      }
    >
      {!awake ? (
        <EmptyState icon="moon" title="Asleep">
          <p>Its processes stand still. They go on when it wakes.</p>
        </EmptyState>
      ) : found.isError ? (
        <ErrorState error={found.error} retry={() => void found.refetch()} />
      ) : found.isPending ? (
        <div className="files-body">
          <Loading label="Loading processes" />
        </div>
      ) : (
        <ProcessTable rows={rows} column={column} onSort={setColumn} />
      )}
    </Card>
  );
}

function ProcessTable({ rows, column, onSort }: { rows: ProcessRow[]; column: Column; onSort: (column: Column) => void }) {
  const now = useNow(20);
  const head = (its: Column, label: string) => (
    <th className="num" aria-sort={column === its ? (its === "pid" ? "ascending" : "descending") : "none"}>
      <button type="button" className="plain" onClick={() => onSort(its)}>
        {label}
      </button>
    </th>
  );
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- long lists scroll, by keyboard too
    <div className="table-scroll processes" tabIndex={0} role="region" aria-label="Processes">
      <table className="table">
        <thead>
          <tr>
            {head("pid", "PID")}
            <th>Command</th>
            <th className="wide-cell">User</th>
            {head("cpu_percent", "CPU")}
            {head("memory_bytes", "Memory")}
            <th className="num wide-cell">Runs for</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.pid}>
              <td className="num small muted">{row.pid}</td>
              <td className="process-command">
                <code title={row.command}>{row.command}</code>
              </td>
              <td className="small muted wide-cell">{row.user}</td>
              <td className="num">{row.cpu_percent.toFixed(row.cpu_percent < 10 ? 1 : 0)}%</td>
              <td className="num">{format.bytes(row.memory_bytes)}</td>
              <td className="num small muted wide-cell">{format.duration((now - Date.parse(row.started_at)) / 1000, 1)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
