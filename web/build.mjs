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
// These passes make what is gzipped of the module smaller. Others, such as those of -Oz, inline or reorder
// functions, and make it larger.
const passes = [
  "vacuum",
  "coalesce-locals",
  "reorder-locals",
  "remove-unused-brs",
  "optimize-instructions",
  "duplicate-function-elimination",
];
const features = ["bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals", "multivalue", "reference-types"];
const path = "dist/wasm/hypostyle_wasm_bg.wasm";
execFileSync(
  process.execPath,
  ["node_modules/binaryen/bin/wasm-opt", ...features.map((it) => `--enable-${it}`), path, ...passes.map((it) => `--${it}`), "-o", path],
  { stdio: "inherit" },
);
const size = (name) => gzipSync(readFileSync(`dist/${name}`), { level: 9 }).length;
const module = size("wasm/hypostyle_wasm_bg.wasm");
const scripts = ["viewer.js", "worker.js", "style.css", "index.html"].map(size).reduce((a, b) => a + b);
console.log(`module ${module} bytes, page ${scripts} bytes, gzipped`);
if (module > 1.5 * 1024 * 1024) {
  console.error("the module has more than 1.5 MiB");
  process.exit(1);
}
