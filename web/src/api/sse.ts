// Server-sent events over fetch: unlike EventSource it can send headers, and says why a stream was refused.

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

/** Takes text as it comes, gives whole events. Lines may be cut anywhere between two calls. */
export class EventParser {
  #rest = "";
  #id: string | null = null;
  #event = "";
  #data: string[] = [];

  push(text: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    this.#rest += text;
    for (;;) {
      const end = this.#rest.search(/[\r\n]/);
      if (end === -1) break;
      // A lone \r at the end may be the first half of \r\n.
      if (this.#rest[end] === "\r" && end === this.#rest.length - 1) break;
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + (this.#rest.startsWith("\r\n", end) ? 2 : 1));
      const event = this.#line(line);
      if (event) found.push(event);
    }
    return found;
  }

  #line(line: string): ServerEvent | null {
    if (line === "") {
      const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
      const isEmpty = this.#data.length === 0;
      this.#event = "";
      this.#data = [];
      return isEmpty ? null : event;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null; // a comment: somebody says that the stream lives
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    return null;
  }
}

/** The events of a response, until it ends or the request is aborted. */
export async function* readEvents(response: Response, onBytes?: () => void): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      yield* parser.push(value);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
