// An event as one sentence.
import { AGENT_PORT } from "../api/agent";
import type { Event } from "../api/types";
import type { IconName, Tone } from "../ui";
import { duration } from "../ui/format";

type Facts = Record<string, unknown>;
const text = (facts: Facts, name: string): string =>
  facts[name] === null || facts[name] === undefined ? "" : String(facts[name]);

/** The server's short words for why, as a person would put them. */
const WHY: Record<string, string> = { api: "by hand or by API", idle: "nothing happened in it", traffic: "a request came" };

const REQUEST = /^([A-Z]+ \S+) on port (\d+)$/;

export function whyIn(facts: Readonly<Facts>): string | null {
  const why = text(facts, "why");
  const [, request, port] = REQUEST.exec(why) ?? [];
  if (request)
    return Number(port) === AGENT_PORT ? `a request to its agent, ${request}` : `a request to port ${port}, ${request}`;
  return why ? (WHY[why] ?? why) : null;
}

function because(facts: Facts): string {
  const why = whyIn(facts) ?? text(facts, "reason");
  return why ? `: ${why}` : "";
}

interface Word {
  icon: IconName;
  tone: Tone;
  say: (facts: Facts) => string;
}

export const EVENT_WORDS: Record<string, Word> = {
  "sandbox.created": {
    icon: "plus",
    tone: "green",
    say: (facts) => `was created${text(facts, "template") ? ` from ${text(facts, "template")}` : ""}`,
  },
  "sandbox.paused": { icon: "moon", tone: "indigo", say: (facts) => `fell asleep${because(facts)}` },
  "sandbox.woke": { icon: "sun", tone: "green", say: (facts) => `woke${because(facts)}` },
  "sandbox.snapshotted": {
    icon: "camera",
    tone: "blue",
    say: (facts) => `was kept in the snapshot ${text(facts, "name") || text(facts, "snapshot")}`,
  },
  "sandbox.forked": { icon: "fork", tone: "blue", say: () => "was forked" },
  "sandbox.updated": { icon: "settings", tone: "plain", say: () => "was changed" },
  "sandbox.tokens_rotated": { icon: "key", tone: "amber", say: (facts) => `got new tokens${because(facts)}` },
  "sandbox.rewound": {
    icon: "undo",
    tone: "amber",
    say: (facts) => `lost its process and went back to its last snapshot${because(facts)}`,
  },
  "sandbox.rolled_back": {
    icon: "undo",
    tone: "amber",
    say: (facts) => `was rolled back to ${text(facts, "name") || text(facts, "snapshot") || "a snapshot"}`,
  },
  "sandbox.undeleted": { icon: "undo", tone: "green", say: () => "was brought back" },
  "sandbox.died": { icon: "trash", tone: "red", say: (facts) => `died${because(facts)}` },
  "sandbox.failed": {
    icon: "warning",
    tone: "red",
    say: (facts) =>
      `could not ${text(facts, "action") || "do that"}${text(facts, "message") ? `: ${text(facts, "message")}` : because(facts)}`,
  },
  "snapshot.deleted": {
    icon: "trash",
    tone: "plain",
    say: (facts) => `snapshot ${text(facts, "name") || text(facts, "snapshot")} was deleted`,
  },
  "template.built": {
    icon: "template",
    tone: "blue",
    say: (facts) => `template ${text(facts, "template") || text(facts, "name")} was built`,
  },
  "template.failed": {
    icon: "warning",
    tone: "red",
    say: (facts) =>
      `template ${text(facts, "template")} could not be made and is tried again${text(facts, "message") ? `: ${text(facts, "message")}` : ""}`,
  },
  "driver.took": { icon: "hand", tone: "blue", say: (facts) => `${text(facts, "who") || "somebody"} took over the screen` },
  "driver.gave": {
    icon: "hand",
    tone: "plain",
    say: (facts) =>
      `${text(facts, "who") || "somebody"} gave the screen back${text(facts, "why") ? ` (${text(facts, "why")})` : ""}${typeof facts.seconds === "number" ? ` after ${duration(facts.seconds)}` : ""}`,
  },
  "question.asked": {
    icon: "inbox",
    tone: "blue",
    say: (facts) => `asked${text(facts, "text") ? `: ${text(facts, "text")}` : " a question"}`,
  },
  "question.answered": {
    icon: "check",
    tone: "green",
    say: (facts) =>
      `was answered${text(facts, "choice") ? `: ${text(facts, "choice")}` : ""}${text(facts, "by") ? ` by ${text(facts, "by")}` : ""}`,
  },
  "question.expired": { icon: "clock", tone: "plain", say: () => "had a question that nobody answered in time" },
  "question.withdrawn": { icon: "close", tone: "plain", say: () => "took its question back" },
};

const UNKNOWN: Word = { icon: "events", tone: "plain", say: () => "" };

/** Kinds that this page is too old to know are shown by their own name. */
export function wordsOf(event: Event): { icon: IconName; tone: Tone; sentence: string } {
  const word = EVENT_WORDS[event.kind] ?? UNKNOWN;
  return { icon: word.icon, tone: word.tone, sentence: word.say(event.facts) || event.kind };
}

/** Names of sandboxes that only their own events still know: the dead are not in the fleet. */
export function namesIn(events: readonly Event[]): Map<string, string> {
  const born = events.filter(
    (event) => event.kind === "sandbox.created" && event.sandbox !== null && typeof event.facts.name === "string",
  );
  return new Map(born.map((event) => [event.sandbox as string, event.facts.name as string]));
}

/** Every word must be somewhere in the event. */
export function mentions(event: Event, search: string, name: string): boolean {
  const all =
    `${event.kind}\n${name}\n${event.sandbox ?? ""}\n${wordsOf(event).sentence}\n${JSON.stringify(event.facts)}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
