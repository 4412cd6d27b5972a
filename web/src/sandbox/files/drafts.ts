/** What was typed into files and not saved. It outlives everything but the page itself: another tab, another file, a sandbox that falls asleep. */

import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Entry } from "../agent/files";

/** With the file that it began from. */
export interface Draft extends Pick<Entry, "modifiedAt" | "size"> {
  text: string;
}

export type Drafts = Readonly<Record<string, Draft>>;

const NAME = "drafts";
const NONE: Drafts = {};

export function withDraft(drafts: Drafts, path: string, draft: Draft | null): Drafts {
  const { [path]: _, ...others } = drafts;
  return draft === null ? others : { ...others, [path]: draft };
}

/** After a text was saved, as this file: what was typed meanwhile is still a draft, of the new one. */
export const afterSave = (
  draft: Draft | null,
  saved: string,
  { modifiedAt, size }: Pick<Entry, "modifiedAt" | "size">,
): Draft | null => (draft === null || draft.text === saved ? null : { text: draft.text, modifiedAt, size });

/** Whether a folder holds any, or is the file itself. */
export const isUnsaved = (drafts: Drafts, path: string): boolean =>
  Object.keys(drafts).some((each) => each === path || each.startsWith(`${path}/`));

export const hasUnsaved = (client: QueryClient): boolean =>
  client.getQueriesData<Drafts>({ queryKey: [NAME] }).some(([, drafts]) => Object.keys(drafts ?? NONE).length > 0);

/** By path. */
export const useDrafts = (sandbox: string): Drafts =>
  useQuery({ queryKey: [NAME, sandbox], queryFn: (): Drafts => NONE, enabled: false, initialData: NONE, gcTime: Infinity }).data;

/** The draft of one file; null while it says what is saved. Each is mounted for one file. */
export function useDraft(sandbox: string, file: Entry, saved: string) {
  const client = useQueryClient();
  const known = (): Drafts => client.getQueryData<Drafts>([NAME, sandbox]) ?? NONE;
  // The field shows what it is told at once; the cache tells a moment later, which is too late for the next key.
  const [own, setOwn] = useState(() => known()[file.path] ?? null);
  const draft = own === null || own.text === saved ? null : own;
  const { modifiedAt, size } = draft ?? file;
  const put = (next: Draft | null): void => {
    setOwn(next);
    client.setQueryData([NAME, sandbox], withDraft(known(), file.path, next));
  };
  return {
    draft,
    setDraft: (text: string): void => put(text === saved ? null : { text, modifiedAt, size }),
    discard: (): void => put(null),
    kept: (text: string, as: Entry): void => put(afterSave(known()[file.path] ?? null, text, as)),
  };
}
