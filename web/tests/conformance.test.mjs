// Asks the module in WebAssembly what the native build was asked about every conformance file,
// and compares the answers.
//
// HYPOSTYLE_NATIVE is the program `native_answers`, HYPOSTYLE_CONFORMANCE the folder.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import init, { File } from "../dist/wasm/hypostyle_wasm.js";

const module = fileURLToPath(new URL("../dist/wasm/hypostyle_wasm_bg.wasm", import.meta.url));

/**
 * Sentences by which the module refuses numbers beyond its 32 bits of address. The native build
 * refuses the same files, but may find another reason first.
 */
const BEYOND = /larger than memory|over the limit of 4294967295|not fit in memory/;

/** Runs a request and supplies what is missing; returns the answers and a sum of the bytes. */
function run(name, bytes, request) {
  const file = new File(name, bytes.length);
  const id = file.start(request);
  const answers = [];
  const sum = createHash("sha256");
  try {
    for (;;) {
      const answer = file.step(id);
      sum.update(file.take_bytes(id));
      const parsed = JSON.parse(answer);
      if (parsed.missing) {
        for (const [start, end] of parsed.missing) {
          file.supply(start, end, bytes.subarray(start, end));
        }
        continue;
      }
      answers.push(answer);
      if (parsed.part === undefined) return { answers, sha256: sum.digest("hex") };
    }
  } finally {
    file.free();
  }
}

test("the module answers as the native build", { timeout: 1_200_000 }, async () => {
  await init({ module_or_path: readFileSync(module) });
  const native = spawn(process.env.HYPOSTYLE_NATIVE, [process.env.HYPOSTYLE_CONFORMANCE], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => native.on("close", resolve));
  let count = 0;
  const files = new Set();
  const beyond = new Set();
  const failures = [];
  for await (const line of createInterface({ input: native.stdout })) {
    const { path, name, request, answers, sha256 } = JSON.parse(line);
    files.add(path);
    count += 1;
    let got;
    try {
      got = run(name, readFileSync(path), request);
    } catch (error) {
      got = { answers: [`trap: ${error}`], sha256: "" };
      // A trap leaves the module in an unknown state.
      await init({ module_or_path: readFileSync(module) });
    }
    const isRefused = (answer) => answer.includes('"error"') || answer.includes('"is_fine":false');
    if (got.answers.some((answer) => BEYOND.test(answer)) && answers.some(isRefused)) {
      beyond.add(path);
      continue;
    }
    if (JSON.stringify(got.answers) !== JSON.stringify(answers)) {
      failures.push(`${path} ${request}\n  native ${answers}\n  wasm   ${got.answers}`.slice(0, 2000));
    } else if (got.sha256 !== sha256) {
      failures.push(`${path} ${request}: other bytes`);
    }
  }
  assert.equal(await ended, 0, "the native program failed");
  assert.ok(files.size > 500, `only ${files.size} files`);
  if (failures.length > 0) console.log(failures.join("\n"));
  console.log(`${files.size} files, ${count} requests, ${failures.length} differences;`,
    `${beyond.size} files are refused for numbers beyond 32 bits`);
  assert.ok(beyond.size <= 12, "more files than the 12 that state such numbers");
  assert.equal(failures.length, 0, "answers differ");
});
