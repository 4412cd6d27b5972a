// One clock for every relative time on the page: it ticks once a second while somebody looks, whoever reads it.
import { useCallback, useSyncExternalStore } from "react";

const watchers = new Map<() => void, number>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (document.hidden) return;
  const before = Math.floor(now / 1000);
  now = Date.now();
  const second = Math.floor(now / 1000);
  for (const [tell, every] of watchers) if (Math.floor(before / every) !== Math.floor(second / every)) tell();
}

function watch(tell: () => void, every: number): () => void {
  watchers.set(tell, every);
  if (timer === undefined) {
    now = Date.now();
    timer = setInterval(tick, 1000);
  }
  return () => {
    watchers.delete(tell);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time in milliseconds, told anew every `every` seconds. */
export function useNow(every = 1): number {
  const subscribe = useCallback((tell: () => void) => watch(tell, every), [every]);
  return useSyncExternalStore(subscribe, () => Math.floor(now / (every * 1000))) * every * 1000;
}
