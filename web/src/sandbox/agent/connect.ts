/** The Connect protocol with JSON: calls with one answer, and calls answered by a stream of envelopes (flag byte, big-endian length, message). */

import { askAgent } from "../../api/agent";
import { ApiError } from "../../api/errors";
import { Cut, isAbort, isRecord, type Door, type Reach } from "./door";

const HEAD_BYTES = 5;
const END_STREAM = 0x02;
/** Far beyond what the agent sends; a length beyond it is garbage, not a message. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export type Message = Record<string, unknown>;

export function envelope(message: Message): Uint8Array<ArrayBuffer> {
  const payload = new TextEncoder().encode(JSON.stringify(message));
  const framed = new Uint8Array(HEAD_BYTES + payload.length);
  new DataView(framed.buffer).setUint32(1, payload.length);
  framed.set(payload, HEAD_BYTES);
  return framed;
}

/** Cuts the bytes of an answer into messages. Bytes that run out before `ended` mean a cut connection. */
export class Envelopes {
  ended = false;
  error: ApiError | null = null;
  #pending = new Uint8Array(0);

  /** The messages completed by `data`. Raises ApiError for bytes that are no envelopes. */
  feed(data: Uint8Array): Message[] {
    this.#pending = joined(this.#pending, data);
    const messages: Message[] = [];
    let at = 0;
    while (!this.ended && this.#pending.length - at >= HEAD_BYTES) {
      const head = new DataView(this.#pending.buffer, this.#pending.byteOffset + at, HEAD_BYTES);
      const flags = head.getUint8(0);
      const length = head.getUint32(1);
      if ((flags & ~END_STREAM) !== 0 || length > MAX_MESSAGE_BYTES) {
        throw badStream("something that is no message of the agent's protocol");
      }
      const end = at + HEAD_BYTES + length;
      if (this.#pending.length < end) break;
      const message = decode(this.#pending.subarray(at + HEAD_BYTES, end));
      at = end;
      if (flags & END_STREAM) this.#end(message);
      else messages.push(message);
    }
    this.#pending = this.#pending.slice(at);
    return messages;
  }

  #end(message: Message): void {
    this.ended = true;
    if (isRecord(message.error)) {
      const { code, message: text } = message.error;
      this.error = new ApiError(200, typeof code === "string" ? code : "unknown", typeof text === "string" ? text : "");
    }
  }
}

const badStream = (what: string): ApiError => new ApiError(200, "bad_stream", `The sandbox sent ${what}.`);

function joined(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(left.length + right.length);
  all.set(left);
  all.set(right, left.length);
  return all;
}

function decode(payload: Uint8Array): Message {
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder().decode(payload));
  } catch {
    throw badStream("a message that is not JSON");
  }
  if (!isRecord(message)) throw badStream("a message that is not a JSON object");
  return message;
}

/** One message there, one back. */
export async function unary<T = Message>(door: Door, method: string, message: Message, reach: Reach = {}): Promise<T> {
  const headers = { "Connect-Protocol-Version": "1" };
  const response = await askAgent(door, method, { ...reach, method: "POST", headers, json: message });
  return (await response.json()) as T;
}

export interface StreamReach extends Reach {
  /** Seconds of silence after which the agent says that it is still there. */
  keepaliveS?: number;
}

/** One message there, many back. Ends when the agent ends the stream; raises ApiError when it ends badly, Cut when it ends in the middle, and
 * the signal's reason. */
export async function* serverStream(
  door: Door,
  method: string,
  message: Message,
  reach: StreamReach = {},
): AsyncGenerator<Message, void, void> {
  const { keepaliveS, ...asked } = reach;
  const response = await askAgent(door, method, {
    ...asked,
    method: "POST",
    headers: {
      "Content-Type": "application/connect+json",
      "Connect-Protocol-Version": "1",
      "Keepalive-Ping-Interval": String(keepaliveS ?? 50),
    },
    body: envelope(message),
  });
  yield* messagesOf(response.body);
}

export async function* messagesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Message, void, void> {
  const envelopes = new Envelopes();
  const reader = body?.getReader();
  try {
    while (reader && !envelopes.ended) {
      let chunk: ReadableStreamReadResult<Uint8Array>;
      try {
        chunk = await reader.read();
      } catch (cause) {
        if (isAbort(cause)) throw cause;
        throw new Cut();
      }
      if (chunk.done) break;
      yield* envelopes.feed(chunk.value);
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
  if (envelopes.error) throw envelopes.error;
  if (!envelopes.ended) throw new Cut();
}

/** `bytes` in JSON are base64. */
export function toBase64(data: Uint8Array): string {
  let text = "";
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const data = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) data[at] = raw.charCodeAt(at);
  return data;
}
