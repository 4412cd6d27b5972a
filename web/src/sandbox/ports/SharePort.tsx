import { portUrl } from "../../api/agent";
import { createPortLink } from "../../api/calls";
import type { Sandbox } from "../../api/types";
import { Copyable, Dialog } from "../../ui";
import { titleOf } from "../../fleet/words";
import { LinkDialog } from "../share/LinkDialog";
import { Links } from "../share/Links";
import { isPublic } from "./isPublic";

/** Gives a port to somebody else: the address where it is public, else a link that ends. */
export function SharePort({ sandbox, port, onClose }: { sandbox: Sandbox; port: number; onClose: () => void }) {
  const title = `Share port ${port} of ${titleOf(sandbox)}`;
  if (isPublic(sandbox)) {
    return (
      <Dialog title={title} onClose={onClose} wide>
        <p className="muted">
          The ports of this sandbox are public: anybody who knows the address can open it, and so wakes the sandbox if its
          settings allow that.
        </p>
        <Copyable text={portUrl(sandbox, port)} label="address" />
        <Links sandbox={sandbox} port={port} />
      </Dialog>
    );
  }
  return (
    <LinkDialog
      sandbox={sandbox}
      title={title}
      says="Whoever has the link can open this port in a browser, without a key, until it expires or you revoke it. It opens no other port. Opening it wakes the sandbox as any traffic does."
      make={(seconds, label) => createPortLink(sandbox.id, { port, seconds, label })}
      onClose={onClose}
    >
      <Links sandbox={sandbox} port={port} />
    </LinkDialog>
  );
}
