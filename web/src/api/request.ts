// The one way to the API: with the session's cookie, and with the header that proves a request is ours.
import { errorOf, Unreachable, WrongKey } from "./errors";

export interface Ask {
  query?: Record<string, string | number | boolean | readonly string[] | null | undefined>;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** An API key that was typed for this one request, in place of the session. */
  key?: string;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export function address(path: string, query: Ask["query"] = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [value]) words.append(name, String(each));
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

/** The answer as it comes, once it is a success. Raises ApiError, Unreachable, or the signal's reason. */
export async function send(method: Method, path: string, ask: Ask = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", "Roost-Request": "1", ...ask.headers };
  if (ask.key !== undefined) headers.Authorization = `Bearer ${ask.key}`;
  if (ask.body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(address(path, ask.query), {
      method,
      headers,
      body: ask.body === undefined ? undefined : JSON.stringify(ask.body),
      credentials: "same-origin",
      signal: ask.signal,
    });
  } catch (error) {
    if (ask.signal?.aborted) throw error;
    throw new Unreachable(error);
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  throw response.status === 401 && ask.key !== undefined ? new WrongKey(error) : error;
}

export async function request<T>(method: Method, path: string, ask: Ask = {}): Promise<T> {
  const response = await send(method, path, ask);
  return (response.status === 204 ? undefined : await response.json()) as T;
}
