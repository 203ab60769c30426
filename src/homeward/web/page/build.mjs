// Bundles the page into a folder, ../static unless another is named: page.js, worker.js, shared.js, player.js, page.css,
// index.html, icon.svg, demo.json, and apart what only some views need. Nothing in them is inline and nothing points elsewhere.
import { build } from "esbuild";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "static");

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const shared = {
  absWorkingDir: here,
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
};
await build({ ...shared, entryPoints: { page: "src/main.tsx" }, splitting: true });
await build({ ...shared, entryPoints: { worker: "src/map/worker.ts", shared: "src/shared.ts" } });
// For files that play a run without a server: in one piece, to be put into the file.
await build({ ...shared, format: "iife", entryPoints: { player: "src/player/export.tsx" } });
for (const file of ["index.html", "icon.svg", "demo.json"]) {
  await copyFile(join(here, file), join(out, file));
}
