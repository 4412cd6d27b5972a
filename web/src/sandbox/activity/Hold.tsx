import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { holdSandbox, releaseSandbox } from "../../api/calls";
import { messageOf } from "../../api/errors";
import { keys } from "../../api/keys";
import type { Sandbox } from "../../api/types";
import { Button, Card, Field, format, Notice, RelativeTime } from "../../ui";

/** Keeps it awake for a while, whatever its policy says. */
export function Hold({ sandbox }: { sandbox: Sandbox }) {
  const client = useQueryClient();
  const [time, setTime] = useState("1h");
  const [reason, setReason] = useState("");
  const seconds = format.parseDuration(time);
  const shown = (fresh: Sandbox): void => {
    client.setQueryData(keys.sandbox(sandbox.id), fresh);
    void client.invalidateQueries({ queryKey: keys.activity(sandbox.id) });
  };
  const hold = useMutation({ mutationFn: () => holdSandbox(sandbox.id, seconds ?? 0, reason.trim()), onSuccess: shown });
  const release = useMutation({ mutationFn: () => releaseSandbox(sandbox.id), onSuccess: shown });
  const failure = hold.error ?? release.error;
  return (
    <Card title="Hold" padded>
      <div className="stack tight">
        {sandbox.hold ? (
          <>
            <p>
              Held awake
              {sandbox.hold.reason && (
                <>
                  : <strong>{sandbox.hold.reason}</strong>
                </>
              )}
              . Ends <RelativeTime at={sandbox.hold.until} />.
            </p>
            <div>
              <Button busy={release.isPending} onClick={() => release.mutate()}>
                Release
              </Button>
            </div>
          </>
        ) : (
          <form
            className="hold-form"
            onSubmit={(event) => (event.preventDefault(), seconds !== null && seconds > 0 && hold.mutate())}
          >
            <Field label="For" problem={seconds === null || seconds <= 0 ? "A time like 30m, 2h or 1d." : null}>
              {(ids) => <input {...ids} className="input" value={time} onChange={(event) => setTime(event.target.value)} />}
            </Field>
            <Field label="Why">
              {(ids) => (
                <input
                  {...ids}
                  className="input"
                  value={reason}
                  maxLength={200}
                  placeholder="a long build"
                  onChange={(event) => setReason(event.target.value)}
                />
              )}
            </Field>
            <Button type="submit" icon="hand" busy={hold.isPending}>
              Hold awake
            </Button>
          </form>
        )}
        {failure && <Notice tone="error">{messageOf(failure)}</Notice>}
      </div>
    </Card>
  );
}
