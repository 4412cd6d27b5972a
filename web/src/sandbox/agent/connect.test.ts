import { describe, expect, it } from "vitest";
import { Envelopes, envelope, fromBase64, messagesOf, toBase64 } from "./connect";
import { concatenated } from "./processes";
import { Cut } from "./door";

const end = (message: object): Uint8Array => {
  const framed = envelope({ ...message });
  framed[0] = 2;
  return framed;
};

const bodyOf = (...chunks: Uint8Array[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of stream) found.push(item);
  return found;
}

describe("Envelopes", () => {
  const bytes = concatenated([envelope({ a: "ü" }), envelope({ b: [1, 2] }), end({})]);

  it("cuts messages out of bytes, however the bytes come", () => {
    for (let size = 1; size <= bytes.length; size++) {
      const envelopes = new Envelopes();
      const messages = [];
      for (let at = 0; at < bytes.length; at += size) messages.push(...envelopes.feed(bytes.subarray(at, at + size)));
      expect(messages).toEqual([{ a: "ü" }, { b: [1, 2] }]);
      expect(envelopes.ended).toBe(true);
      expect(envelopes.error).toBeNull();
    }
  });

  it("knows a bad end", () => {
    const envelopes = new Envelopes();
    envelopes.feed(end({ error: { code: "not_found", message: "no such process" } }));
    expect(envelopes.error).toMatchObject({ code: "not_found", message: "no such process" });
  });

  it("refuses what is no envelope", () => {
    expect(() => new Envelopes().feed(new TextEncoder().encode("<!doctype html>"))).toThrow(/no message/);
    const notJson = envelope({});
    notJson[5] = 0x21;
    expect(() => new Envelopes().feed(notJson)).toThrow(/not JSON/);
  });
});

describe("messagesOf", () => {
  it("gives the messages up to the end", async () => {
    expect(await all(messagesOf(bodyOf(envelope({ n: 1 }), concatenated([envelope({ n: 2 }), end({})]))))).toEqual([
      { n: 1 },
      { n: 2 },
    ]);
  });

  it("says when the stream ends in the middle", async () => {
    await expect(all(messagesOf(bodyOf(envelope({ n: 1 }))))).rejects.toBeInstanceOf(Cut);
  });

  it("says what the agent said at a bad end", async () => {
    await expect(all(messagesOf(bodyOf(end({ error: { code: "out_of_range", message: "too old" } }))))).rejects.toMatchObject({
      code: "out_of_range",
    });
  });
});

describe("base64", () => {
  it("goes there and back for every byte and beyond one piece", () => {
    const data = Uint8Array.from({ length: 70_000 }, (_, at) => at & 0xff);
    expect(fromBase64(toBase64(data))).toEqual(data);
  });
});
