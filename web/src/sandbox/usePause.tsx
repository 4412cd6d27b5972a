import { useMutation, useQueryClient } from "@tanstack/react-query";
import { pauseSandbox } from "../api/calls";
import { keys } from "../api/keys";
import type { Sandbox } from "../api/types";
import { notifyError } from "../ui";

/** Puts it to sleep, memory and all. */
export function usePause({ id }: Pick<Sandbox, "id">) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => pauseSandbox(id),
    onSuccess: (asleep) => client.setQueryData(keys.sandbox(id), asleep),
    onError: notifyError,
  });
}
