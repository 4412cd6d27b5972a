import "./fleet.css";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useMemo, useState } from "react";
import { useFleet, useSources, useTemplates } from "../app/queries";
import type { Sandbox } from "../api/types";
import { Button, EmptyState, ErrorState, Icon, PageHead, Segments, Skeleton } from "../ui";
import { plural } from "../ui/format";
import { CreateDialog } from "./CreateDialog";
import { RecentlyKilled } from "./RecentlyKilled";
import { SandboxCard } from "./SandboxCard";
import { count, GROUPS, select, SORTS, type FleetSearch, type Group, type Sort } from "./search";
import { useMoves } from "./useMoves";

const route = getRouteApi("/shell/");
const GROUP_LABELS: Record<Group, string> = { all: "All", awake: "Awake", asleep: "Asleep", moving: "Moving" };
const SORT_LABELS: Record<Sort, string> = {
  activity: "Awake first",
  name: "Name",
  newest: "Newest",
  oldest: "Oldest",
  cpu: "CPU",
  memory: "Memory",
};

export function FleetPage() {
  const fleet = useFleet();
  const templates = useTemplates();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const look = useDeferredValue(search);
  const entries = fleet.data?.sandboxes;
  const shown = useMemo(() => (entries ? select(entries, look) : []), [entries, look]);
  const sourceOf = useSources((entries ?? []).map(({ sandbox }) => sandbox.template));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const moves = useMoves(() => setSelected(new Set()));
  const set = (change: Partial<FleetSearch>) =>
    void navigate({ search: (before: FleetSearch) => ({ ...before, ...change }), replace: true });
  const onSelect = useCallback((id: string, isSelected: boolean) => {
    setSelected((before) => {
      const after = new Set(before);
      if (isSelected) after.add(id);
      else after.delete(id);
      return after;
    });
  }, []);

  if (fleet.isError && !fleet.data)
    return <ErrorState error={fleet.error} title="The fleet could not be loaded" retry={() => void fleet.refetch()} />;
  const counts = count(entries ?? []);
  const chosen = shown.filter((entry) => selected.has(entry.sandbox.id)).map((entry) => entry.sandbox);
  const names = [
    ...new Set([
      ...(templates.data ?? []).map((template) => template.name),
      ...(entries ?? []).map(({ sandbox }) => sandbox.template),
    ]),
  ];
  const isFiltered = Boolean(search.q || search.state || search.template);
  return (
    <div className="page fleet">
      <PageHead
        title="Fleet"
        actions={
          <Button look="primary" icon="plus" onClick={() => set({ create: true })}>
            New sandbox
          </Button>
        }
      >
        {entries ? `${plural(counts.awake, "sandbox", "sandboxes")} awake, ${counts.asleep} asleep` : "…"}
      </PageHead>
      <div className="filters" role="search">
        <div className="search-box">
          <Icon name="search" />
          <input
            type="search"
            className="input"
            placeholder="Search name, id, metadata"
            aria-label="Search sandboxes"
            aria-keyshortcuts="/"
            value={search.q ?? ""}
            onChange={(event) => set({ q: event.target.value || undefined })}
          />
          <kbd aria-hidden="true">/</kbd>
        </div>
        <Segments
          label="State"
          value={search.state ?? "all"}
          options={GROUPS.filter((group) => group !== "moving" || counts.moving > 0 || search.state === "moving").map(
            (group) => ({
              value: group,
              label: (
                <>
                  {GROUP_LABELS[group]} <span className="faint number">{counts[group]}</span>
                </>
              ),
            }),
          )}
          onChange={(state) => set({ state: state === "all" ? undefined : state })}
        />
        <select
          className="select"
          aria-label="Template"
          value={search.template ?? ""}
          onChange={(event) => set({ template: event.target.value || undefined })}
        >
          <option value="">All templates</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {sourceOf(name)}
            </option>
          ))}
        </select>
        <select
          className="select"
          aria-label="Order"
          value={search.sort ?? "activity"}
          onChange={(event) =>
            set({ sort: event.target.value === "activity" ? undefined : (event.target.value as Exclude<Sort, "activity">) })
          }
        >
          {SORTS.map((sort) => (
            <option key={sort} value={sort}>
              {SORT_LABELS[sort]}
            </option>
          ))}
        </select>
      </div>
      {!entries ? (
        <Skeletons />
      ) : shown.length > 0 ? (
        <ul className="cards" aria-label="Sandboxes">
          {shown.map((entry) => (
            <SandboxCard
              key={entry.sandbox.id}
              entry={entry}
              source={sourceOf(entry.sandbox.template)}
              selected={selected.has(entry.sandbox.id)}
              onSelect={onSelect}
              actions={moves.actions}
            />
          ))}
        </ul>
      ) : isFiltered ? (
        <EmptyState
          icon="search"
          title="Nothing matches"
          action={<Button onClick={() => set({ q: undefined, state: undefined, template: undefined })}>Show all</Button>}
        >
          <p>No sandbox fits this search. {plural(counts.all, "is", "are")} hidden by it.</p>
        </EmptyState>
      ) : (
        <EmptyState
          icon="fleet"
          title="No sandboxes yet"
          action={
            <Button look="primary" icon="plus" onClick={() => set({ create: true })}>
              New sandbox
            </Button>
          }
        >
          <p>
            A sandbox is a whole Linux machine for one agent. It runs for as long as you like, and sleeps with its memory when
            nothing happens.
          </p>
          <pre>roost create --name demo</pre>
        </EmptyState>
      )}
      {chosen.length > 0 && (
        <BulkBar
          chosen={chosen}
          shown={shown.length}
          moves={moves}
          all={() => setSelected(new Set(shown.map((entry) => entry.sandbox.id)))}
          none={() => setSelected(new Set())}
        />
      )}
      {entries && <RecentlyKilled />}
      {moves.dialog}
      {search.create && <CreateDialog from={search.from} onClose={() => set({ create: undefined, from: undefined })} />}
    </div>
  );
}

