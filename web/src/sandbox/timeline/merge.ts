/** Events, commands and questions of one sandbox on one clock. */

import type { Event, Question } from "../../api/types";
import { whyIn } from "../../events/words";
import { duration } from "../../ui/format";
import type { CommandRow } from "../agent/status";

export const CATEGORIES = ["life", "snapshots", "commands", "people", "changes", "errors"] as const;
export type Category = (typeof CATEGORIES)[number];
export type Tone = "neutral" | "good" | "warn" | "bad";
export type Glyph =
  | "born"
  | "moon"
  | "sun"
  | "camera"
  | "fork"
  | "back"
  | "dead"
  | "error"
  | "pen"
  | "terminal"
  | "person"
  | "question"
  | "trash"
  | "dot";

export interface Item {
  id: string;
  at: number;
  category: Category;
  glyph: Glyph;
  tone: Tone;
  title: string;
  detail: string | null;
  /** Where it can be rolled back to or forked from. */
  snapshot: string | null;
}

export interface Day {
  label: string;
  items: Item[];
}

type Facts = Readonly<Record<string, unknown>>;
type Words = Pick<Item, "category" | "glyph" | "tone" | "title" | "detail">;

const text = (facts: Facts, name: string): string | null => {
  const value = facts[name];
  return typeof value === "string" && value !== "" ? value : null;
};

const sentence = (...parts: (string | null | false | undefined)[]): string | null => parts.filter(Boolean).join(" · ") || null;

const VERBS: Readonly<Record<string, string>> = {
  change: "Changed",
  "be changed": "Changed",
  "be held": "Held awake",
  "be released": "Let go",
  "be extended": "Extended",
};

const seconds = (value: unknown): string | null => (typeof value === "number" ? howLong(value * 1000) : null);

