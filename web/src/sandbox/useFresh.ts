import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { onLive } from "../live/stream";

/** Asks anew whenever the live stream says that the sandbox's figures or its record changed: what is busy is looked at often, what is
 * still is left alone. */
export function useFresh(sandbox: string, queryKey: readonly unknown[]): void {
  const client = useQueryClient();
  const name = JSON.stringify(queryKey);
  useEffect(
    () =>
      onLive((message) => {
        const concerns =
          message.type === "pulse" ? sandbox in message.figures : message.type === "sandbox" && message.sandbox.id === sandbox;
        if (concerns && !document.hidden) void client.invalidateQueries({ queryKey: JSON.parse(name) as unknown[] });
      }),
    [client, sandbox, name],
  );
}
