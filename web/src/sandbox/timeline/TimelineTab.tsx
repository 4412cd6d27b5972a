import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { createSandbox, listQuestions, listSnapshots, rollbackSandbox } from "../../api/calls";
import { keys } from "../../api/keys";
import type { Sandbox } from "../../api/types";
import { useNames, useSources } from "../../app/queries";
import { useEvents } from "../../events/useEvents";
import { titleOf } from "../../fleet/words";
import {
  Button,
  Confirm,
  EmptyState,
  ErrorState,
  format,
  Icon,
  Loading,
  Menu,
  notify,
  useNow,
  type IconName,
  type MenuEntry,
} from "../../ui";
import { history } from "../agent/status";
import { SnapshotDialog } from "../dialogs";
import { isAwake, isOver } from "../state";
import { useChanges } from "../useChanges";
import { heirOf } from "./heir";
import { called, CATEGORIES, groupByDay, mergeTimeline, type Category, type Glyph, type Item } from "./merge";

const LABELS: Record<Category, string> = {
  life: "Life",
  snapshots: "Snapshots",
  commands: "Commands",
  people: "People",
  changes: "Changes",
  errors: "Errors",
};

const ICONS: Record<Glyph, IconName> = {
  born: "plus",
  moon: "moon",
  sun: "sun",
  camera: "camera",
  fork: "fork",
  back: "undo",
  dead: "close",
  error: "warning",
  pen: "settings",
  terminal: "terminal",
  person: "hand",
  question: "inbox",
  trash: "trash",
  dot: "info",
};

