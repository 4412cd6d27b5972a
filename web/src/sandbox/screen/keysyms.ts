/** X's numbers for what a phone's keyboard writes. */

const NAMED: Readonly<Record<string, number>> = { "\n": 0xff0d, "\r": 0xff0d, "\t": 0xff09, "\b": 0xff08 };

export const BACKSPACE = 0xff08;

export function keysymOf(character: string): number {
  const named = NAMED[character];
  if (named !== undefined) return named;
  const point = character.codePointAt(0) ?? 0;
  // Latin-1 has its own numbers; all else is Unicode behind a prefix.
  return (point >= 0x20 && point <= 0x7e) || (point >= 0xa0 && point <= 0xff) ? point : 0x01000000 + point;
}

export interface Typed {
  erased: number;
  added: string[];
}

/** What happened between two states of a text field, as keys at its end: erase so many, add these. */
export function typed(before: string, after: string): Typed {
  const [old, fresh] = [[...before], [...after]];
  let same = 0;
  while (same < old.length && same < fresh.length && old[same] === fresh[same]) same++;
  return { erased: old.length - same, added: fresh.slice(same) };
}
