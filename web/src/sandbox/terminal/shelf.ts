/** The terminals of one sandbox that this page has open, and which of them is in front. */

import type { Door } from "../agent/door";
import { newName, type Named } from "./names";
import { TerminalSession, type Look } from "./session";

export interface Open extends Named {
  session: TerminalSession;
}

export interface Shown {
  open: readonly Open[];
  active: string | null;
}

export class Shelf {
  shown: Shown;
  readonly #watchers = new Set<() => void>();
  #holders = 0;

  constructor(
    private readonly door: Door,
    private readonly memory: string,
    private look: Look,
    found: readonly Named[],
  ) {
    const open = found.map((name) => ({ ...name, session: new TerminalSession(door, name.tag, false, look) }));
    const remembered = sessionStorage.getItem(memory);
    this.shown = { open, active: (open.find(({ tag }) => tag === remembered) ?? open[0])?.tag ?? null };
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  /** Until all who hold it have let go. A page that is only shown anew takes hold again at once. */
  hold(): () => void {
    this.#holders++;
    return () => {
      this.#holders--;
      setTimeout(() => {
        if (this.#holders === 0) for (const { session } of this.shown.open) session.dispose();
      });
    };
  }

  add(): void {
    const random = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => (byte % 36).toString(36)).join("");
    const name = newName(this.shown.open, random);
    const session = new TerminalSession(this.door, name.tag, true, this.look);
    this.#set({ open: [...this.shown.open, { ...name, session }], active: name.tag });
  }

  show(tag: string): void {
    this.#set({ ...this.shown, active: tag });
  }

  drop(tag: string): void {
    this.shown.open.find((each) => each.tag === tag)?.session.dispose();
    const open = this.shown.open.filter((each) => each.tag !== tag);
    this.#set({ open, active: this.shown.active === tag ? (open.at(-1)?.tag ?? null) : this.shown.active });
  }

  restyle(look: Look): void {
    this.look = look;
    for (const { session } of this.shown.open) session.restyle(look);
  }

  #set(shown: Shown): void {
    this.shown = shown;
    if (shown.active !== null) sessionStorage.setItem(this.memory, shown.active);
    for (const watcher of this.#watchers) watcher();
  }
}
