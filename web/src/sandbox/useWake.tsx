import { useMutation, useQueryClient } from "@tanstack/react-query";
import { resumeSandbox } from "../api/calls";
import { keys } from "../api/keys";
import type { Sandbox } from "../api/types";
import { format, notify, notifyError } from "../ui";

/** Wakes a sandbox and says so when memory was lost on the way. */
export function useWake({ id }: Pick<Sandbox, "id">) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (cold: boolean | void) => resumeSandbox(id, cold === true),
    onSuccess: (woken) => {
      client.setQueryData(keys.sandbox(id), (known: Sandbox | undefined) => known && { ...known, ...woken });
      if (woken.cold) notify(`It booted from its disk; ${woken.lost.length > 0 ? format.plural(woken.lost.length, "program") : "what"} that ran in memory is gone.`);
    },
    onError: notifyError,
  });
}
