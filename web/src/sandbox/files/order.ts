import type { Entry } from "../agent/files";

export type Column = "name" | "size" | "modified";
export interface Order {
  column: Column;
  descending: boolean;
}

const names = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

const COMPARE: Record<Column, (a: Entry, b: Entry) => number> = {
  name: (a, b) => names.compare(a.name, b.name),
  size: (a, b) => a.size - b.size,
  modified: (a, b) => Date.parse(a.modifiedAt) - Date.parse(b.modifiedAt),
};

/** Folders first, then as asked; what is equal, by name. */
export function sorted(entries: readonly Entry[], { column, descending }: Order): Entry[] {
  const sign = descending ? -1 : 1;
  return [...entries].sort(
    (a, b) =>
      Number(b.kind === "directory") - Number(a.kind === "directory") ||
      sign * COMPARE[column](a, b) ||
      names.compare(a.name, b.name),
  );
}

export const matching = (entries: readonly Entry[], hidden: boolean): Entry[] =>
  entries.filter(({ name }) => hidden || !name.startsWith("."));
