import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { forkSandbox, killSandbox, snapshotSandbox, undeleteSandbox } from "../api/calls";
import { messageOf } from "../api/errors";
import { keys } from "../api/keys";
import type { ForkAnswer, Sandbox } from "../api/types";
import { Button, Confirm, Dialog, Field, format, notify, notifyError, Notice } from "../ui";
import { isAsleep } from "./state";
import { titleOf } from "../fleet/words";

interface Asked {
  sandbox: Sandbox;
  onClose: () => void;
}

export function SnapshotDialog({ sandbox, onClose }: Asked) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [memory, setMemory] = useState(true);
  const make = useMutation({
    mutationFn: () => snapshotSandbox(sandbox.id, name.trim() || null, memory),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: keys.snapshots });
      notify(`Snapshot ${made.name ?? made.id} is made.`);
      onClose();
    },
  });
  return (
    <Dialog
      title={`Snapshot ${titleOf(sandbox)}`}
      onClose={onClose}
      onSubmit={() => make.mutate()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" icon="camera" busy={make.isPending}>
            Make snapshot
          </Button>
        </>
      }
    >
      <p className="muted">
        Keeps this moment: you can roll back to it, or make new sandboxes of it. The sandbox stands still for less than a second
        or so, then goes on.
      </p>
      <Field label="Name" hint="Optional. A name finds it again more easily than its id.">
        {(ids) => (
          <input
            {...ids}
            className="input"
            value={name}
            maxLength={63}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <label className="check">
        <input type="checkbox" checked={memory} onChange={(event) => setMemory(event.target.checked)} />
        <span>
          With memory <span className="muted">(running programs and open windows; without, only files)</span>
        </span>
      </label>
      {make.error && <Notice tone="error">{messageOf(make.error)}</Notice>}
    </Dialog>
  );
}

export function ForkDialog({ sandbox, onClose }: Asked) {
  const navigate = useNavigate();
  const [count, setCount] = useState("1");
  const [name, setName] = useState("");
  const [partly, setPartly] = useState<ForkAnswer | null>(null);
  const whole = /^\d+$/.test(count) ? Number(count) : 0;
  const problem = whole < 1 ? "A whole number from 1 on." : null;
  const fork = useMutation({
    mutationFn: () => forkSandbox(sandbox.id, whole, namesOf(name.trim(), whole)),
    onSuccess: (answer) => {
      const [first] = answer.sandboxes;
      if (answer.errors.length > 0) return setPartly(answer);
      onClose();
      if (answer.sandboxes.length === 1 && first) {
        notify(`Forked into ${titleOf(first)}.`, {
          action: { label: "Open", run: () => void navigate({ to: "/app/sandboxes/$id", params: { id: first.id } }) },
        });
      } else
        notify(`Forked into ${format.plural(answer.sandboxes.length, "sandbox", "sandboxes")}.`, {
          action: { label: "Fleet", run: () => void navigate({ to: "/" }) },
        });
    },
  });
  return (
    <Dialog
      title={`Fork ${titleOf(sandbox)}`}
      onClose={onClose}
      onSubmit={() => problem === null && fork.mutate()}
      actions={
        partly ? (
          <Button onClick={onClose}>Close</Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="primary" icon="fork" busy={fork.isPending} disabled={problem !== null}>
              Fork
            </Button>
          </>
        )
      }
    >
      <p className="muted">
        {isAsleep(sandbox)
          ? "New sandboxes begin where this one fell asleep, with its memory and files. This one sleeps on."
          : "New sandboxes go on from this very moment, with its memory, files and open windows. This one is not changed."}
      </p>
      <div className="row fork-fields">
        <Field label="How many" problem={problem}>
          {(ids) => (
            <input
              {...ids}
              className="input number"
              inputMode="numeric"
              value={count}
              onChange={(event) => setCount(event.target.value)}
            />
          )}
        </Field>
        <Field
          label={whole > 1 ? "Names begin with" : "Name"}
          hint={whole > 1 && name ? `${name}-1 to ${name}-${whole}` : "Optional."}
        >
          {(ids) => (
            <input
              {...ids}
              className="input"
              value={name}
              maxLength={60}
              autoComplete="off"
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      </div>
      {fork.error && <Notice tone="error">{messageOf(fork.error)}</Notice>}
      {partly && (
        <Notice tone="warning">
          <p>
            {format.plural(partly.sandboxes.length, "sandbox was", "sandboxes were")} made; {partly.errors.length} could not be:{" "}
            {partly.errors[0]?.message}
          </p>
          <ul>
            {partly.sandboxes.map((child) => (
              <li key={child.id}>
                <Link to="/app/sandboxes/$id" params={{ id: child.id }}>
                  {titleOf(child)}
                </Link>
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </Dialog>
  );
}

const namesOf = (name: string, count: number): string[] | null =>
  name === "" ? null : count === 1 ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);

export function KillDialog({ sandbox, onClose }: Asked) {
  const navigate = useNavigate();
  const undo = async (): Promise<void> => {
    try {
      const fresh = await undeleteSandbox(sandbox.id);
      notify(`${titleOf(fresh)} is back.`);
      await navigate({ to: "/app/sandboxes/$id", params: { id: fresh.id } });
    } catch (error) {
      notifyError(error);
    }
  };
  const kill = async (): Promise<void> => {
    await killSandbox(sandbox.id);
    notify(`${titleOf(sandbox)} was killed.`, { action: { label: "Undo", run: () => void undo() } });
  };
  return (
    <Confirm title={`Kill ${titleOf(sandbox)}?`} verb="Kill" onConfirm={kill} onClose={onClose}>
      {isAsleep(sandbox) ? (
        <p>
          It ends while it sleeps. <strong>Its files and its memory are kept for a while</strong> (24 hours, unless the server is
          set otherwise): until then you can bring it back as it is.
        </p>
      ) : (
        <>
          <p>
            Everything that runs in it ends at once, and <strong>what is in memory is lost</strong>: unsaved text, open windows,
            running programs, connections.
          </p>
          <p>
            Its files are kept for a while (24 hours, unless the server is set otherwise): until then you can bring it back, with
            a fresh boot. To keep the memory too, pause it first.
          </p>
        </>
      )}
      <p className="muted">Its own snapshots stay until you delete them.</p>
    </Confirm>
  );
}
