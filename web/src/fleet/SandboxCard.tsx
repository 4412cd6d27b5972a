import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { memo, useRef, type MouseEvent } from "react";
import * as calls from "../api/calls";
import { keys } from "../api/keys";
import type { Activity, FleetEntry, Sandbox } from "../api/types";
import { Badge, Icon, Menu, Sparkline, useNow, type MenuEntry } from "../ui";
import { bytes, duration, moment, share } from "../ui/format";
import { Preview } from "./Preview";
import { useIsNear } from "./useIsNear";
import type { Actions } from "./useMoves";
import { STATES, statusLine, titleOf } from "./words";

interface CardProps {
  entry: FleetEntry;
  /** What it was made from, as people call it. */
  source: string;
  selected: boolean;
  onSelect: (id: string, selected: boolean) => void;
  actions: Actions;
}

const NONE: number[] = [];

/** Of cards far from the screen only what can be read and searched is made: two hundred cost little then. */
export const SandboxCard = memo(function SandboxCard({ entry, source, selected, onSelect, actions }: CardProps) {
  const { sandbox } = entry;
  const place = useRef<HTMLLIElement>(null);
  const isNear = useIsNear(place);
  const title = titleOf(sandbox);
  const state = STATES[sandbox.state];
  return (
    <li ref={place} className={`sandbox-card ${selected ? "selected" : ""}`}>
      {isNear ? <Preview sandbox={sandbox} /> : <div className="preview" />}
      <div className="card-body">
        <div className="card-title">
          <CardLink sandbox={sandbox} title={title} />
          <Badge tone={state.tone} dot moving={state.moving}>
            {state.label}
          </Badge>
        </div>
        <p className="card-line truncate">
          <span className="truncate">{source}</span>
          {isNear && (
            <>
              <span aria-hidden="true">·</span>
              <Age at={sandbox.created_at} />
            </>
          )}
          {sandbox.driver && (
            <Badge tone="blue">
              <Icon name="hand" size={11} /> {sandbox.driver.who}
            </Badge>
          )}
        </p>
        {isNear ? <Details entry={entry} /> : <div className="card-details" />}
      </div>
      <label className="pick">
        <input
          type="checkbox"
          className="box"
          checked={selected}
          onChange={(event) => onSelect(sandbox.id, event.target.checked)}
        />
        <span className="visually-hidden">Select {title}</span>
      </label>
      {isNear && (
        <div className="card-menu">
          <Menu label={`Actions for ${title}`} small entries={entriesOf(sandbox, actions)} />
        </div>
      )}
    </li>
  );
});

function Details({ entry: { sandbox, activity, cpu, memory } }: { entry: FleetEntry }) {
  const isAsleep = sandbox.state === "paused";
  return (
    <div className="card-details">
      <StatusLine sandbox={sandbox} known={activity} />
      <div className="figures">
        <Figure label="CPU" values={isAsleep ? NONE : cpu} top={0.2} text={share} tone="cpu" />
        <Figure label="Memory" values={isAsleep ? NONE : memory} top={128 * 1024 * 1024} text={bytes} tone="memory" />
      </div>
    </div>
  );
}

/** A plain link: the router's own follows every change of the address, two hundred times over. */
function CardLink({ sandbox, title }: { sandbox: Sandbox; title: string }) {
  const router = useRouter();
  const tab = sandbox.has_desktop ? "screen" : "terminal";
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to: "/app/sandboxes/$id/$tab", params: { id: sandbox.id, tab } });
  };
  return (
    <a href={`/app/sandboxes/${sandbox.id}/${tab}`} className="name truncate" title={title} onClick={follow}>
      {title}
    </a>
  );
}

function entriesOf(sandbox: Sandbox, actions: Actions): MenuEntry[] {
  const isAsleep = sandbox.state === "paused";
  return [
    isAsleep
      ? { label: "Wake", icon: "sun", onSelect: () => void actions.resume([sandbox]) }
      : {
          label: "Put to sleep",
          icon: "moon",
          disabled: sandbox.state !== "running",
          onSelect: () => void actions.pause([sandbox]),
        },
    "separator",
    {
      label: "Kill…",
      icon: "trash",
      danger: true,
      disabled: sandbox.state === "killing",
      onSelect: () => actions.kill([sandbox]),
    },
  ];
}

function Age({ at }: { at: string }) {
  const now = useNow(20);
  return (
    <time className="nowrap" dateTime={at} title={`Created ${moment(at)}`}>
      {duration((now - Date.parse(at)) / 1000, 1)} old
    </time>
  );
}

/** Asked anew when the live stream says that something of this sandbox changed, and when its time has come. */
function StatusLine({ sandbox, known }: { sandbox: Sandbox; known: Activity }) {
  const isAwake = sandbox.state === "running" || sandbox.state === "snapshotting";
  const { data = known } = useQuery({
    queryKey: keys.activity(sandbox.id),
    queryFn: ({ signal }) => calls.getActivity(sandbox.id, signal),
    initialData: known,
    enabled: isAwake,
  });
  const soon = data.sleeps_at !== null && isAwake;
  const text = statusLine(sandbox, isAwake ? data : known, useNow(soon ? 1 : 20));
  return (
    <p className="card-line status truncate" title={text}>
      {text}
    </p>
  );
}

function Figure({
  label,
  values,
  top,
  text,
  tone,
}: {
  label: string;
  values: number[];
  top: number;
  text: (value: number) => string;
  tone: string;
}) {
  const last = values.at(-1);
  const told = last === undefined ? "–" : text(last);
  return (
    <div className={`figure ${tone}`}>
      <span className="what">{label}</span>
      <span className="value number">{told}</span>
      <div className="chart">
        <Sparkline values={values} top={top} label={`${label} lately, now ${told}`} />
      </div>
    </div>
  );
}