function BulkBar({
  chosen,
  shown,
  moves,
  all,
  none,
}: {
  chosen: Sandbox[];
  shown: number;
  moves: ReturnType<typeof useMoves>;
  all: () => void;
  none: () => void;
}) {
  const [busy, setBusy] = useState<"pause" | "resume" | null>(null);
  const awake = chosen.filter((sandbox) => sandbox.state === "running");
  const asleep = chosen.filter((sandbox) => sandbox.state === "paused");
  const run = async (what: "pause" | "resume", sandboxes: Sandbox[]) => {
    setBusy(what);
    await moves[what](sandboxes);
    setBusy(null);
    none();
  };
  return (
    <div className="bulk" role="toolbar" aria-label="Selected sandboxes">
      <span className="number" role="status">
        {chosen.length} selected
      </span>
      {chosen.length < shown && (
        <Button small look="ghost" onClick={all}>
          All {shown}
        </Button>
      )}
      <span className="grow" />
      <Button small icon="moon" busy={busy === "pause"} disabled={awake.length === 0} onClick={() => void run("pause", awake)}>
        Sleep
      </Button>
      <Button small icon="sun" busy={busy === "resume"} disabled={asleep.length === 0} onClick={() => void run("resume", asleep)}>
        Wake
      </Button>
      <Button small icon="trash" onClick={() => moves.kill(chosen)}>
        Kill…
      </Button>
      <Button small look="ghost" onClick={none}>
        Clear
      </Button>
    </div>
  );
}

function Skeletons() {
  return (
    <div className="cards" role="status" aria-label="Loading the fleet">
      {Array.from({ length: 8 }, (_, index) => (
        <div key={index} className="sandbox-card">
          <div className="preview" />
          <div className="card-body">
            <Skeleton width="60%" />
            <Skeleton width="80%" />
            <Skeleton height="3em" />
          </div>
        </div>
      ))}
    </div>
  );
}
