// Puts the page together in dist/: the scripts, the style, the page and the module.
//
// `cargo xtask viewer` compiles the module and calls this.

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
// Binaryen's wasm-opt makes the module smaller, but not what is gzipped of it.
const size = (name) => gzipSync(readFileSync(`dist/${name}`), { level: 9 }).length;
const module = size("wasm/hypostyle_wasm_bg.wasm");
const scripts = ["viewer.js", "worker.js", "style.css", "index.html"].map(size).reduce((a, b) => a + b);
console.log(`module ${module} bytes, page ${scripts} bytes, gzipped`);
if (module > 1_500_000) {
  console.error("the module has more than 1.5 MB");
  process.exit(1);
}
