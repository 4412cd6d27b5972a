/** What goes on inside a sandbox: processes, listening ports, past commands. */

import { askAgent } from "../../api/agent";
import { readEvents } from "../../api/sse";
import type { Door, Reach } from "./door";

export interface ProcessRow {
  pid: number;
  ppid: number;
  user: string;
  command: string;
  cpu_percent: number;
  memory_bytes: number;
  started_at: string;
  managed: boolean;
  tag: string | null;
}

export interface PortRow {
  port: number;
  address: string;
  pid: number | null;
  command: string | null;
  loopback: boolean;
}

export interface CommandRow {
  pid: number;
  command: string;
  user: string;
  started_at: string;
  ended_at: string | null;
  exit_code: number | null;
  pty: boolean;
}

export const processes = async (door: Door, reach: Reach = {}): Promise<ProcessRow[]> =>
  ((await (await askAgent(door, "/processes", reach)).json()) as { processes: ProcessRow[] }).processes;

export const ports = async (door: Door, reach: Reach = {}): Promise<PortRow[]> =>
  ((await (await askAgent(door, "/ports", reach)).json()) as { ports: PortRow[] }).ports;

export const history = async (door: Door, limit: number, reach: Reach = {}): Promise<CommandRow[]> =>
  ((await (await askAgent(door, "/history", { ...reach, query: { limit } })).json()) as { commands: CommandRow[] }).commands;

/** Something each time that a command started, ended or printed, until the signal. */
export async function* historyChanges(door: Door, reach: Reach = {}): AsyncGenerator<void> {
  let isFirst = true; // That is how it is, no change.
  for await (const _ of readEvents(await askAgent(door, "/history/changes", reach))) {
    if (!isFirst) yield;
    isFirst = false;
  }
}
