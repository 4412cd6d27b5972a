// Writes src/api/schema.ts from the OpenAPI document of the server's own application object.
// `--check` only compares, and says so when the file is stale.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const top = fileURLToPath(new URL("../..", import.meta.url));
const target = fileURLToPath(new URL("../src/api/schema.ts", import.meta.url));
const note = "// Generated from the server's OpenAPI document by `npm run types`. Do not edit.\n\n";

const document = execFileSync(`${top}.venv/bin/python`, [`${top}scripts/openapi`], {
  encoding: "utf8",
  maxBuffer: 64 * 1024 * 1024,
});
const wanted = note + astToString(await openapiTS(document, { alphabetize: true, enumValues: true }));
const present = existsSync(target) ? readFileSync(target, "utf8") : "";
if (present === wanted) process.exit(0);
if (process.argv.includes("--check")) {
  console.error("web/src/api/schema.ts is out of date: the API has changed. Run `npm run types` in web/.");
  process.exit(1);
}
writeFileSync(target, wanted);
