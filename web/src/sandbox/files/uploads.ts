/** Files on their way into a sandbox: a few at a time, each with its progress. */

import { isAbort, type Door } from "../agent/door";
import { write } from "../agent/files";

export interface Incoming {
  /** Relative to the folder: with slashes when a whole folder was dropped. */
  name: string;
  file: File;
}

export interface Upload {
  id: number;
  path: string;
  size: number;
  sent: number;
  state: "waiting" | "sending" | "done" | "failed" | "stopped";
  error: unknown;
}

const AT_ONCE = 2;

export class Uploads {
  list: readonly Upload[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #work = new Map<number, { content: File; stop: AbortController }>();
  #next = 1;
  #running = 0;

  constructor(private readonly put: typeof write = write) {}

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  add(door: Door, files: readonly { path: string; file: File }[]): void {
    const fresh = files.map(({ path, file }): Upload => {
      const id = this.#next++;
      this.#work.set(id, { content: file, stop: new AbortController() });
      return { id, path, size: file.size, sent: 0, state: "waiting", error: null };
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
      await this.put(door, path, work.content, { signal: work.stop.signal, onProgress: (sent) => this.#change(id, { sent }) });
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
  return (await Promise.all(children.map((child) => filesOf(child, `${name}/`)))).flat();
}
