/**
 * One terminal: an xterm here, a shell on a pseudo-terminal in the sandbox, and the wire between them.
 *
 * The shell belongs to the sandbox. A page that is closed, reloaded or put aside only lets go of the wire and takes it up again at the
 * byte it had come to. Watching is quiet; typing is activity.
 */

import { FitAddon } from "@xterm/addon-fit";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal, type ITheme } from "@xterm/xterm";
import { ApiError } from "../../api/errors";
import { allowStyleElements } from "../../ui/styleNonce";
import { hasCode, isAbort, isPassing, type Door } from "../agent/door";
import { attach, InputQueue, kill, resize, sendInput, start, Tracker, type Exit, type ProcessEvent } from "../agent/processes";
import { sendStyleAttributesByCssom } from "./styleAttributes";

export type Phase =
  | { kind: "idle" }
  | { kind: "connecting" }
  | { kind: "attached" }
  | { kind: "asleep" }
  | { kind: "ended"; exit: Exit | null }
  | { kind: "failed"; error: unknown };

export interface Look {
  theme: ITheme;
  fontFamily: string;
  fontSize: number;
  screenReader: boolean;
}

/** Milliseconds before each further try to take the wire up again. */
const DELAYS_MS: readonly number[] = [0, 250, 500, 1000, 2000, 2000, 4000, 4000, 8000, 8000, 15000, 15000];

/** Told by a terminal whose user wants to go on to the rest of the page. */
export const LEAVE = "terminal-leave";

/** As many bytes are kept of what is typed before the shell is reached. */
const MOST_EARLY = 4096;

/** Old output that comes again ends when nothing came for so long. */
const REPLAY_PAUSE_MS = 150;

export class TerminalSession {
  phase: Phase = { kind: "idle" };
  title = "";
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #tracker = new Tracker();
  readonly #input: InputQueue;
  readonly #watchers = new Set<() => void>();
  #door: Door;
  #wire: AbortController | null = null;
  #early: Uint8Array[] = [];
  #size = "";
  #wasAskedFor = false;
  #replayEnds: ReturnType<typeof setTimeout> | null = null;

