import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { listLinks, revokeLink } from "../../api/calls";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import type { Link, Sandbox } from "../../api/types";
import { Badge, IconButton, Loading, notifyError, Notice, RelativeTime } from "../../ui";

interface LinksProps {
  sandbox: Sandbox;
  /** The port that they open; null: the screen. */
  port: number | null;
  /** Of this tab: cannot be revoked from here. */
  own?: string | null;
}

/** The links to one thing that work now, each with a way to end it. */
export function Links({ sandbox, port, own = null }: LinksProps) {
  const client = useQueryClient();
  const found = useQuery({
    queryKey: keys.links(sandbox.id),
    queryFn: async ({ signal }) => (await listLinks(sandbox.id, signal)).links,
    staleTime: 0,
  });
  const revoke = useMutation({
    mutationFn: (id: string) => revokeLink(sandbox.id, id),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.links(sandbox.id) }),
    onError: notifyError,
  });
  if (found.isPending) return <Loading lines={2} label="Loading links" />;
  if (found.isError) return <Notice tone="error">{messageOf(found.error)}</Notice>;
  const links = found.data.filter((link) => link.port === port);
  if (links.length === 0) return null;
  return (
    <div className="stack tight">
      <h3>Links that work now</h3>
      <ul className="links">
        {links.map((link) => (
          <li key={link.id} className="row">
            <span className="grow truncate">
              {link.label || "no name"}
              {link.id === own && <span className="faint"> (this tab)</span>}
            </span>
            <Mode of={link} />
            <span className="small muted nowrap">
              ends <RelativeTime at={link.expires_at} />
            </span>
            <IconButton
              icon="trash"
              small
              label={`Revoke the link of ${link.label || "no name"}`}
              disabled={link.id === own}
              onClick={() => revoke.mutate(link.id)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Mode({ of: { mode } }: { of: Link }) {
  if (mode === null) return null;
  return <Badge tone={mode === "control" ? "amber" : "plain"}>{mode === "control" ? "may drive" : "watches"}</Badge>;
}
