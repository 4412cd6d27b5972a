/** The way into one sandbox's agent. What a page asks on its own it asks quietly: looking never wakes, and never keeps awake. */

import { ApiError, Unreachable } from "../../api/errors";
import type { Sandbox } from "../../api/types";

export type Door = Pick<Sandbox, "id" | "url">;

export interface Reach {
  signal?: AbortSignal;
  /** Never wakes the sandbox and is not counted as activity. */
  quiet?: boolean;
}

/** The connection ended before the agent had said all. What runs inside goes on. */
export class Cut extends Error {
  override readonly name = "Cut";

  constructor() {
    super("The connection to the sandbox was cut.");
  }
}

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

export const hasCode = (error: unknown, code: string): error is ApiError => error instanceof ApiError && error.code === code;

/** Whether the way may be open again in a moment. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Cut ||
  error instanceof Unreachable ||
  (error instanceof ApiError && (error.status === 502 || error.status === 503));

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
