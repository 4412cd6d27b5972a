// The moves that cards, bars and pages offer: what they say when they are done, and how they are taken back.
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState, type ReactNode } from "react";
import * as calls from "../api/calls";
import { messageOf } from "../api/errors";
import type { Sandbox } from "../api/types";
import { put } from "../live/stream";
import { Confirm, notify, notifyError } from "../ui";
import { plural } from "../ui/format";
import { titleOf } from "./words";

const AT_ONCE = 8; // moves of one bulk action under way together: the machine is one

/** Does it for each, a few at a time; the answers, and what went wrong. */
export async function forEach<T>(
  items: readonly T[],
  act: (item: T) => Promise<unknown>,
): Promise<{ done: T[]; errors: unknown[] }> {
  const left = [...items];
  const done: T[] = [];
  const errors: unknown[] = [];
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await act(item);
        done.push(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
  return { done, errors };
}

const who = (sandboxes: readonly Sandbox[]): string =>
  sandboxes.length === 1 && sandboxes[0] ? titleOf(sandboxes[0]) : plural(sandboxes.length, "sandbox", "sandboxes");

/** Who is meant, by name; of many the first few. */
export function names(sandboxes: readonly Sandbox[]): string {
  const told = sandboxes.slice(0, sandboxes.length > 6 ? 5 : 6).map(titleOf);
  const rest = sandboxes.length - told.length;
  return rest > 0 ? `${told.join(", ")} and ${rest} more` : told.join(", ");
}

function tell(past: string, done: readonly Sandbox[], errors: readonly unknown[], undo?: () => void): void {
  if (done.length > 0) notify(`${past} ${who(done)}.`, undo && { action: { label: "Undo", run: undo } });
  const [first] = errors;
  if (first !== undefined)
    notify(errors.length === 1 ? messageOf(first) : `${errors.length} failed. The first: ${messageOf(first)}`, { tone: "error" });
}

export interface Actions {
  pause: (sandboxes: readonly Sandbox[]) => Promise<void>;
  resume: (sandboxes: readonly Sandbox[]) => Promise<void>;
  /** Opens a dialog that says what is lost. */
  kill: (sandboxes: readonly Sandbox[]) => void;
}

export interface Moves extends Actions {
  /** The three alone: the same object at every render, so that cards can be left alone. */
  actions: Actions;
  /** Where the dialog is: render it. */
  dialog: ReactNode;
}

export function useMoves(onKilled?: () => void): Moves {
  const client = useQueryClient();
  const [doomed, setDoomed] = useState<readonly Sandbox[] | null>(null);
  const show = (sandbox: Sandbox) => put(client, [{ type: "sandbox", sandbox }]);

  const actions = useMemo((): Actions => {
    const move = async (past: string, sandboxes: readonly Sandbox[], act: (sandbox: Sandbox) => Promise<Sandbox>) => {
      const { done, errors } = await forEach(sandboxes, async (sandbox) =>
        put(client, [{ type: "sandbox", sandbox: await act(sandbox) }]),
      );
      tell(past, done, errors);
    };
    return {
      pause: (sandboxes) => move("Put to sleep:", sandboxes, ({ id }) => calls.pauseSandbox(id)),
      resume: (sandboxes) => move("Woke", sandboxes, ({ id }) => calls.resumeSandbox(id)),
      kill: setDoomed,
    };
  }, [client]);
  const undo = async (sandboxes: readonly Sandbox[]) => {
    const { done, errors } = await forEach(sandboxes, async ({ id }) => show(await calls.undeleteSandbox(id)));
    tell("Brought back", done, errors);
  };
  const killAll = async (sandboxes: readonly Sandbox[]) => {
    const { done, errors } = await forEach(sandboxes, async (sandbox) => {
      await calls.killSandbox(sandbox.id);
      show({ ...sandbox, state: "dead" });
    });
    if (done.length === 0 && errors[0] !== undefined) throw errors[0];
    tell("Killed", done, errors, () => void undo(done).catch(notifyError));
    onKilled?.();
  };
  return {
    ...actions,
    actions,
    dialog: doomed && (
      <Confirm title={`Kill ${who(doomed)}?`} verb="Kill" onConfirm={() => killAll(doomed)} onClose={() => setDoomed(null)}>
        <p>
          {doomed.length > 1 ? <>{names(doomed)}: their</> : "Its"} running programs end at once and what they held in memory is
          lost
          {doomed.some((sandbox) => sandbox.state === "paused") && " (one that sleeps keeps its memory)"}.
        </p>
        <p className="muted">
          {doomed.length > 1 ? "Their disks are" : "The disk is"} kept for 24 hours, unless this server is set otherwise: until
          then you can undo this. Snapshots you took stay for good.
        </p>
      </Confirm>
    ),
  };
}
