import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import { resumeSandbox } from "../api/calls";
import { keys } from "../api/keys";
import type { Resumed, Sandbox } from "../api/types";
import { format, notify, notifyError } from "../ui";

const wakeKey = (id: string): string[] => ["wake", id];

/** Wakes a sandbox and says so when memory was lost on the way. */
export function useWake({ id }: Pick<Sandbox, "id">, onFailed?: () => void) {
  const client = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationKey: wakeKey(id),
    mutationFn: (answer: Promise<Resumed>) => answer,
    onSuccess: (woken) => {
      client.setQueryData(keys.sandbox(id), (known: Sandbox | undefined) => known && { ...known, ...woken });
      if (woken.cold)
        notify(
          `It booted from its disk; ${woken.lost.length > 0 ? format.plural(woken.lost.length, "program") : "what"} that ran in memory is gone.`,
        );
    },
    onError: (error) => {
      notifyError(error);
      onFailed?.();
    },
  });
  // Asked before the page draws what it shows meanwhile.
  return { wake: () => mutate(resumeSandbox(id)), isPending };
}

/** Whether anything on this page is waking it. */
export const useIsWaking = ({ id }: Pick<Sandbox, "id">): boolean => useIsMutating({ mutationKey: wakeKey(id) }) > 0;
