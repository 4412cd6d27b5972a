import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { undeleteSandbox } from "../api/calls";
import type { Sandbox } from "../api/types";
import { Button, notify, notifyError, Notice, RelativeTime } from "../ui";
import { titleOf } from "../fleet/words";

/** What is said of a sandbox that ended: why, and whether it can come back. */
export function Over({ sandbox }: { sandbox: Sandbox }) {
  const navigate = useNavigate();
  const bringBack = useMutation({
    mutationFn: () => undeleteSandbox(sandbox.id),
    onSuccess: (fresh) => {
      notify(`${titleOf(fresh)} is back, from the disk that was kept.`);
      return navigate({ to: "/app/sandboxes/$id", params: { id: fresh.id } });
    },
    onError: notifyError,
  });
  return (
    <Notice tone="warning">
      <div className="row wrap between">
        <p>
          {sandbox.state === "killing"
            ? "It is being ended."
            : `It ended${sandbox.reason ? `: ${sandbox.reason.replace(/\.$/, "")}` : ""}.`}{" "}
          {sandbox.undelete_until && (
            <>
              What it held is kept and goes away <RelativeTime at={sandbox.undelete_until} />.
            </>
          )}
        </p>
        {sandbox.undelete_until && (
          <Button icon="undo" busy={bringBack.isPending} onClick={() => bringBack.mutate()}>
            Bring it back
          </Button>
        )}
      </div>
    </Notice>
  );
}
