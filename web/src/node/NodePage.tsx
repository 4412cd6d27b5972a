import "./node.css";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import * as calls from "../api/calls";
import { keys } from "../api/keys";
import type { NodeReport } from "../api/types";
import { useFleet } from "../app/queries";
import { isAwake } from "../sandbox/state";
import { Badge, Button, Card, ErrorState, Icon, Loading, Meter, PageHead, Prose, RelativeTime } from "../ui";
import { bytes, duration, plural } from "../ui/format";

export default function NodePage() {
  const node = useQuery({ queryKey: keys.node, queryFn: ({ signal }) => calls.getNode(signal), staleTime: 0 });
  const version = useQuery({ queryKey: keys.version, queryFn: ({ signal }) => calls.getVersion(signal) });
  return (
    <div className="page">
      <PageHead
        title="Node"
        actions={
          <div className="row">
            {node.dataUpdatedAt > 0 && (
              <span className="faint small">
                looked at <RelativeTime at={new Date(node.dataUpdatedAt).toISOString()} />
              </span>
            )}
            <Button busy={node.isFetching} onClick={() => void node.refetch()}>
              Look again
            </Button>
          </div>
        }
      >
        The machine under your sandboxes.
      </PageHead>
      {node.isError ? (
        <ErrorState error={node.error} title="The node could not be asked" retry={() => void node.refetch()} />
      ) : !node.data ? (
        <Loading />
      ) : (
        <>
          <Gauges node={node.data} />
          <div className="node-columns">
            <Health checks={node.data.checks} />
            <div className="stack">
              <Pools node={node.data} />
              <Card title="Server" padded>
                <dl className="facts">
                  <dt>Up for</dt>
                  <dd>{duration(node.data.uptime_s)}</dd>
                  {version.data && (
                    <>
                      <dt>Roost</dt>
                      <dd className="mono">{version.data.version}</dd>
                      <dt>Engine</dt>
                      <dd className="mono">{version.data.engine}</dd>
                      <dt>Agent</dt>
                      <dd className="mono">{version.data.agent}</dd>
                      <dt>Home</dt>
                      <dd className="mono">{version.data.home}</dd>
                      <dt>Process</dt>
                      <dd className="mono">{version.data.pid}</dd>
                    </>
                  )}
                </dl>
              </Card>
            </div>
          </div>
        </>
      )}
    </div>
  );
}

function Gauges({ node }: { node: NodeReport }) {
  const fleet = useFleet().data; // It is live; the node was looked at a few seconds ago.
  const awake = fleet ? fleet.sandboxes.filter(({ sandbox }) => isAwake(sandbox)).length : node.sandboxes.running;
  const [one = 0, five = 0, fifteen = 0] = node.load;
  const memoryUsed = node.memory_total_bytes - node.memory_free_bytes;
  const diskUsed = node.disk_total_bytes - node.disk_free_bytes;
  return (
    <div className="gauges">
      <Gauge
        title="Load"
        value={one.toFixed(2)}
        share={one / node.cpus}
        detail={`${five.toFixed(2)} and ${fifteen.toFixed(2)} in 5 and 15 min, ${plural(node.cpus, "core")}`}
      />
      <Gauge
        title="Memory"
        value={bytes(memoryUsed)}
        share={memoryUsed / node.memory_total_bytes}
        detail={`of ${bytes(node.memory_total_bytes)}, ${bytes(node.memory_free_bytes)} free`}
      />
      <Gauge
        title="Disk"
        value={bytes(diskUsed)}
        share={diskUsed / node.disk_total_bytes}
        detail={`of ${bytes(node.disk_total_bytes)}, ${bytes(node.disk_free_bytes)} free`}
      />
      <Gauge
        title="Awake"
        value={String(awake)}
        detail={`${node.sandboxes.dozing} dozing in ${bytes(node.memory_dozing_bytes)}, ${plural(node.snapshots, "snapshot")} on the volume`}
      />
    </div>
  );
}

function Gauge({ title, value, share, detail }: { title: string; value: string; share?: number; detail: ReactNode }) {
  return (
    <section className="card gauge" aria-label={title}>
      <h2>{title}</h2>
      <p className="gauge-value number">{value}</p>
      {share !== undefined && <Meter share={share} label={title} />}
      <p className="faint small">{detail}</p>
    </section>
  );
}

function Health({ checks }: { checks: NodeReport["checks"] }) {
  const bad = checks.filter((check) => !check.ok).length;
  return (
    <Card
      title="Health"
      actions={
        <Badge tone={bad === 0 ? "green" : "red"} dot>
          {bad === 0 ? "All well" : plural(bad, "problem")}
        </Badge>
      }
    >
      <ul className="checks">
        {[...checks]
          .sort((a, b) => Number(a.ok) - Number(b.ok))
          .map((check) => (
            <li key={check.name} className={check.ok ? "ok" : "bad"}>
              <Icon name={check.ok ? "check" : "warning"} />
              <div className="grow">
                <p>
                  <strong>{check.name}</strong> <span className="visually-hidden">{check.ok ? "is well" : "is not well"}</span>
                </p>
                <p className="muted small">
                  <Prose text={check.detail} />
                </p>
              </div>
            </li>
          ))}
      </ul>
    </Card>
  );
}

function Pools({ node }: { node: NodeReport }) {
  const warm = Object.entries(node.warm);
  return (
    <Card title="Pools" padded>
      <dl className="facts">
        {warm.map(([template, count]) => (
          <div key={template} className="pair">
            <dt>Warm {template}</dt>
            <dd>{plural(count, "clone")} ready</dd>
          </div>
        ))}
        {warm.length === 0 && (
          <>
            <dt>Warm clones</dt>
            <dd>none</dd>
          </>
        )}
        <dt>Network slots</dt>
        <dd>
          {node.slots.held} in use, {node.slots.spare} ready, {node.slots.most} at most
        </dd>
      </dl>
    </Card>
  );
}
