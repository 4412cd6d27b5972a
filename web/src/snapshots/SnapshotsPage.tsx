import "./snapshots.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import * as calls from "../api/calls";
import { keys } from "../api/keys";
import type { Snapshot } from "../api/types";
import { useNames, useSources } from "../app/queries";
import {
  Badge,
  Button,
  Confirm,
  copy,
  EmptyState,
  ErrorState,
  Icon,
  Loading,
  Menu,
  notify,
  PageHead,
  RelativeTime,
  Segments,
  type Tone,
} from "../ui";
import { bytes, plural } from "../ui/format";
import { lineage, narrow, totalBytes, type Branch } from "./lineage";

const PURPOSES: Record<string, { label: string; tone: Tone }> = {
  sleep: { label: "Sleep", tone: "indigo" },
  kept: { label: "Kept", tone: "green" },
  fork: { label: "Fork", tone: "blue" },
  template: { label: "Template", tone: "amber" },
  trash: { label: "Undelete", tone: "plain" },
};
type Show = "all" | "kept" | "sleep";

export default function SnapshotsPage() {
  const snapshots = useQuery({ queryKey: keys.snapshots, queryFn: ({ signal }) => calls.allSnapshots(signal) });
  const [show, setShow] = useState<Show>("all");
  const [text, setText] = useState("");
  const [doomed, setDoomed] = useState<Snapshot | null>(null);
  const client = useQueryClient();
  const nameOf = useNames();
  const all = snapshots.data;
  const sourceOf = useSources((all ?? []).map(({ template }) => template));
  const rows = useMemo(() => lineage(all ?? []), [all]);
  const words = text.trim().toLowerCase();
  const shown = narrow(rows, (snapshot) => {
    const said = [
      snapshot.name,
      snapshot.id,
      snapshot.sandbox,
      snapshot.sandbox && nameOf(snapshot.sandbox),
      snapshot.template,
      sourceOf(snapshot.template),
    ]
      .join("\n")
      .toLowerCase();
    return (show === "all" || snapshot.purpose === show) && said.includes(words);
  });
  return (
    <div className="page">
      <PageHead title="Snapshots">
        {all
          ? `${plural(all.length, "moment")} kept, ${bytes(totalBytes(all))} of memory images. Disks are shared between them.`
          : "Moments of sandboxes, kept: disk and memory."}
      </PageHead>
      {snapshots.isError ? (
        <ErrorState error={snapshots.error} retry={() => void snapshots.refetch()} />
      ) : !all ? (
        <Loading />
      ) : (
        <>
          <div className="filters" role="search">
            <div className="search-box">
              <Icon name="search" />
              <input
                type="search"
                className="input"
                placeholder="Search name, sandbox, template"
                aria-label="Search snapshots"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
              <kbd aria-hidden="true">/</kbd>
            </div>
            <Segments
              label="Which"
              value={show}
              options={[
                { value: "all", label: "All" },
                { value: "kept", label: "Kept" },
                { value: "sleep", label: "Sleeping" },
              ]}
              onChange={setShow}
            />
          </div>
          {shown.length === 0 ? (
            <EmptyState icon="snapshot" title={all.length === 0 ? "No snapshots yet" : "Nothing matches"}>
              <p>
                {all.length === 0
                  ? "A snapshot keeps a moment of a sandbox while it runs on: go back to it, or make any number of new sandboxes from it."
                  : "No snapshot fits this search."}
              </p>
              {all.length === 0 && <pre>roost snapshot my-agent --name before-upgrade</pre>}
            </EmptyState>
          ) : (
            <div className="card">
              <ul className="lineage" aria-label="Snapshots by lineage">
                {shown.map((row) => (
                  <Row key={row.snapshot.id} row={row} nameOf={nameOf} sourceOf={sourceOf} onDelete={setDoomed} />
                ))}
              </ul>
            </div>
          )}
        </>
      )}
      {doomed && (
        <Confirm
          title={`Delete ${doomed.name ?? "this snapshot"}?`}
          verb="Delete"
          onClose={() => setDoomed(null)}
          onConfirm={async () => {
            await calls.deleteSnapshot(doomed.id);
            await client.invalidateQueries({ queryKey: keys.snapshots });
            notify(`Deleted ${doomed.name ?? doomed.id}.`);
          }}
        >
          <p>
            This moment
            {doomed.sandbox ? (
              <>
                {" "}
                of <strong>{nameOf(doomed.sandbox)}</strong>
              </>
            ) : null}{" "}
            is gone for good: nobody can go back to it, or make sandboxes from it. This cannot be undone.
          </p>
          <p className="muted">Sandboxes that were made from it, and other snapshots, do not need it and stay.</p>
        </Confirm>
      )}
    </div>
  );
}

const titleOf = (snapshot: Snapshot, nameOf: (id: string) => string): string =>
  snapshot.name ?? (snapshot.sandbox ? nameOf(snapshot.sandbox) : snapshot.template);

function Row({
  row,
  nameOf,
  sourceOf,
  onDelete,
}: {
  row: Branch;
  nameOf: (id: string) => string;
  sourceOf: (template: string) => string;
  onDelete: (snapshot: Snapshot) => void;
}) {
  const { snapshot, depth } = row;
  const navigate = useNavigate();
  const purpose = PURPOSES[snapshot.purpose] ?? { label: snapshot.purpose, tone: "plain" as const };
  const title = titleOf(snapshot, nameOf);
  return (
    <li className="branch" style={{ "--depth": Math.min(depth, 8) } as React.CSSProperties}>
      <span className={`twig ${depth > 0 ? "child" : ""}`} aria-hidden="true" />
      <div className="grow">
        <p className="row wrap">
          {snapshot.name || !snapshot.sandbox ? (
            <strong className="truncate">{title}</strong>
          ) : (
            <Link className="name truncate" to="/app/sandboxes/$id" params={{ id: snapshot.sandbox }}>
              {title}
            </Link>
          )}
          <Badge tone={purpose.tone}>{purpose.label}</Badge>
          {depth > 0 && <span className="visually-hidden">level {depth + 1}</span>}
        </p>
        <p className="muted small">
          {snapshot.name && snapshot.sandbox && (
            <>
              <Link to="/app/sandboxes/$id" params={{ id: snapshot.sandbox }}>
                {nameOf(snapshot.sandbox)}
              </Link>
              {" · "}
            </>
          )}
          {sourceOf(snapshot.template)}
          {" · "}
          <RelativeTime at={snapshot.created_at} />
          <span className="mono faint snapshot-id"> · {snapshot.id}</span>
        </p>
      </div>
      <span className="muted small number nowrap size">
        {snapshot.kind === "disk" ? "disk only" : bytes(snapshot.memory_bytes)}
      </span>
      <Button
        small
        icon="plus"
        className="make"
        onClick={() =>
          void navigate({
            to: "/",
            search: { create: true, from: snapshot.purpose === "template" ? snapshot.template : snapshot.id },
          })
        }
      >
        Create from
      </Button>
      <Menu
        label={`Actions for ${title}`}
        small
        entries={[
          {
            label: "Create from it",
            icon: "plus",
            onSelect: () => void navigate({ to: "/", search: { create: true, from: snapshot.id } }),
          },
          { label: "Copy id", icon: "copy", onSelect: () => void copy(snapshot.id) },
          "separator",
          {
            label: "Delete…",
            icon: "trash",
            danger: true,
            disabled: snapshot.purpose === "template",
            onSelect: () => onDelete(snapshot),
          },
        ]}
      />
    </li>
  );
}
