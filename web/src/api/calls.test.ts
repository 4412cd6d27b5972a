import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");

/** Every `"GET", "/v1/…"` of the calls, with `{}` for what is filled in. */
function called(): string[] {
  const found = read("./calls.ts").matchAll(/\("(GET|POST|PUT|PATCH|DELETE)",\s*["`](\/v1[^"`]*)["`]/g);
  return [...found].map(([, method = "", path = ""]) => `${method.toLowerCase()} ${path.replace(/\$\{[^}]*\}/g, "{}")}`);
}

/** The same of the generated document. */
function served(): Set<string> {
  const [, paths = ""] = /export interface paths \{([\s\S]*?)\nexport type webhooks/.exec(read("./schema.ts")) ?? [];
  const found = new Set<string>();
  for (const [, path = "", body = ""] of paths.matchAll(/^ {4}"(\/v1[^"]*)": \{([\s\S]*?)^ {4}\};/gm)) {
    for (const [, method] of body.matchAll(/^ {8}(get|post|put|patch|delete): operations/gm))
      found.add(`${method} ${path.replace(/\{[^}]*\}/g, "{}")}`);
  }
  return found;
}

describe("the calls of the pages", () => {
  it("go to routes that the server has", () => {
    const routes = served();
    expect(routes.size).toBeGreaterThan(25);
    expect(called().length).toBeGreaterThan(25);
    for (const call of called()) expect(routes, call).toContain(call);
  });
});
