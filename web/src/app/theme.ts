import { useSyncExternalStore } from "react";
import { THEME } from "./preferences";

export type Theme = "system" | "light" | "dark";

const watchers = new Set<() => void>();
const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => watchers.forEach((watcher) => watcher()));

const chosen = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? "system";

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(THEME);
    else localStorage.setItem(THEME, theme);
  } catch {
    // No storage here: it holds until the page is left.
  }
  watchers.forEach((watcher) => watcher());
}

const subscribe = (watcher: () => void) => {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
};

export const useTheme = (): Theme => useSyncExternalStore(subscribe, chosen);

/** What is really shown: for canvases that cannot follow CSS. */
export const useIsDark = (): boolean =>
  useSyncExternalStore(subscribe, () => (chosen() === "system" ? dark.matches : chosen() === "dark"));
