/** Settings as people write them, and back. */

import type { Network, Policy, UpdateBody } from "../../api/types";
import { duration, parseDuration } from "../../ui/format";

/** "2 h" for 7200; nothing for never. */
export const timeText = (seconds: number | null | undefined): string => {
  if (seconds === null || seconds === undefined) return "";
  const text = duration(seconds, 2);
  return parseDuration(text) === seconds ? text : `${seconds} s`;
};

export type Read<T> = { value: T } | { problem: string };

export function readTime(text: string): Read<number | null> {
  if (text.trim() === "") return { value: null };
  const seconds = parseDuration(text);
  return seconds === null || seconds <= 0
    ? { problem: "A time like 90s, 15m, 2h or 1d, or nothing for never." }
    : { value: seconds };
}

export const pairsText = (pairs: Readonly<Record<string, string>>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

/** One `name=value` a line. */
export function readPairs(text: string): Read<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const cut = line.indexOf("=");
    const name = line.slice(0, cut).trim();
    if (cut === -1 || name === "") return { problem: `"${line.trim()}" is no pair: write name=value, one a line.` };
    if (Object.hasOwn(pairs, name)) return { problem: `${name} is there twice.` };
    pairs[name] = line.slice(cut + 1).trim();
  }
  return { value: pairs };
}

/** Words between lines, commas or spaces. */
export const readList = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

/** Only what changed, so that two who change different things do not undo each other. */
export function policyChange(before: Policy, after: Policy): UpdateBody {
  const change: Record<string, unknown> = {};
  for (const name of Object.keys(after) as (keyof Policy)[]) if (before[name] !== after[name]) change[name] = after[name];
  return change;
}

export function networkChange(before: Network, after: Network): Partial<Network> {
  const change: Partial<Network> = {};
  if (before.internet !== after.internet) change.internet = after.internet;
  if (before.public !== after.public) change.public = after.public;
  if (before.allow.join() !== after.allow.join()) change.allow = after.allow;
  if (before.deny.join() !== after.deny.join()) change.deny = after.deny;
  return change;
}
