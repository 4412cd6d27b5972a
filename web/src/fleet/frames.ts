// Pictures as they come in a `multipart/x-mixed-replace` answer.

const NEWLINE = 10;

/** Takes bytes as they come, gives whole parts. Every part says its length, so nothing is searched through twice. */
export class PartsParser {
  #rest: Uint8Array = new Uint8Array(0);
  #needed: number | null = null;

  push(chunk: Uint8Array): Uint8Array[] {
    const joined = new Uint8Array(this.#rest.length + chunk.length);
    joined.set(this.#rest);
    joined.set(chunk, this.#rest.length);
    const parts: Uint8Array[] = [];
    let at = 0;
    for (;;) {
      if (this.#needed === null) {
        const end = endOfHead(joined, at);
        if (end === -1) break;
        const head = new TextDecoder().decode(joined.subarray(at, end));
        const length = /^content-length:\s*(\d+)\s*$/im.exec(head)?.[1];
        if (length === undefined) throw new Error("a part of the stream does not say how long it is");
        this.#needed = Number(length);
        at = end;
      }
      if (joined.length - at < this.#needed) break;
      parts.push(joined.slice(at, at + this.#needed));
      at += this.#needed;
      this.#needed = null;
    }
    this.#rest = joined.slice(at);
    return parts;
  }
}

/** Behind the empty line that ends a part's head, or -1. */
function endOfHead(bytes: Uint8Array, from: number): number {
  let sawText = false;
  let lineStart = from;
  for (let at = from; at < bytes.length; at += 1) {
    if (bytes[at] !== NEWLINE) continue;
    const length = at - lineStart - (bytes[at - 1] === 13 ? 1 : 0);
    if (length > 0) sawText = true;
    else if (sawText) return at + 1; // the empty line before a boundary is none that ends a head
    lineStart = at + 1;
  }
  return -1;
}

export async function* readFrames(response: Response): AsyncGenerator<Blob> {
  if (!response.body) return;
  const parser = new PartsParser();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // Only the newest is worth drawing.
      const last = parser.push(value).at(-1);
      if (last) yield new Blob([last as BlobPart], { type: "image/jpeg" });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
