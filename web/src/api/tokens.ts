// Access tokens of sandboxes. No record has them: one is asked for when it is first needed, and again when it is refused, since it
// may have been rotated. They live in this page's memory alone.
import { request } from "./request";
import type { Entered } from "./types";

const known = new Map<string, Promise<string>>();

export const enter = (ref: string): Promise<Entered> =>
  request<Entered>("POST", `/v1/sandboxes/${encodeURIComponent(ref)}/token`);

export function accessToken(sandbox: string): Promise<string> {
  const kept = known.get(sandbox);
  if (kept) return kept;
  const asked = enter(sandbox).then((entered) => entered.access_token);
  known.set(sandbox, asked);
  asked.catch(() => known.delete(sandbox));
  return asked;
}

/** It was refused: the next one who needs it asks anew. */
export const forgetToken = (sandbox: string): void => void known.delete(sandbox);

/** Whoever signs in next may be somebody else. */
export const forgetTokens = (): void => known.clear();
