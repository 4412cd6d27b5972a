// Keys that work anywhere but in fields: `/` to search, `g` and a letter to go somewhere, `?` for the list.
import { useEffect, useEffectEvent } from "react";

export const PLACES = [
  { key: "f", to: "/", label: "Fleet", icon: "fleet" },
  { key: "i", to: "/app/inbox", label: "Inbox", icon: "inbox" },
  { key: "t", to: "/app/templates", label: "Templates", icon: "template" },
  { key: "s", to: "/app/snapshots", label: "Snapshots", icon: "snapshot" },
  { key: "e", to: "/app/events", label: "Events", icon: "events" },
  { key: "n", to: "/app/node", label: "Node", icon: "node" },
  { key: "k", to: "/app/keys", label: "Keys", icon: "key" },
] as const;

const SECOND_KEY_MS = 1_200;

export type Command = { go: string } | "help" | "search" | "create";

/** What a key means, given whether `g` came just before. Null: nothing. */
export function commandOf(key: string, afterG: boolean): Command | null {
  if (afterG) {
    const place = PLACES.find((each) => each.key === key);
    return place ? { go: place.to } : null;
  }
  if (key === "?") return "help";
  if (key === "/") return "search";
  if (key === "c") return "create";
  return null;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest("input, textarea, select, [data-keys='own'], dialog[open]") !== null);

export function useShortcuts(run: (command: Command) => void): void {
  const carryOut = useEffectEvent(run);
  useEffect(() => {
    let gAt = -Infinity;
    const hear = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const afterG = event.timeStamp - gAt < SECOND_KEY_MS;
      gAt = event.key === "g" && !afterG ? event.timeStamp : -Infinity;
      const command = commandOf(event.key, afterG);
      if (!command) return;
      event.preventDefault();
      carryOut(command);
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  }, []);
}
