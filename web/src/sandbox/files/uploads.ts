/** Files on their way into a sandbox: a few at a time, each with its progress. */

import { hasCode, isAbort, type Door } from "../agent/door";
import { makeDirectory, write } from "../agent/files";
import { join } from "./paths";

export interface Incoming {
  /** Relative to the folder: with slashes when a whole folder was dropped. */
  name: string;
  /** null: an empty folder. */
  file: File | null;
}

export interface Upload {
  id: number;
  name: string;
  path: string;
  isFolder: boolean;
  size: number;
  sent: number;
  state: "waiting" | "sending" | "done" | "failed" | "stopped";
  error: unknown;
}

/** Of the six connections that a browser makes to one host: looking goes on meanwhile. */
const AT_ONCE = 4;

export class Uploads {
  list: readonly Upload[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #work = new Map<number, { content: File | null; stop: AbortController }>();
  #next = 1;
  #running = 0;

  constructor(
    private readonly put: typeof write = write,
    private readonly make: typeof makeDirectory = makeDirectory,
  ) {}

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  add(door: Door, folder: string, files: readonly Incoming[]): void {
    const fresh = files.map(({ name, file }): Upload => {
      const id = this.#next++;
      this.#work.set(id, { content: file, stop: new AbortController() });
      return {
        id,
        name,
        path: join(folder, name),
        isFolder: file === null,
        size: file?.size ?? 0,
        sent: 0,
        state: "waiting",
        error: null,
      };
    });
    this.#set([...this.list.filter(({ state }) => state !== "done"), ...fresh]);
    this.#start(door);
  }

  stop(id: number): void {
    this.#work.get(id)?.stop.abort();
    if (this.list.find((upload) => upload.id === id)?.state === "waiting") this.#change(id, { state: "stopped" });
  }

  clear(): void {
    this.#set(this.list.filter(({ state }) => state === "waiting" || state === "sending"));
  }

  #start(door: Door): void {
    while (this.#running < AT_ONCE) {
      const next = this.list.find(({ state }) => state === "waiting");
      if (!next) return;
      this.#running++;
      void this.#send(door, next).finally(() => {
        this.#running--;
        this.#work.delete(next.id);
        this.#start(door);
      });
    }
  }

  async #send(door: Door, { id, path, size }: Upload): Promise<void> {
    const work = this.#work.get(id);
    if (!work) return;
    this.#change(id, { state: "sending" });
    try {
      if (work.content)
        await this.put(door, path, work.content, { signal: work.stop.signal, onProgress: (sent) => this.#change(id, { sent }) });
      else
        await this.make(door, path).catch((error: unknown) => {
          if (!hasCode(error, "already_exists")) throw error;
        });
      this.#change(id, { state: "done", sent: size });
    } catch (error) {
      this.#change(id, isAbort(error) ? { state: "stopped" } : { state: "failed", error });
    }
  }

  #change(id: number, change: Partial<Upload>): void {
    this.#set(this.list.map((upload) => (upload.id === id ? { ...upload, ...change } : upload)));
  }

  #set(list: readonly Upload[]): void {
    this.list = list;
    for (const watcher of this.#watchers) watcher();
  }
}

const isMoving = ({ state }: Upload): boolean => state === "waiting" || state === "sending";

/** How it goes, in a line. */
export function summaryOf(list: readonly Upload[]): string {
  const count = (state: Upload["state"]): number => list.filter((upload) => upload.state === state).length;
  const left = list.filter(isMoving).length;
  if (left > 0) return `Uploading, ${left} to go`;
  const ends = (
    [
      ["done", "uploaded"],
      ["failed", "failed"],
      ["stopped", "stopped"],
    ] as const
  ).flatMap(([state, word]) => (count(state) > 0 ? [`${count(state)} ${word}`] : []));
  return ends.join(", ");
}

const RANKS: Record<Upload["state"], number> = { failed: 0, sending: 1, stopped: 2, waiting: 3, done: 4 };

/** The few that tell most: what failed, what is under way, then the rest, as they came. */
export const worthShowing = (list: readonly Upload[], most: number): Upload[] =>
  [...list].sort((a, b) => RANKS[a.state] - RANKS[b.state]).slice(0, most);

export const isBusy = (list: readonly Upload[]): boolean => list.some(isMoving);

/** What of the files' names is there already: a file's own, or the folder's that it comes in. */
export function clashesOf(files: readonly Incoming[], taken: ReadonlySet<string>): string[] {
  return [...new Set(files.map(({ name }) => name.split("/", 1)[0] ?? name))].filter((name) => taken.has(name));
}

/** Files that were chosen; those of a folder know their place in it. */
export const chosenFiles = (files: Iterable<File>): Incoming[] =>
  [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));

/** All files of a drop, folders with all that is in them. Must be called before the event is over; the rest may take its time. */
export async function droppedFiles(items: DataTransferItemList): Promise<Incoming[]> {
  const roots = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return (await Promise.all(roots.map((root) => filesOf(root, "")))).flat();
}

async function filesOf(entry: FileSystemEntry, prefix: string): Promise<Incoming[]> {
  const name = prefix + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ name, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    // A browser gives at most a hundred at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break;
    children.push(...some);
  }
  if (children.length === 0) return [{ name, file: null }];
  return (await Promise.all(children.map((child) => filesOf(child, `${name}/`)))).flat();
}
