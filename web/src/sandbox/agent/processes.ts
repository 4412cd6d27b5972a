/** Processes inside a sandbox: start one on a terminal, follow it over cut connections, type into it. */

import { fromBase64, serverStream, toBase64, unary, type Message } from "./connect";
import { hasCode, isRecord, type Door, type Reach } from "./door";

export type Selector = { pid: number } | { tag: string };

export interface TerminalSize {
  cols: number;
  rows: number;
}

export interface StartOrder {
  command: string;
  args?: string[];
  cwd?: string;
  envs?: Record<string, string>;
  tag: string;
  size: TerminalSize;
}

export interface Exit {
  code: number;
  /** Go's words, as the agent says them: `exit status 1`, `signal: killed`. */
  status: string;
}

export type ProcessEvent =
  | { kind: "start"; pid: number }
  | { kind: "output"; data: Uint8Array }
  | { kind: "lost"; bytes: number }
  | { kind: "end"; exit: Exit };

/**
 * How far one page has read one process. The agent numbers the bytes of its output; the number expected next is what a new
 * connection asks for, so that nothing is lost and nothing comes twice.
 */
export class Tracker {
  next: number | null = null;

  /** What one message of the stream says. A hole is reported, then jumped over: a person's terminal goes on. */
  take(message: Message): ProcessEvent[] {
    const event = isRecord(message.event) ? message.event : {};
    if (isRecord(event.start)) {
      if (this.next === null && event.start.sequence !== undefined) this.next = Number(event.start.sequence);
      return [{ kind: "start", pid: Number(event.start.pid) }];
    }
    if (isRecord(event.end)) {
      return [{ kind: "end", exit: { code: Number(event.end.exitCode ?? 0), status: String(event.end.status ?? "") } }];
    }
    return isRecord(event.data) ? this.#output(event.data) : [];
  }

  #output(data: Message): ProcessEvent[] {
    const text = data.pty ?? data.stdout ?? data.stderr;
    if (typeof text !== "string") return [];
    const content = fromBase64(text);
    const events: ProcessEvent[] = [];
    const sequence = data.sequence === undefined ? (this.next ?? 0) : Number(data.sequence);
    const expected = this.next ?? sequence;
    if (sequence > expected) events.push({ kind: "lost", bytes: sequence - expected });
    const fresh = content.subarray(Math.max(0, expected - sequence));
    this.next = Math.max(expected, sequence + content.length);
    if (fresh.length > 0) events.push({ kind: "output", data: fresh });
    return events;
  }
}

/** Runs from the first event on, and goes on when the stream is cut. */
export async function* start(door: Door, order: StartOrder, tracker: Tracker, reach: Reach = {}): AsyncGenerator<ProcessEvent> {
  const process = {
    cmd: order.command,
    args: order.args ?? [],
    envs: order.envs ?? {},
    ...(order.cwd ? { cwd: order.cwd } : {}),
  };
  const stream = serverStream(door, "/process.Process/Start", { process, tag: order.tag, pty: { size: order.size } }, reach);
  for await (const message of stream) yield* tracker.take(message);
}

/** Follows a process from the byte the tracker expects next; a tracker that has read nothing begins with the oldest byte still kept. */
export async function* attach(door: Door, selector: Selector, tracker: Tracker, reach: Reach = {}): AsyncGenerator<ProcessEvent> {
  let request: Message = {
    process: selector,
    ...(tracker.next === null ? { fromOldest: true } : { fromSequence: String(tracker.next) }),
  };
  for (;;) {
    try {
      for await (const message of serverStream(door, "/process.Process/Connect", request, reach)) yield* tracker.take(message);
      return;
    } catch (error) {
      // It printed more than is kept since we last looked: go on with the oldest there is, and say that something is missing.
      if (!hasCode(error, "out_of_range") || !("fromSequence" in request)) throw error;
      request = { process: selector, fromOldest: true };
    }
  }
}

/** Quiet: a terminal takes the size of the window it is looked at in. */
export function resize(door: Door, selector: Selector, size: TerminalSize): Promise<Message> {
  return unary(door, "/process.Process/Update", { process: selector, pty: { size } }, { quiet: true });
}

export function sendInput(door: Door, selector: Selector, data: Uint8Array): Promise<Message> {
  return unary(door, "/process.Process/SendInput", { process: selector, input: { pty: toBase64(data) } });
}

export function kill(door: Door, selector: Selector, signal: "SIGTERM" | "SIGKILL" = "SIGKILL"): Promise<Message> {
  return unary(door, "/process.Process/SendSignal", { process: selector, signal: `SIGNAL_${signal}` });
}

export interface Running {
  pid: number;
  tag: string | null;
  command: string;
  args: string[];
}

export async function list(door: Door, reach: Reach = {}): Promise<Running[]> {
  const answer = await unary<{ processes?: { pid: number; tag?: string; config?: { cmd?: string; args?: string[] } }[] }>(
    door,
    "/process.Process/List",
    {},
    reach,
  );
  return (answer.processes ?? []).map(({ pid, tag, config }) => ({
    pid,
    tag: tag ?? null,
    command: config?.cmd ?? "",
    args: config?.args ?? [],
  }));
}

/**
 * Keystrokes in the order they were made. Each is a request of its own, and requests overtake one another: so there is only ever one
 * under way, and what is typed meanwhile goes with the next.
 */
export class InputQueue {
  #waiting: Uint8Array[] = [];
  #sending = false;

  constructor(
    private readonly send: (data: Uint8Array) => Promise<unknown>,
    private readonly onError: (error: unknown) => void,
  ) {}

  push(data: Uint8Array): void {
    this.#waiting.push(data);
    if (!this.#sending) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#sending = true;
    try {
      while (this.#waiting.length > 0) {
        const pieces = this.#waiting;
        this.#waiting = [];
        await this.send(concatenated(pieces));
      }
    } catch (error) {
      this.#waiting = [];
      this.onError(error);
    } finally {
      this.#sending = false;
    }
  }
}

export function concatenated(pieces: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
