// Every call that the pages make, one function each.
import { request, send } from "./request";
import { readEvents } from "./sse";
import type {
  Activity,
  CreateBody,
  Driver,
  Event,
  Fleet,
  ForkAnswer,
  Key,
  Link,
  Metric,
  NewKey,
  NodeReport,
  PortLink,
  Question,
  QuestionDetail,
  QuestionPage,
  Resumed,
  Sandbox,
  ScreenLink,
  Seat,
  Session,
  Snapshot,
  SnapshotFile,
  TemplateList,
  UpdateBody,
  Version,
} from "./types";

const part = encodeURIComponent;
type Signal = AbortSignal | undefined;

// Session
export const getSession = (signal?: Signal) => request<Session>("GET", "/v1/session", { signal });
export const signIn = (key: string) => request<void>("POST", "/v1/session", { body: { key } });
export const signOut = () => request<void>("DELETE", "/v1/session");

// Sandboxes
export const getFleet = (signal?: Signal) => request<Fleet>("GET", "/v1/fleet", { signal });
export const getSandbox = (ref: string, signal?: Signal) => request<Sandbox>("GET", `/v1/sandboxes/${part(ref)}`, { signal });
export const listDead = (signal?: Signal) =>
  request<{ sandboxes: Sandbox[]; next_cursor: string | null }>("GET", "/v1/sandboxes", {
    query: { state: "dead", limit: 50 },
    signal,
  });
export const createSandbox = (body: CreateBody) => request<Sandbox>("POST", "/v1/sandboxes", { body });
export const updateSandbox = (ref: string, body: UpdateBody) => request<Sandbox>("PATCH", `/v1/sandboxes/${part(ref)}`, { body });
export const killSandbox = (ref: string, keep = true) =>
  request<void>("DELETE", `/v1/sandboxes/${part(ref)}`, { query: { keep } });
export const undeleteSandbox = (id: string) => request<Sandbox>("POST", `/v1/sandboxes/${part(id)}/undelete`);
export const pauseSandbox = (ref: string, memory = true) =>
  request<Sandbox>("POST", `/v1/sandboxes/${part(ref)}/pause`, { body: { memory } });
export const resumeSandbox = (ref: string) => request<Resumed>("POST", `/v1/sandboxes/${part(ref)}/resume`, { body: {} });
export const snapshotSandbox = (ref: string, name: string | null, memory = true) =>
  request<Snapshot>("POST", `/v1/sandboxes/${part(ref)}/snapshots`, { body: { name, memory } });
export const forkSandbox = (ref: string, count: number, names: string[] | null = null) =>
  request<ForkAnswer>("POST", `/v1/sandboxes/${part(ref)}/fork`, { body: { count, names } });
export const rollbackSandbox = (ref: string, snapshot: string) =>
  request<Sandbox>("POST", `/v1/sandboxes/${part(ref)}/rollback`, { body: { snapshot } });
export const extendSandbox = (ref: string, timeout_s: number) =>
  request<Sandbox>("POST", `/v1/sandboxes/${part(ref)}/extend`, { body: { timeout_s } });
export const holdSandbox = (ref: string, seconds: number, reason: string) =>
  request<Sandbox>("POST", `/v1/sandboxes/${part(ref)}/hold`, { body: { seconds, reason } });
export const releaseSandbox = (ref: string) => request<Sandbox>("DELETE", `/v1/sandboxes/${part(ref)}/hold`);
export const getActivity = (ref: string, signal?: Signal) =>
  request<Activity>("GET", `/v1/sandboxes/${part(ref)}/activity`, { signal });
export const getMetrics = (ref: string, start: number, signal?: Signal) =>
  request<{ metrics: Metric[] }>("GET", `/v1/sandboxes/${part(ref)}/metrics`, { query: { start }, signal });

// Links to a sandbox's screen, or to one of its ports
export const listLinks = (ref: string, signal?: Signal) =>
  request<{ links: Link[] }>("GET", `/v1/sandboxes/${part(ref)}/links`, { signal });
