import type { CreateBody, Sandbox } from "../../api/types";

/** What a sandbox that begins at a snapshot of another takes over: how it sleeps, and what it may reach. */
export function heirOf(sandbox: Sandbox, snapshot: string): CreateBody {
  const { timeout_s: _, ...policy } = sandbox.policy; // A deadline was meant for the one that it was set for.
  return {
    template: snapshot,
    metadata: sandbox.metadata,
    ...policy,
    ...(sandbox.network && { network: networkOf(sandbox.network) }),
  };
}

/** A proxy cannot be taken over, since nobody is shown its password. Then it reaches nothing, rather than everything without it.
 *  Nor can rules: nobody is shown the values of their headers. */
function networkOf({ proxy, ...network }: NonNullable<Sandbox["network"]>): CreateBody["network"] {
  return { ...network, rules: {}, internet: network.internet && proxy === null };
}
