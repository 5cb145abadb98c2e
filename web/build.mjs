// Puts the page together in dist/: the scripts, the style, the page and the module.
//
// `cargo xtask viewer` compiles the module and calls this.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

mkdirSync("dist", { recursive: true });
await build({
  entryPoints: { viewer: "src/main.ts", worker: "src/worker.ts", style: "src/style.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  logLevel: "warning",
});
cpSync("index.html", "dist/index.html");
// Optimisation as a whole takes minutes and makes what is gzipped larger; these passes do not.
const passes = ["duplicate-function-elimination", "rse", "vacuum", "merge-blocks"];
const raw = "dist/wasm/hypostyle_wasm_bg.wasm";
const tool = "node_modules/binaryen/bin/wasm-opt";
// What the compiler emits, and every browser of the last years reads.
const features = ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"];
const flags = [...features.map((feature) => `--enable-${feature}`), ...passes.map((pass) => `--${pass}`)];
execFileSync(process.execPath, [tool, ...flags, raw, "-o", raw]);

const size = (name) => gzipSync(readFileSync(`dist/${name}`), { level: 9 }).length;
const module = size("wasm/hypostyle_wasm_bg.wasm");
const scripts = ["viewer.js", "worker.js", "style.css", "index.html"].map(size).reduce((a, b) => a + b);
console.log(`module ${module} bytes, page ${scripts} bytes, gzipped`);
if (module > 1_500_000) {
  console.error("the module has more than 1.5 MB");
  process.exit(1);
}
