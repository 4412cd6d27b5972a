// Fails when what a browser loads for Mission Control, without the screen and the terminal, is above the limit.
// Those two (noVNC, xterm) are chunks of their own, loaded when their tab is opened.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT_BYTES = 400 * 1024;
const LAZY = /^(novnc|xterm)-/;

const dist = resolve(process.argv[2] ?? "dist");
const page = readFileSync(join(dist, "index.html"), "utf8");
let total = 0;
for (const name of readdirSync(join(dist, "assets"))
  .filter((file) => file.endsWith(".js"))
  .sort()) {
  const bytes = gzipSync(readFileSync(join(dist, "assets", name)), { level: 9 }).length;
  const counts = !LAZY.test(name) || page.includes(name); // loaded with the page, it is lazy in name only
  if (counts) total += bytes;
  console.log(`${(bytes / 1024).toFixed(1).padStart(8)} KB  ${name}${counts ? "" : "  (lazy, not counted)"}`);
}
console.log(`${(total / 1024).toFixed(1).padStart(8)} KB  JavaScript, gzipped; at most ${LIMIT_BYTES / 1024} KB`);
if (total > LIMIT_BYTES) {
  console.error("The bundle is too large. `npx vite build` lists the chunks; import what is rarely needed lazily.");
  process.exit(1);
}
