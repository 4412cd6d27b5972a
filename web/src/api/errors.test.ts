import { describe, expect, it } from "vitest";
import { ApiError, errorOf, isUnauthenticated, messageOf, Unreachable } from "./errors";
import { address } from "./request";

const answer = (status: number, body: string) => new Response(body, { status, statusText: "Bad" });

describe("errors of the API", () => {
  it("carry their code, their words and their facts", async () => {
    const error = await errorOf(answer(409, '{"error":{"code":"asleep","message":"It sleeps.","sandbox":"i1"}}'));
    expect(error).toMatchObject({ status: 409, code: "asleep", message: "It sleeps.", facts: { sandbox: "i1" } });
    expect(messageOf(error)).toBe("It sleeps.");
  });

  it("are told as well as can be when they come from somebody else", async () => {
    expect(await errorOf(answer(404, '{"code":404,"message":"no such file"}'))).toMatchObject({
      code: "404",
      message: "no such file",
    });
    expect((await errorOf(answer(502, "<html>"))).message).toBe("The server answered 502 Bad.");
  });

  it("are told apart from a server that is not there", () => {
    expect(isUnauthenticated(new ApiError(401, "no_key", ""))).toBe(true);
    expect(isUnauthenticated(new Unreachable(null))).toBe(false);
    expect(messageOf(new Unreachable(null))).toContain("does not answer");
    expect(messageOf(new TypeError("x"))).toContain("page");
  });
});

describe("addresses", () => {
  it("hold what is asked and leave out what is not", () => {
    expect(address("/v1/events", { kind: ["a", "b"], after: 0, sandbox: undefined, cursor: null, newest_first: true })).toBe(
      "/v1/events?kind=a&kind=b&after=0&newest_first=true",
    );
    expect(address("/v1/fleet")).toBe("/v1/fleet");
    expect(address("/x", { q: "a b&c" })).toBe("/x?q=a+b%26c");
  });
});
