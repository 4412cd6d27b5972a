/** Files inside a sandbox. */

import { serverStream, unary, type Message } from "./connect";
import { AGENT_PORT, askAgent, portUrl } from "../../api/agent";
import { accessToken, forgetToken } from "../../api/tokens";
import { errorOf, Unreachable } from "../../api/errors";
import { address } from "../../api/request";
import { isRecord, type Door, type Reach } from "./door";

export type EntryKind = "file" | "directory" | "symlink" | "other";

export interface Entry {
  name: string;
  path: string;
  /** Of a link, its target's. */
  kind: EntryKind;
  size: number;
  permissions: string;
  owner: string;
  modifiedAt: string;
  /** Where a link leads. */
  target: string | null;
}

const KINDS: Readonly<Record<string, EntryKind>> = {
  FILE_TYPE_FILE: "file",
  FILE_TYPE_DIRECTORY: "directory",
  FILE_TYPE_SYMLINK: "symlink",
};

export function entryOf(raw: unknown): Entry {
  const found = isRecord(raw) ? raw : {};
  const text = (name: string): string => (typeof found[name] === "string" ? found[name] : "");
  return {
    name: text("name"),
    path: text("path"),
    kind: KINDS[text("type")] ?? "other",
    size: Number(found.size ?? 0),
    permissions: text("permissions"),
    owner: text("owner"),
    modifiedAt: text("modifiedTime"),
    target: found.isSymlink === true ? text("symlinkTarget") : null,
  };
}

export async function listDirectory(door: Door, path: string, reach: Reach = {}): Promise<Entry[]> {
  const answer = await unary<{ entries?: unknown[] }>(door, "/filesystem.Filesystem/ListDir", { path, depth: 1 }, reach);
  return (answer.entries ?? []).map(entryOf);
}

export async function stat(door: Door, path: string, reach: Reach = {}): Promise<Entry> {
  return entryOf((await unary(door, "/filesystem.Filesystem/Stat", { path }, reach)).entry);
}

export async function makeDirectory(door: Door, path: string): Promise<Entry> {
  return entryOf((await unary(door, "/filesystem.Filesystem/MakeDir", { path })).entry);
}

export async function move(door: Door, source: string, destination: string): Promise<Entry> {
  return entryOf((await unary(door, "/filesystem.Filesystem/Move", { source, destination })).entry);
}

/** A directory with all that is in it. */
export async function remove(door: Door, path: string): Promise<void> {
  await unary(door, "/filesystem.Filesystem/Remove", { path });
}

export async function read(door: Door, path: string, reach: Reach = {}): Promise<Blob> {
  return (await askAgent(door, "/files", { ...reach, query: { path } })).blob();
}

/** A folder with all that is in it, as a gzipped tar. */
export async function readFolder(door: Door, path: string): Promise<Blob> {
  return (await askAgent(door, "/files/archive", { query: { path } })).blob();
}

/** Makes or replaces a file, and its directories. `onProgress` hears of bytes sent. */
export async function write(
  door: Door,
  path: string,
  content: Blob,
  options: { signal?: AbortSignal; onProgress?: (sent: number) => void } = {},
): Promise<void> {
  const token = await accessToken(door.id);
  options.signal?.throwIfAborted();
  // fetch cannot tell how much of a body was sent.
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", portUrl(door, AGENT_PORT) + address("/files", { path }));
    request.setRequestHeader("X-Access-Token", token);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => options.onProgress?.(event.loaded);
    request.onload = () => {
      if (request.status === 401) forgetToken(door.id);
      if (request.status >= 200 && request.status < 300) resolve();
      else void errorOf(new Response(request.responseText, { status: request.status })).then(reject);
    };
    request.onerror = () => reject(new Unreachable("the upload was cut"));
    request.onabort = () => reject(new DOMException("The upload was stopped.", "AbortError"));
    options.signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send(content);
  });
}

export interface Change {
  name: string;
  kind: "create" | "write" | "remove" | "rename" | "chmod" | "other";
}

const CHANGES: Readonly<Record<string, Change["kind"]>> = {
  EVENT_TYPE_CREATE: "create",
  EVENT_TYPE_WRITE: "write",
  EVENT_TYPE_REMOVE: "remove",
  EVENT_TYPE_RENAME: "rename",
  EVENT_TYPE_CHMOD: "chmod",
};

export function changeOf(message: Message): Change | null {
  if (!isRecord(message.filesystem)) return null;
  const { name, type } = message.filesystem;
  return { name: String(name ?? ""), kind: CHANGES[String(type)] ?? "other" };
}

/** What happens in a directory, from when `onReady` is called until the signal. */
export async function* watch(door: Door, path: string, onReady: () => void, reach: Reach = {}): AsyncGenerator<Change> {
  for await (const message of serverStream(door, "/filesystem.Filesystem/WatchDir", { path }, reach)) {
    if (message.start !== undefined) onReady();
    const change = changeOf(message);
    if (change) yield change;
  }
}
