import { describe, expect, it } from "vitest";
import { PartsParser } from "./frames";

const text = (part: Uint8Array) => new TextDecoder().decode(part);

describe("parts of a stream of pictures", () => {
  // The second picture holds what looks like a boundary and an empty line: only the length counts.
  const pictures = ["first", "se\r\n\r\n--frame\r\ncond", ""];
  const wire = new TextEncoder().encode(
    pictures
      .map((picture) => `--frame\r\nContent-Type: image/jpeg\r\nContent-Length: ${picture.length}\r\n\r\n${picture}\r\n`)
      .join(""),
  );

  it("are found wherever the bytes are cut", () => {
    for (let cut = 1; cut < wire.length; cut += 1) {
      const parser = new PartsParser();
      const parts = [...parser.push(wire.slice(0, cut)), ...parser.push(wire.slice(cut))];
      expect(parts.map(text)).toEqual(pictures);
    }
  });

  it("are found byte by byte", () => {
    const parser = new PartsParser();
    expect([...wire].flatMap((byte) => parser.push(new Uint8Array([byte]))).map(text)).toEqual(pictures);
  });

  it("must say how long they are", () => {
    expect(() => new PartsParser().push(new TextEncoder().encode("--frame\r\nContent-Type: image/jpeg\r\n\r\n"))).toThrow(
      /how long/,
    );
  });
});
