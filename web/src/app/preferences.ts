/** What people chose in this browser and expect to find again. Everything else that is kept here may go at any time. */
export const THEME = "roost.theme";
export const SCREEN_READER = "roost.terminal.screen-reader";

/** Puts them back after work that clears the storage. */
export async function keepPreferences(work: () => Promise<void>): Promise<void> {
  const chosen = [THEME, SCREEN_READER].map((name) => [name, read(name)] as const);
  await work();
  for (const [name, value] of chosen) if (value !== null) write(name, value);
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // No storage here (a private window).
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // No storage here: it holds until the page is left.
  }
}