  /** `isNew`: there is no such process yet; it is started with the first wire. */
  constructor(
    door: Door,
    readonly tag: string,
    private isNew: boolean,
    look: Look,
  ) {
    this.#door = door;
    this.#terminal = new Terminal({
      allowProposedApi: false,
      cursorBlink: true,
      minimumContrastRatio: 4.5,
      scrollback: 10_000,
      fontFamily: look.fontFamily,
      fontSize: look.fontSize,
      screenReaderMode: look.screenReader,
      theme: look.theme,
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.loadAddon(new WebLinksAddon((_event, uri) => window.open(uri, "_blank", "noopener,noreferrer")));
    this.#input = new InputQueue(
      (data) => sendInput(this.#door, { tag: this.tag }, data),
      (error) => this.#notice(error instanceof Error ? error.message : String(error)),
    );
    this.#terminal.attachCustomKeyEventHandler((event) => this.#isForTerminal(event));
    const encoder = new TextEncoder();
    this.#terminal.onData((text) => this.#type(encoder.encode(text)));
    this.#terminal.onBinary((text) => this.#type(Uint8Array.from(text, (character) => character.charCodeAt(0))));
    this.#terminal.onResize(() => this.#tellSize());
    this.#terminal.onTitleChange((title) => {
      this.title = title;
      this.#changed();
    });
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  /** Shows it in an element, for good. */
  open(element: HTMLElement): void {
    if (!this.#terminal.element) {
      allowStyleElements();
      sendStyleAttributesByCssom();
      this.#terminal.open(element);
      this.#terminal.textarea?.setAttribute("aria-label", `${element.ariaLabel ?? "Terminal"}. Shift and Escape leave it.`);
    }
    this.fit();
  }

  fit(): void {
    const size = this.#fit.proposeDimensions();
    // An element that is not shown has no size worth telling.
    if (size && size.cols > 1 && size.rows > 1) this.#terminal.resize(size.cols, size.rows);
  }

  focus(): void {
    this.#terminal.focus();
  }

  restyle(look: Look): void {
    this.#terminal.options.theme = look.theme;
    this.#terminal.options.fontSize = look.fontSize;
    this.#terminal.options.screenReaderMode = look.screenReader;
    this.fit();
  }

  /** Takes up the wire, unless it holds it. */
  connect(door: Door): void {
    this.#door = door;
    if (this.#wire || this.phase.kind === "ended") return;
    const wire = new AbortController();
    this.#wire = wire;
    void this.#follow(wire).finally(() => {
      if (this.#wire === wire) this.#wire = null;
    });
  }

  /** Lets go of the wire. The shell goes on. */
  disconnect(): void {
    this.#wire?.abort();
    this.#wire = null;
    if (this.phase.kind !== "ended") this.#set({ kind: "idle" });
  }

  /** Ends the shell and all it started. */
  async end(): Promise<void> {
    this.disconnect();
    if (this.isNew || this.phase.kind === "ended") return;
    await kill(this.#door, { tag: this.tag }).catch((error: unknown) => {
      if (!hasCode(error, "not_found")) throw error;
    });
  }

  dispose(): void {
    this.disconnect();
    this.#watchers.clear();
    this.#terminal.dispose();
  }

  async #follow(wire: AbortController): Promise<void> {
    for (let attempt = 0; ;) {
      this.#set({ kind: "connecting" });
      try {
        for await (const event of this.#events(wire.signal)) {
          attempt = 0;
          this.#take(event);
        }
        return;
      } catch (error) {
        if (wire.signal.aborted || isAbort(error)) return;
        if (this.#isOver(error)) return;
        const delay = isPassing(error) || (this.isNew && !this.#wasAskedFor) ? DELAYS_MS[attempt++] : undefined;
        if (delay === undefined) {
          this.#set({ kind: "failed", error });
          return;
        }
        await waited(delay, wire.signal);
        if (wire.signal.aborted) return;
      }
    }
  }

  #events(signal: AbortSignal): AsyncGenerator<ProcessEvent> {
    // A start whose answer was lost may have happened: look for it before starting another.
    if (!this.isNew || this.#wasAskedFor) {
      if (this.#tracker.next === null) this.#replay();
      return attach(this.#door, { tag: this.tag }, this.#tracker, { quiet: true, signal });
    }
    this.#wasAskedFor = true;
    const size = { cols: this.#terminal.cols, rows: this.#terminal.rows };
    this.#size = `${size.cols}×${size.rows}`;
    const envs = { TERM: "xterm-256color", COLORTERM: "truecolor" };
    return start(this.#door, { command: "/bin/bash", args: ["-i", "-l"], envs, tag: this.tag, size }, this.#tracker, { signal });
  }

  /** Whether an error is an answer: it sleeps, or it is gone. */
  #isOver(error: unknown): boolean {
    if (hasCode(error, "asleep")) {
      this.#set({ kind: "asleep" });
      return true;
    }
    if (hasCode(error, "not_found") && this.isNew) {
      this.#wasAskedFor = false;
      return false;
    }
    if (hasCode(error, "not_found") || (error instanceof ApiError && error.status === 404)) {
      this.#set({ kind: "ended", exit: null });
      return true;
    }
    return false;
  }

  #take(event: ProcessEvent): void {
    switch (event.kind) {
      case "start":
        this.isNew = false;
        this.#set({ kind: "attached" });
        this.#tellSize();
        for (const data of this.#early.splice(0)) this.#input.push(data);
        break;
      case "output":
        this.#terminal.write(event.data);
        if (this.#replayEnds !== null) this.#replay();
        break;
      case "lost":
        this.#notice(`${event.bytes} bytes of output are too old and no longer kept`);
        break;
      case "end":
        this.#set({ kind: "ended", exit: event.exit });
        break;
    }
  }

  /** Keys that are the page's: copy and paste as terminals have them, and the way out, since Tab belongs to the shell. */
  #isForTerminal(event: KeyboardEvent): boolean {
    if (event.shiftKey && event.key === "Escape") {
      if (event.type === "keydown") this.#terminal.element?.dispatchEvent(new CustomEvent(LEAVE, { bubbles: true }));
      event.preventDefault();
      return false;
    }
    if (event.ctrlKey && event.shiftKey && event.code === "KeyC") {
      if (event.type === "keydown") void navigator.clipboard?.writeText(this.#terminal.getSelection()).catch(() => undefined);
      event.preventDefault();
      return false;
    }
    // The browser pastes by itself, if nobody takes the keys.
    return !(event.ctrlKey && event.shiftKey && event.code === "KeyV");
  }

  #type(data: Uint8Array): void {
    if (this.phase.kind === "connecting") {
      if (this.#early.reduce((size, piece) => size + piece.length, data.length) <= MOST_EARLY) this.#early.push(data);
    } else if (this.phase.kind === "attached" && this.#replayEnds === null) {
      this.#input.push(data);
    }
  }

  /** Old output may hold questions to the terminal (where is the cursor?). They were answered long ago: xterm's answers of now would
   * arrive at the shell as if typed. */
  #replay(): void {
    if (this.#replayEnds !== null) clearTimeout(this.#replayEnds);
    this.#replayEnds = setTimeout(() => (this.#replayEnds = null), REPLAY_PAUSE_MS);
  }

  #tellSize(): void {
    const { cols, rows } = this.#terminal;
    const size = `${cols}×${rows}`;
    if (this.phase.kind !== "attached" || size === this.#size) return;
    this.#size = size;
    resize(this.#door, { tag: this.tag }, { cols, rows }).catch(() => {
      this.#size = ""; // told again with the next change, or the next wire
    });
  }

  #notice(text: string): void {
    this.#terminal.write(`\r\n\x1b[2m── ${text} ──\x1b[0m\r\n`);
  }

  #set(phase: Phase): void {
    this.phase = phase;
    this.#terminal.options.disableStdin = phase.kind !== "attached" && phase.kind !== "connecting";
    if (phase.kind !== "attached" && phase.kind !== "connecting") this.#early = [];
    this.#changed();
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
