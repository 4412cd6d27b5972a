import { useQueryClient } from "@tanstack/react-query";
import { useSession } from "../../app/queries";
import { createPortLink, listLinks } from "../../api/calls";
import { keys } from "../../api/keys";
import type { PortLink, Sandbox } from "../../api/types";
import { notifyError } from "../../ui";

const LINK_S = 3600;
/** One that ends so soon is not worth beginning with. */
const SPARE_MS = 10 * 60_000;

const place = (sandbox: string, port: number): string => `roost.port.${sandbox}.${port}`;

/** This tab's own link to the port, if it still opens it: somebody may have revoked it. */
async function kept(sandbox: string, port: number): Promise<PortLink | null> {
  const link = JSON.parse(sessionStorage.getItem(place(sandbox, port)) ?? "null") as PortLink | null;
  if (!link || Date.parse(link.expires_at) - Date.now() < SPARE_MS) return null;
  return (await listLinks(sandbox)).links.some(({ id }) => id === link.id) ? link : null;
}

/** Opens a port that is not public, by a link of this person's own that lives for an hour. */
export function useOpenPort(sandbox: Sandbox): (port: number) => void {
  const client = useQueryClient();
  const who = useSession().data?.key.name;
  const linkTo = async (port: number): Promise<PortLink> => {
    const old = await kept(sandbox.id, port);
    if (old) return old;
    const fresh = await createPortLink(sandbox.id, { port, seconds: LINK_S, label: who ?? "Mission Control" });
    sessionStorage.setItem(place(sandbox.id, port), JSON.stringify(fresh));
    void client.invalidateQueries({ queryKey: keys.links(sandbox.id) });
    return fresh;
  };
  return (port) => {
    // At once, while the click counts: browsers let nothing else open a tab.
    const tab = window.open("about:blank", "_blank");
    if (tab) tab.opener = null;
    linkTo(port).then(
      ({ url }) => tab?.location.replace(url),
      (error: unknown) => {
        tab?.close();
        notifyError(error);
      },
    );
  };
}