/** Every kind of event in words. One that is not known here is still shown, by its name. */
export function wordsOf({ kind, facts }: Pick<Event, "kind" | "facts">): Words {
  const why = whyIn(facts);
  switch (kind) {
    case "sandbox.created":
      return {
        category: "life",
        glyph: "born",
        tone: "good",
        title: "Created",
        detail: sentence(
          `from ${text(facts, "template") ?? "a snapshot"}`,
          text(facts, "parent") && `forked from ${text(facts, "parent")}`,
        ),
      };
    case "sandbox.paused":
      return {
        category: "life",
        glyph: "moon",
        tone: "neutral",
        title: "Fell asleep",
        detail: sentence(why, facts.memory === false && "disk only"),
      };
    case "sandbox.woke":
      return {
        category: "life",
        glyph: "sun",
        tone: "good",
        title: "Woke",
        detail: sentence(why, facts.cold === true && "booted from its disk"),
      };
    case "sandbox.rewound":
      return {
        category: "errors",
        glyph: "back",
        tone: "warn",
        title: "Rewound",
        detail: sentence(text(facts, "reason"), facts.cold === true && "booted from its disk"),
      };
    case "sandbox.rolled_back":
      return {
        category: "life",
        glyph: "back",
        tone: "warn",
        title: "Rolled back",
        detail: sentence(
          text(facts, "name") ?? text(facts, "snapshot"),
          text(facts, "left_name") && `the moment before is kept as ${text(facts, "left_name")}`,
        ),
      };
    case "sandbox.undeleted":
      return {
        category: "life",
        glyph: "born",
        tone: "good",
        title: "Brought back",
        detail: sentence(
          text(facts, "from") && `from ${text(facts, "from")}`,
          facts.memory === true ? "with its memory" : "from its disk",
        ),
      };
    case "sandbox.died":
      return { category: "life", glyph: "dead", tone: "bad", title: "Ended", detail: text(facts, "reason") };
    case "sandbox.failed":
      return {
        category: "errors",
        glyph: "error",
        tone: "bad",
        title: `${capital(text(facts, "action") ?? "A move")} failed`,
        detail: text(facts, "reason"),
      };
    case "sandbox.snapshotted":
      return {
        category: "snapshots",
        glyph: "camera",
        tone: "neutral",
        title: "Snapshot",
        detail: sentence(
          text(facts, "name") ?? text(facts, "snapshot"),
          facts.memory === false && "disk only",
          seconds(facts.frozen_s) && `stood still for ${seconds(facts.frozen_s)}`,
        ),
      };
    case "sandbox.forked":
      return {
        category: "snapshots",
        glyph: "fork",
        tone: "neutral",
        title: facts.count === 1 ? "Forked" : `Forked into ${String(facts.count ?? "several")}`,
        detail: text(facts, "children"),
      };
    case "snapshot.deleted":
      return {
        category: "snapshots",
        glyph: "trash",
        tone: "neutral",
        title: "Snapshot deleted",
        detail: text(facts, "name") ?? text(facts, "snapshot"),
      };
    case "sandbox.updated":
      return {
        category: "changes",
        glyph: "pen",
        tone: "neutral",
        title: VERBS[text(facts, "verb") ?? "change"] ?? capital(text(facts, "verb") ?? ""),
        detail: text(facts, "fields"),
      };
    case "driver.took":
      return {
        category: "people",
        glyph: "person",
        tone: "warn",
        title: `${text(facts, "who") ?? "Somebody"} took over`,
        detail: null,
      };
    case "driver.gave":
      return {
        category: "people",
        glyph: "person",
        tone: "neutral",
        title: `${text(facts, "who") ?? "Somebody"} handed back`,
        detail: sentence(
          text(facts, "why") !== "handed back" && text(facts, "why"),
          seconds(facts.seconds) && `after ${seconds(facts.seconds)}`,
        ),
      };
    default:
      return {
        category: "changes",
        glyph: "dot",
        tone: "neutral",
        title: capital(kind.replace(/^[a-z]+\./, "").replaceAll("_", " ")),
        detail: sentence(...Object.entries(facts).map(([name, value]) => (value === null ? null : `${name}: ${String(value)}`))),
      };
  }
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function eventItem(event: Event, left: ReadonlyMap<string, string>): Item | null {
  // The questions' own records say more than the events about them.
  if (event.kind.startsWith("question.")) return null;
  const words = wordsOf(event);
  const rolls = event.kind === "sandbox.snapshotted" || event.kind === "sandbox.paused";
  const snapshot = rolls ? text(event.facts, "snapshot") : null;
  const name = snapshot && left.get(snapshot);
  return {
    id: `event-${event.sequence}`,
    at: Date.parse(event.at),
    ...words,
    detail: name ? sentence(words.detail, `kept as ${name}`) : words.detail,
    snapshot,
  };
}

/** The moments that were left when it was rolled back, with the names they are kept under: they were sleeps before. */
function leftBehind(events: readonly Event[]): Map<string, string> {
  return new Map(
    events.flatMap(({ kind, facts }) => {
      const [left, name] = [text(facts, "left"), text(facts, "left_name")];
      return kind === "sandbox.rolled_back" && left && name ? [[left, name] as const] : [];
    }),
  );
}

function commandItem(command: CommandRow): Item {
  const failed = command.exit_code !== null && command.exit_code !== 0;
  const ended =
    command.ended_at === null
      ? "still runs"
      : `${failed ? `exit ${command.exit_code}` : "done"} after ${howLong(Date.parse(command.ended_at) - Date.parse(command.started_at))}`;
  return {
    id: `command-${command.pid}-${command.started_at}`,
    at: Date.parse(command.started_at),
    category: "commands",
    glyph: "terminal",
    tone: failed ? "bad" : "neutral",
    title: command.command,
    detail: sentence(command.user, command.pty && "terminal", ended),
    snapshot: null,
  };
}

/** 360 → "360 ms", 2400 → "2.4 s", 65000 → "1 min 5 s". */
function howLong(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  return Math.round(ms / 1000) < 60 ? `${(ms / 1000).toFixed(1)} s` : duration(ms / 1000);
}

const ID = /\b[is][a-z0-9]{20}\b/g;

/** The ids of sandboxes and snapshots in a text, as people call them. */
export const called = (words: string, nameOf: (id: string) => string): string => words.replace(ID, nameOf);

function questionItems(question: Question): Item[] {
  const common = { category: "people", glyph: "question", snapshot: null } as const;
  const asked: Item = {
    ...common,
    id: `asked-${question.id}`,
    at: Date.parse(question.created_at),
    tone: "warn",
    title: question.kind === "approval" ? "Asked for approval" : "Asked a question",
    detail: question.text,
  };
  if (question.answer) {
    const said = sentence(question.answer.choice, question.answer.text);
    return [
      asked,
      {
        ...common,
        id: `answered-${question.id}`,
        at: Date.parse(question.answer.at),
        tone: "good",
        title: `${question.answer.by} answered`,
        detail: said,
      },
    ];
  }
  if (question.state === "expired") {
    return [
      asked,
      {
        ...common,
        id: `expired-${question.id}`,
        at: Date.parse(question.expires_at),
        tone: "neutral",
        title: "Nobody answered in time",
        detail: question.text,
      },
    ];
  }
  return [asked];
}

/** Newest first. */
export function mergeTimeline(events: readonly Event[], commands: readonly CommandRow[], questions: readonly Question[]): Item[] {
  const left = leftBehind(events);
  const items = [
    ...events.map((event) => eventItem(event, left)).filter((item) => item !== null),
    ...commands.map(commandItem),
    ...questions.flatMap(questionItems),
  ];
  return items.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
}

const dayKey = (at: number): string => new Date(at).toDateString();

export function groupByDay(items: readonly Item[], now: number): Day[] {
  const days: Day[] = [];
  let key = "";
  for (const item of items) {
    if (dayKey(item.at) !== key) {
      key = dayKey(item.at);
      days.push({ label: dayLabel(item.at, now), items: [] });
    }
    days[days.length - 1]!.items.push(item);
  }
  return days;
}

export function dayLabel(at: number, now: number): string {
  if (dayKey(at) === dayKey(now)) return "Today";
  const yesterday = new Date(now);
  yesterday.setDate(yesterday.getDate() - 1);
  if (dayKey(at) === yesterday.toDateString()) return "Yesterday";
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return new Date(at).toLocaleDateString(undefined, {
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(sameYear ? {} : { year: "numeric" }),
  });
}
