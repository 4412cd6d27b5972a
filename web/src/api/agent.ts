// The agent inside a sandbox, at the sandbox's own host name. It never sees the session's cookie: its guard is the
// sandbox's access token.
import { errorOf, Unreachable } from "./errors";
import { address, type Ask, type Method } from "./request";
import { accessToken, forgetToken } from "./tokens";
import type { Sandbox } from "./types";

export const AGENT_PORT = 49983;

type Reachable = Pick<Sandbox, "id" | "url">;

/** `http://3000-<sandbox>.<domain>:<port>`, without a slash at the end. */
export const portUrl = (sandbox: Pick<Sandbox, "url">, port: number): string => sandbox.url.replace("{port}", String(port));

export interface AgentAsk extends Omit<Ask, "body"> {
  /** Looking: never wakes the sandbox (409 `asleep` instead) and does not count as activity. */
  quiet?: boolean;
  json?: unknown;
  body?: BodyInit;
  method?: Method;
}

export async function askAgent(sandbox: Reachable, path: string, ask: AgentAsk = {}): Promise<Response> {
  const response = await send(sandbox, path, ask);
  if (response.status !== 401) return answered(response);
  forgetToken(sandbox.id); // It may have been rotated.
  return answered(await send(sandbox, path, ask));
}

async function answered(response: Response): Promise<Response> {
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function send(sandbox: Reachable, path: string, ask: AgentAsk): Promise<Response> {
  const { quiet = false, json, query, method = "GET", signal } = ask;
  const headers: Record<string, string> = { "X-Access-Token": await accessToken(sandbox.id), ...ask.headers };
  if (quiet) headers["Roost-Quiet"] = "1";
  if (json !== undefined) headers["Content-Type"] = "application/json";
  // In the query too: the browser's preflight carries no headers of ours.
  const url = portUrl(sandbox, AGENT_PORT) + address(path, quiet ? { ...query, quiet: 1 } : query);
  try {
    return await fetch(url, {
      method,
      headers,
      body: json === undefined ? ask.body : JSON.stringify(json),
      credentials: "omit",
      cache: "no-store",
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable(error);
  }
}
