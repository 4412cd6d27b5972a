import { describe, expect, it } from "vitest";
import { EventParser, readEvents } from "./sse";

describe("server-sent events", () => {
  const stream = ': begun\n\nid: 4\nevent: sandbox.woke\ndata: {"a":1}\n\ndata: one\ndata: two\n\r\n: still here\n\n';

  it("are found wherever the text is cut", () => {
    for (let cut = 1; cut < stream.length; cut += 1) {
      const parser = new EventParser();
      const events = [...parser.push(stream.slice(0, cut)), ...parser.push(stream.slice(cut))];
      expect(events).toEqual([
        { id: "4", event: "sandbox.woke", data: '{"a":1}' },
        { id: "4", event: "message", data: "one\ntwo" },
      ]);
    }
  });

  it("end their lines in any of the three ways", () => {
    expect(new EventParser().push("data: x\r\rdata:y\r\n\r\n")).toHaveLength(2);
  });

  it("are read from a response, in pieces of any size", async () => {
    const bytes = new TextEncoder().encode("data: grüße\n\ndata: 2\n\n");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    const found: string[] = [];
    for await (const { data } of readEvents(new Response(body))) found.push(data);
    expect(found).toEqual(["grüße", "2"]);
  });
});
