import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Sandbox } from "../api/types";
import { isPassing } from "./agent/door";
import { historyChanges } from "./agent/status";
import { isAwake } from "./state";

const TRIES = 5;

/** Asks anew when a program in the sandbox started, ended or printed: its agent says so, quietly. With `laterMs` once more after that,
 * for what a program does a moment after it started. */
export function useChanges(sandbox: Sandbox, queryKey: readonly unknown[], laterMs?: number): void {
  const client = useQueryClient();
  const name = JSON.stringify(queryKey);
  const awake = isAwake(sandbox);
  useEffect(() => {
    if (!awake) return;
    const stop = new AbortController();
    let later: ReturnType<typeof setTimeout> | undefined;
    const refresh = (): void => void client.invalidateQueries({ queryKey: JSON.parse(name) as unknown[] });
    const run = async (): Promise<void> => {
      for (let tries = 0; tries < TRIES && !stop.signal.aborted; tries++) {
        try {
          for await (const _ of historyChanges(sandbox, { quiet: true, signal: stop.signal })) {
            tries = 0;
            refresh();
            clearTimeout(later);
            if (laterMs !== undefined) later = setTimeout(refresh, laterMs);
          }
        } catch (error) {
          // Agents from before this was made do not know it; the live stream still says when figures change.
          if (stop.signal.aborted || !isPassing(error)) return;
        }
        await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
      }
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(later);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- a new incarnation is a new wire; other changes of the record are not
  }, [client, awake, sandbox.id, sandbox.incarnation, name, laterMs]);
}