/** One that drives needs the key: a session is not enough. */
export const createLink = (ref: string, body: Pick<ScreenLink, "mode" | "label"> & { seconds: number }, key?: string) =>
  request<ScreenLink>("POST", `/v1/sandboxes/${part(ref)}/links`, { body, key });
export const createPortLink = (ref: string, body: Pick<PortLink, "port" | "label"> & { seconds: number }) =>
  request<PortLink>("POST", `/v1/sandboxes/${part(ref)}/links`, { body });
export const revokeLink = (ref: string, id: string) => request<void>("DELETE", `/v1/sandboxes/${part(ref)}/links/${part(id)}`);

// Who drives a screen, by a link alone: its token is the credential
export const getSeat = (token: string, signal?: Signal) => request<Seat>("GET", "/v1/driver", { query: { token }, signal });
export async function* followSeat(token: string, signal: AbortSignal): AsyncGenerator<Seat> {
  const response = await send("GET", "/v1/driver/live", { query: { token }, signal });
  for await (const event of readEvents(response)) yield JSON.parse(event.data) as Seat;
}
export const takeOver = (token: string, force = false) => request<Driver>("POST", "/v1/driver/take", { body: { token, force } });
export const handBack = (token: string) => request<void>("POST", "/v1/driver/give", { body: { token } });

// Snapshots
export const listSnapshots = (query: { sandbox?: string; cursor?: string | null } = {}, signal?: Signal) =>
  request<{ snapshots: Snapshot[]; next_cursor: string | null }>("GET", "/v1/snapshots", { query, signal });
export const deleteSnapshot = (ref: string) => request<void>("DELETE", `/v1/snapshots/${part(ref)}`);
export const listSnapshotFiles = (id: string, path: string, signal?: Signal) =>
  request<{ entries: SnapshotFile[] }>("GET", `/v1/snapshots/${part(id)}/files`, { query: { path }, signal });
export const readSnapshotFile = async (id: string, path: string, signal?: Signal): Promise<Blob> =>
  (await send("GET", `/v1/snapshots/${part(id)}/file`, { query: { path }, signal, headers: { Accept: "*/*" } })).blob();

/** All of them, page by page. */
export async function allSnapshots(signal?: Signal): Promise<Snapshot[]> {
  const found: Snapshot[] = [];
  for (let cursor: string | null = null; ;) {
    const page = await listSnapshots({ cursor }, signal);
    found.push(...page.snapshots);
    cursor = page.next_cursor;
    if (cursor === null) return found;
  }
}

// Templates, events, node, keys
export const listTemplates = (signal?: Signal) => request<TemplateList>("GET", "/v1/templates", { signal });
export interface EventsQuery {
  sandbox?: string;
  kind?: readonly string[];
  before?: number;
  after?: number;
  newest_first?: boolean;
  limit?: number;
}
export const listEvents = (query: EventsQuery, signal?: Signal) =>
  request<{ events: Event[] }>("GET", "/v1/events", { query: { ...query }, signal });
export const getNode = (signal?: Signal) => request<NodeReport>("GET", "/v1/node", { signal });
export const getVersion = (signal?: Signal) => request<Version>("GET", "/v1/version", { signal });
export const listKeys = (signal?: Signal) => request<{ keys: Key[] }>("GET", "/v1/keys", { signal });
export const createKey = (name: string, scope: string, key: string) =>
  request<NewKey>("POST", "/v1/keys", { body: { name, scope }, key });
export const revokeKey = (id: string) => request<void>("DELETE", `/v1/keys/${part(id)}`);

// Questions
export interface QuestionsQuery {
  state?: Question["state"];
  sandbox?: string;
  limit?: number;
  cursor?: string | null;
}
export const listQuestions = (query: QuestionsQuery, signal?: Signal) =>
  request<QuestionPage>("GET", "/v1/questions", { query: { ...query }, signal });
export const getQuestion = (id: string, signal?: Signal) =>
  request<QuestionDetail>("GET", `/v1/questions/${part(id)}`, { signal });
export const answerQuestion = (id: string, body: { choice?: string; text?: string }) =>
  request<Question>("POST", `/v1/questions/${part(id)}/answer`, { body });
export const withdrawQuestion = (id: string) => request<void>("DELETE", `/v1/questions/${part(id)}`);
