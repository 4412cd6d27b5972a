import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useSession } from "../../app/queries";
import { createLink, revokeLink } from "../../api/calls";
import { keys } from "../../api/keys";
import type { Sandbox, ScreenLink } from "../../api/types";

const LINK_S = 8 * 3600;
/** One that ends so soon is not worth beginning with. */
const SPARE_MS = 10 * 60_000;

const place = (sandbox: string): string => `roost.screen.${sandbox}`;

function kept(sandbox: string): ScreenLink | null {
  try {
    const link = JSON.parse(sessionStorage.getItem(place(sandbox)) ?? "null") as ScreenLink | null;
    return link && Date.parse(link.expires_at) - Date.now() > SPARE_MS ? link : null;
  } catch {
    return null;
  }
}

/** How long a link outlives the screen it was made for: as long as a driver may be away. */
const LEAVES_MS = 10_000;
const leaving = new Map<string, ReturnType<typeof setTimeout>>();

function leave(sandbox: string): void {
  const link = kept(sandbox);
  sessionStorage.removeItem(place(sandbox));
  // One that cannot be revoked now ends by itself.
  if (link) revokeLink(sandbox, link.id).catch(() => undefined);
}

/**
 * This browser tab's own way to the screen: a link to watch by and, once the key was given again, one that drives in its place. It
 * is kept over reloads, so that somebody who drives and reloads still drives, and revoked soon after the screen was left.
 */
export function useLink(sandbox: Sandbox, enabled: boolean) {
  const client = useQueryClient();
  const label = useSession().data?.key.name;
  const queryKey = ["screen-link", sandbox.id];
  const make = async (mode: ScreenLink["mode"], key?: string): Promise<ScreenLink> => {
    const fresh = await createLink(sandbox.id, { mode, seconds: LINK_S, label: label ?? "Mission Control" }, key);
    sessionStorage.setItem(place(sandbox.id), JSON.stringify(fresh));
    void client.invalidateQueries({ queryKey: keys.links(sandbox.id) });
    return fresh;
  };
  const found = useQuery({
    queryKey,
    queryFn: (): Promise<ScreenLink> | ScreenLink => kept(sandbox.id) ?? make("view"),
    enabled: enabled && label !== undefined,
    gcTime: 0,
  });
  useEffect(() => {
    clearTimeout(leaving.get(sandbox.id));
    return () =>
      void leaving.set(
        sandbox.id,
        setTimeout(() => leave(sandbox.id), LEAVES_MS),
      );
  }, [sandbox.id]);
  const renew = (): void => {
    sessionStorage.removeItem(place(sandbox.id));
    void client.resetQueries({ queryKey });
  };
  const makeDriving = async (key: string): Promise<ScreenLink> => {
    const watching = kept(sandbox.id);
    const fresh = await make("control", key);
    client.setQueryData(queryKey, fresh);
    if (watching) revokeLink(sandbox.id, watching.id).catch(() => undefined);
    return fresh;
  };
  return { link: found.data, error: found.error, renew, makeDriving };
}
