/** Terminals are found again by their tags: whoever opens the page sees all that run. */

import type { Running } from "../agent/processes";

const TAG = /^terminal-(\d+)-[a-z0-9]+$/;

export interface Named {
  tag: string;
  number: number;
}

export const numberOf = (tag: string | null): number | null => {
  const found = TAG.exec(tag ?? "");
  return found ? Number(found[1]) : null;
};

/** The terminals among what runs, in their order. */
export function terminalsOf(running: readonly Running[]): Named[] {
  const found = running.flatMap(({ tag }) => {
    const number = numberOf(tag);
    return tag !== null && number !== null ? [{ tag, number }] : [];
  });
  return found.sort((a, b) => a.number - b.number);
}

export function newName(taken: readonly Named[], random: string): Named {
  const number = taken.reduce((most, { number }) => Math.max(most, number), 0) + 1;
  return { tag: `terminal-${number}-${random}`, number };
}
