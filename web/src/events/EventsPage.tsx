import "./events.css";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { eventKindValues } from "../api/schema";
import type { Event } from "../api/types";
import { useFleet, useNames, useSources } from "../app/queries";
import { Button, EmptyState, ErrorState, Icon, Loading, PageHead, RelativeTime } from "../ui";
import { clock } from "../ui/format";
import { useEvents } from "./useEvents";
import { mentions, namesIn, wordsOf } from "./words";

const NONE: Event[] = [];
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

export default function EventsPage() {
  const [text, setText] = useState("");
  const [kind, setKind] = useState("");
  const [sandbox, setSandbox] = useState("");
  const living = useNames();
  const fleet = useFleet();
  const filter = useMemo(() => ({ ...(sandbox && { sandbox }), ...(kind && { kind: [kind] }) }), [kind, sandbox]);
  const events = useEvents(filter);
  const all = events.events ?? NONE;
  const born = useMemo(() => namesIn(all), [all]);
  const nameOf = (id: string) => (living(id) === id ? (born.get(id) ?? id) : living(id));
  const sourceOf = useSources(all.map((event) => String(event.facts.template ?? "")));
  const words = text.trim();
  const shown = all.filter((event) => words === "" || mentions(event, words, event.sandbox ? nameOf(event.sandbox) : ""));
  return (
    <div className="page">
      <PageHead title="Events">What happened, to which sandbox, and why. New ones appear as they happen.</PageHead>
      <div className="filters" role="search">
        <div className="search-box">
          <Icon name="search" />
          <input
            type="search"
            className="input"
            placeholder="Search"
            aria-label="Search events"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <kbd aria-hidden="true">/</kbd>
        </div>
        <select className="select" aria-label="Kind" value={kind} onChange={(event) => setKind(event.target.value)}>
          <option value="">All kinds</option>
          {eventKindValues.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <select className="select" aria-label="Sandbox" value={sandbox} onChange={(event) => setSandbox(event.target.value)}>
          <option value="">All sandboxes</option>
          {fleet.data?.sandboxes.map((entry) => (
            <option key={entry.sandbox.id} value={entry.sandbox.id}>
              {entry.sandbox.name ?? entry.sandbox.id}
            </option>
          ))}
        </select>
      </div>
      {events.isError ? (
        <ErrorState error={events.error} retry={() => void events.refetch()} />
      ) : !events.events ? (
        <Loading lines={8} />
      ) : shown.length === 0 ? (
        <EmptyState icon="events" title={words || kind || sandbox ? "Nothing matches" : "Nothing has happened yet"}>
          <p>
            {words
              ? "None of the events loaded so far holds this."
              : "Sandboxes that are made, sleep, wake or die are told here."}
          </p>
        </EmptyState>
      ) : (
        <div className="card">
          <EventList events={shown.map((event) => withSource(event, sourceOf))} nameOf={nameOf} />
        </div>
      )}
      {events.hasNextPage && (
        <div className="row">
          <Button busy={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
            Load older events
          </Button>
        </div>
      )}
    </div>
  );
}

/** A sandbox made from a snapshot says so by the snapshot's name, not by its id. */
const withSource = (event: Event, sourceOf: (template: string) => string): Event =>
  typeof event.facts.template === "string"
    ? { ...event, facts: { ...event.facts, template: sourceOf(event.facts.template) } }
    : event;

function EventList({ events, nameOf }: { events: readonly Event[]; nameOf: (id: string) => string }) {
  const days = new Map<string, Event[]>();
  for (const event of events) {
    const day = DAY.format(new Date(event.at));
    const list = days.get(day);
    if (list) list.push(event);
    else days.set(day, [event]);
  }
  return (
    <div className="event-days">
      {[...days].map(([day, list]) => (
        <section key={day} aria-label={day}>
          <h2 className="event-day">{day}</h2>
          <ul>
            {list.map((event) => (
              <EventRow key={event.sequence} event={event} nameOf={nameOf} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function EventRow({ event, nameOf }: { event: Event; nameOf: (id: string) => string }) {
  const [open, setOpen] = useState(false);
  const { icon, tone, sentence } = wordsOf(event);
  const facts = Object.entries(event.facts).filter(([, value]) => value !== null && value !== "");
  return (
    <li className="event">
      <span className={`event-icon badge ${tone}`}>
        <Icon name={icon} size={14} />
      </span>
      <div className="grow">
        <p className="event-text">
          {event.sandbox && (
            <Link to="/app/sandboxes/$id" params={{ id: event.sandbox }}>
              {nameOf(event.sandbox)}
            </Link>
          )}{" "}
          {sentence}
        </p>
        {open && (
          <dl className="facts small event-facts">
            <dt>kind</dt>
            <dd className="mono">{event.kind}</dd>
            <dt>sequence</dt>
            <dd className="mono">{event.sequence}</dd>
            {facts.map(([name, value]) => (
              <div key={name} className="pair">
                <dt>{name}</dt>
                <dd className="mono">{String(value)}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
      <span className="faint small number nowrap event-time" title={clock(event.at)}>
        <RelativeTime at={event.at} />
      </span>
      <Button
        small
        look="ghost"
        aria-expanded={open}
        aria-label={`Details of event ${event.sequence}`}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? "close" : "more"} size={14} />
      </Button>
    </li>
  );
}
