import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { keys } from "../api/keys";
import type { Fleet } from "../api/types";
import { follow, type LiveStatus } from "./stream";

const HIDDEN_MS = 60_000;

/**
 * Keeps the page up to date while it is looked at. A page in the background lets go of its stream after a minute:
 * browsers open only six connections to one server, for all tabs together.
 */
export function useLive(ready: boolean): LiveStatus {
  const client = useQueryClient();
  const [status, setStatus] = useState<LiveStatus>("connecting");
  const watched = useWatched();
  useEffect(() => {
    if (!ready || !watched) return;
    const stop = new AbortController();
    const cursor = client.getQueryData<Fleet>(keys.fleet)?.cursor ?? 0;
    void follow(client, cursor, stop.signal, setStatus);
    return () => {
      stop.abort();
      // Whoever comes back finds what changed meanwhile.
      void client.invalidateQueries({ refetchType: "none" });
    };
  }, [client, ready, watched]);
  return status;
}

/** False once the page has been hidden for a minute. */
function useWatched(): boolean {
  return useSyncExternalStore(subscribe, () => isWatched);
}

let isWatched = true;
function subscribe(tell: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    const set = (value: boolean) => {
      if (isWatched === value) return;
      isWatched = value;
      tell();
    };
    if (document.hidden) timer = setTimeout(() => set(false), HIDDEN_MS);
    else set(true);
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}