/** Everything that happened to it and in it, on one clock. */
export function TimelineTab({ sandbox }: { sandbox: Sandbox }) {
  const now = useNow(60);
  const [hidden, setHidden] = useState<ReadonlySet<Category>>(new Set());
  const [asking, setAsking] = useState<"snapshot" | { item: Item; what: "rollback" | "fork" } | null>(null);
  const events = useEvents({ sandbox: sandbox.id });
  const ran = ["history", sandbox.id, sandbox.incarnation];
  useChanges(sandbox, ran);
  const commands = useQuery({
    queryKey: ran,
    queryFn: ({ signal }) => history(sandbox, 200, { quiet: true, signal }),
    enabled: isAwake(sandbox),
    staleTime: 0,
  });
  const questions = useQuery({
    queryKey: keys.questions({ sandbox: sandbox.id }),
    queryFn: async ({ signal }) => (await listQuestions({ sandbox: sandbox.id, limit: 100 }, signal)).questions,
  });
  const kept = useQuery({
    queryKey: ["snapshots", { sandbox: sandbox.id }],
    queryFn: async ({ signal }) => (await listSnapshots({ sandbox: sandbox.id }, signal)).snapshots,
  });
  const sandboxName = useNames();
  const sourceOf = useSources([sandbox.template]);
  const nameOf = (id: string): string =>
    kept.data?.find((snapshot) => snapshot.id === id)?.name ?? (id === sandbox.template ? sourceOf(id) : sandboxName(id));
  const there = useMemo(() => new Set(kept.data?.map(({ id }) => id)), [kept.data]);
  const items = useMemo(
    () => mergeTimeline(events.events ?? [], commands.data ?? [], questions.data ?? []),
    [events.events, commands.data, questions.data],
  );
  const counts = useMemo(() => countBy(items), [items]);
  const days = useMemo(
    () =>
      groupByDay(
        items.filter(({ category }) => !hidden.has(category)),
        now,
      ),
    [items, hidden, now],
  );

  const toggle = (category: Category): void => {
    const next = new Set(hidden);
    if (!next.delete(category)) next.add(category);
    setHidden(next);
  };
  if (events.isPending) return <Loading label="Loading the timeline" />;
  if (events.error) return <ErrorState error={events.error} retry={() => void events.refetch()} />;
  return (
    <div className="timeline">
      <div className="timeline-bar">
        <div className="chips" role="group" aria-label="Show">
          {CATEGORIES.filter((category) => counts[category] > 0).map((category) => (
            <button
              key={category}
              type="button"
              className="chip"
              aria-pressed={!hidden.has(category)}
              onClick={() => toggle(category)}
            >
              {LABELS[category]} <span className="faint number">{counts[category]}</span>
            </button>
          ))}
        </div>
        {!isOver(sandbox) && (
          <Button small icon="camera" disabled={!isAwake(sandbox)} onClick={() => setAsking("snapshot")}>
            Snapshot now
          </Button>
        )}
      </div>
      {days.length === 0 && (
        <EmptyState icon="clock" title="Nothing to show">
          <p>{items.length > 0 ? "Every kind is switched off." : "Nothing has happened yet."}</p>
        </EmptyState>
      )}
      {days.map((day) => (
        <section key={day.label} className="timeline-day">
          <h2>{day.label}</h2>
          <ol>
            {day.items.map((item) => (
              <Row
                key={item.id}
                item={item}
                detail={item.detail && called(item.detail, nameOf)}
                canReturn={!isOver(sandbox) && item.snapshot !== null && there.has(item.snapshot)}
                onAsk={(what) => setAsking({ item, what })}
              />
            ))}
          </ol>
        </section>
      ))}
      {events.hasNextPage && (
        <Button busy={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
          Earlier
        </Button>
      )}
      {!isAwake(sandbox) && !isOver(sandbox) && (
        <p className="small muted">It is asleep: the commands it ran are shown when it is awake.</p>
      )}
      {asking === "snapshot" && <SnapshotDialog sandbox={sandbox} onClose={() => setAsking(null)} />}
      {asking !== null && asking !== "snapshot" && asking.what === "rollback" && (
        <RollBack sandbox={sandbox} item={asking.item} onClose={() => setAsking(null)} />
      )}
      {asking !== null && asking !== "snapshot" && asking.what === "fork" && (
        <ForkFrom sandbox={sandbox} item={asking.item} onClose={() => setAsking(null)} />
      )}
    </div>
  );
}

function countBy(items: readonly Item[]): Record<Category, number> {
  const counts: Record<Category, number> = { life: 0, snapshots: 0, commands: 0, people: 0, changes: 0, errors: 0 };
  for (const { category } of items) counts[category]++;
  return counts;
}

function Row({
  item,
  detail,
  canReturn,
  onAsk,
}: {
  item: Item;
  detail: string | null;
  canReturn: boolean;
  onAsk: (what: "rollback" | "fork") => void;
}) {
  const entries: MenuEntry[] = [
    { label: "Fork from here…", icon: "fork", onSelect: () => onAsk("fork") },
    { label: "Roll back here…", icon: "undo", onSelect: () => onAsk("rollback") },
  ];
  return (
    <li className={`timeline-item ${item.tone}`}>
      <time className="small muted number" dateTime={new Date(item.at).toISOString()} title={format.moment(item.at)}>
        {format.clock(item.at)}
      </time>
      <span className="timeline-glyph">
        <Icon name={ICONS[item.glyph]} size={14} />
      </span>
      <div className="timeline-what">
        <p
          className={item.category === "commands" ? "mono" : "timeline-title"}
          title={item.category === "commands" ? item.title : undefined}
        >
          {item.title}
        </p>
        {detail && <p className="small muted">{detail}</p>}
      </div>
      {canReturn && <Menu label={`Go back to ${item.title} of ${format.clock(item.at)}`} small entries={entries} />}
    </li>
  );
}

interface Return {
  sandbox: Sandbox;
  item: Item;
  onClose: () => void;
}

function RollBack({ sandbox, item, onClose }: Return) {
  const client = useQueryClient();
  const go = async (): Promise<void> => {
    const back = await rollbackSandbox(sandbox.id, item.snapshot ?? "");
    client.setQueryData(keys.sandbox(sandbox.id), back);
    void client.invalidateQueries({ queryKey: ["snapshots"] });
    notify(`${titleOf(sandbox)} is back at ${format.moment(item.at)}.`);
  };
  return (
    <Confirm title="Roll back here?" verb="Roll back" tone="primary" onConfirm={go} onClose={onClose}>
      <p>
        {titleOf(sandbox)} goes back to {format.moment(item.at)}: its files and, if the snapshot has it, its memory. Open
        connections are cut.
      </p>
      <p>
        <strong>Nothing is lost:</strong> the moment you leave is kept as a snapshot named <code>before-rollback-…</code>, with
        its memory. You can roll back to it the same way.
      </p>
    </Confirm>
  );
}

function ForkFrom({ sandbox, item, onClose }: Return) {
  const navigate = useNavigate();
  const make = async (): Promise<void> => {
    const fresh = await createSandbox(heirOf(sandbox, item.snapshot ?? ""));
    notify(`${titleOf(fresh)} begins at ${format.moment(item.at)}.`, {
      action: { label: "Open", run: () => void navigate({ to: "/app/sandboxes/$id", params: { id: fresh.id } }) },
    });
  };
  return (
    <Confirm title="Fork from here?" verb="Fork" tone="primary" onConfirm={make} onClose={onClose}>
      <p>
        A new sandbox begins at {format.moment(item.at)}, with the files and, if the snapshot has it, the memory of that moment.{" "}
        {titleOf(sandbox)} is not changed.
      </p>
      <p className="muted">
        It sleeps as {titleOf(sandbox)} does, and may reach the same
        {sandbox.network?.proxy ? ", but without the internet: its proxy's password is not known here" : ""}.
      </p>
    </Confirm>
  );
}
