// Opens files in a real browser.
//
// HYPOSTYLE_CHROMIUM is the browser, HYPOSTYLE_CONFORMANCE the folder of conformance files,
// HYPOSTYLE_FILES that of `viewer_files`. HYPOSTYLE_SCREENSHOTS is where pictures go, if anywhere.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const conformance = process.env.HYPOSTYLE_CONFORMANCE;
const files = process.env.HYPOSTYLE_FILES;
const pictures = process.env.HYPOSTYLE_SCREENSHOTS;
const texts = mkdtempSync(join(tmpdir(), "viewer-"));

writeFileSync(join(texts, "people.csv"), "id,name,score\n1,Ada,3.5\n2,Grace,\n3,<b>Alan</b>,9\n");
writeFileSync(join(texts, "events.jsonl"), '{"id":1,"kind":"start"}\n{"id":2,"kind":"stop"}\n');
const stamp = (i) => `2024-01-${String((i % 28) + 1).padStart(2, "0")} 12:00:${String(i % 60).padStart(2, "0")}`;
const line = (i) => `${stamp(i)} INFO request ${i} took ${i % 97} ms`;
writeFileSync(join(texts, "app.log"), Array.from({ length: 500 }, (_, i) => line(i)).join("\n"));

let server;
let browser;

before(async () => {
  const dist = fileURLToPath(new URL("../dist", import.meta.url));
  server = await serve({ viewer: dist, c: conformance, f: files, t: texts });
  browser = await chromium.launch({ executablePath: process.env.HYPOSTYLE_CHROMIUM, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Opens the page, with a file behind a URL if there is a path. */
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const outside = [];
  const problems = [];
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    const isLocal = ["data:", "blob:"].includes(protocol) || `http://${host}` === server.address;
    if (!isLocal) outside.push(request.url());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  const query = path ? `?url=${encodeURIComponent(path)}` : "";
  await page.goto(`${server.address}/viewer/index.html${query}`);
  if (path) await page.waitForSelector("body[data-ready]", { timeout: 120_000 });
  const close = async () => {
    assert.deepEqual(outside, [], "the page asks other servers");
    assert.deepEqual(problems, [], "the page has errors");
    await context.close();
  };
  return { page, close };
}

const cells = (page, row) =>
  page.locator(`[role=row][aria-rowindex="${row + 2}"] [role=gridcell]`).allTextContents();

async function shot(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** Checks the page with axe. */
async function accessible(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => globalThis.axe.run(document));
  const worst = found.violations.map((it) => `${it.id}: ${it.nodes.map((node) => node.html).slice(0, 3)}`);
  assert.deepEqual(worst, []);
}

function one(format, topic, prefix = "") {
  const folder = join(conformance, format, "valid", topic);
  const name = readdirSync(folder).find((it) => it.startsWith(prefix) && it.endsWith(`.${format}`));
  return `/c/${format}/valid/${topic}/${name}`;
}

for (const format of ["colm", "colf", "clmn", "onpair"]) {
  test(`${format}: the rows are those of the expectation`, async () => {
    const topics = readdirSync(join(conformance, format, "valid")).filter((it) => it !== "cpp");
    let shown = 0;
    for (const topic of topics) {
      const path = one(format, topic);
      const expected = JSON.parse(readFileSync(join(conformance, path.slice(3).replace(/\.[a-z]+$/, ".json"))));
      const { page, close } = await open(path);
      const facts = await page.textContent("#facts");
      assert.match(facts, new RegExp(`${expected.columns.length} columns?`), path);
      if (expected.rows > 0) {
        await page.waitForSelector("[role=gridcell]:not(.waiting)");
        const row = await cells(page, 0);
        expected.columns.forEach((column, index) => {
          const value = column.values[0];
          if (typeof value === "string" && value.length < 400) assert.equal(row[index], value, path);
          if (value === null) assert.equal(row[index], "null", path);
        });
        shown += 1;
      }
      await close();
    }
    assert.ok(shown > 0);
  });
}

test("archives of every codec, and text", async () => {
  for (const topic of ["columnar", "json", "jsondoc", "log", "osm", "qcolumnar", "qjson", "qjson2", "raw", "ssh", "vcf", "dicom", "embed"]) {
    const { page, close } = await open(one("at1", topic));
    assert.match(await page.textContent("#facts"), /AT-1/i, topic);
    assert.ok((await page.locator("#map .node").count()) > 0, `${topic} has no byte map`);
    await close();
  }
  for (const name of ["people.csv", "events.jsonl", "app.log"]) {
    const { page, close } = await open(`/t/${name}`);
    await page.waitForSelector("[role=gridcell]:not(.waiting)");
    if (name === "people.csv") assert.deepEqual(await cells(page, 2), ["3", "<b>Alan</b>", "9"]);
    await close();
  }
});

test("templates of logs are counted, whatever the codec", async () => {
  for (const path of [one("at1", "log"), "/t/app.log"]) {
    const log = await open(path);
    await log.page.click("#tab-parts");
    await log.page.waitForSelector("#panel-parts tbody tr");
    if (path === "/t/app.log") {
      const first = await log.page.locator("#panel-parts tbody tr").first().textContent();
      assert.match(first, /^500.*INFO request <\*> took <\*> ms$/);
    }
    await accessible(log.page);
    await log.close();
  }
});

test("files of a bundle are listed, opened and downloaded", async () => {
  const bundle = await open("/c/at1/valid/bundle/two-files.at1");
  const expected = JSON.parse(readFileSync(join(conformance, "at1/valid/bundle/two-files.json")));
  const names = bundle.page.locator("#panel-parts tbody tr td:first-child");
  assert.deepEqual(await names.allTextContents(), expected.entries.map((entry) => entry.name));
  const [first] = expected.entries;
  const [file] = await Promise.all([bundle.page.waitForEvent("download"), bundle.page.click(`[aria-label="Download ${first.name}"]`)]);
  assert.equal(readFileSync(await file.path(), "utf8"), first.text);
  await bundle.page.click(`[aria-label="Open ${first.name}"]`);
  const base = first.name.split("/").pop();
  await bundle.page.waitForFunction((name) => document.querySelector("#facts strong")?.textContent === name && document.body.dataset.ready, base);
  await accessible(bundle.page);
  await bundle.page.click("text=Back to the bundle");
  await bundle.page.waitForSelector(`[aria-label="Open ${first.name}"]`);
  await bundle.close();
});

test("damaged files give the sentences of the command", async () => {
  for (const path of ["colm/invalid/zlib", "colf/invalid/zlib", "at1/invalid/backends"]) {
    const folder = join(conformance, path);
    const name = readdirSync(folder).find((it) => !it.endsWith(".txt"));
    const sentence = readFileSync(join(folder, name.replace(/\.[a-z0-9]+$/, ".txt")), "utf8").trim();
    const { page, close } = await open(`/c/${path}/${name}`);
    await page.click("#tab-file");
    if (await page.locator("#failure").isHidden()) await page.click("text=Check the whole file");
    await page.waitForFunction((text) => document.body.textContent.includes(text), sentence, { timeout: 20_000 });
    await close();
  }
});

test("a filter skips row groups, marks its errors, and can be exported", async () => {
  const { page, close } = await open("/f/groups.at1");
  await page.waitForSelector("[role=gridcell]:not(.waiting)");
  assert.deepEqual((await cells(page, 1)).slice(0, 2), ["1", "Oslo"]);
  assert.ok((await page.locator("#map .group").count()) > 10);
  await shot(page, "rows");
  await page.fill("#predicate", "id between 4000 and 4009 and cty = 'Oslo'");
  await page.press("#predicate", "Enter");
  assert.equal(await page.textContent("#filter-error mark"), "cty");
  await shot(page, "filter-error");
  await page.fill("#predicate", "id between 4000 and 4009 and city = 'Oslo'");
  await page.press("#predicate", "Enter");
  await page.waitForFunction(() => /2 matches ·/.test(document.getElementById("count").textContent));
  assert.match(await page.textContent("#count"), /14 of 15 row groups skipped/);
  assert.equal(await page.locator("#map .group.pruned").count(), 14);
  assert.equal((await cells(page, 0))[0], "4001");
  await shot(page, "filter");
  const [file] = await Promise.all([page.waitForEvent("download"), page.click("#export-csv")]);
  const csv = readFileSync(await file.path(), "utf8").trim().split("\n");
  assert.equal(csv[0], "id,city,price,note");
  assert.deepEqual(csv.slice(1).map((row) => row.split(",")[0]), ["4001", "4006"]);
  await page.click("#clear");
  await page.waitForSelector("#clear", { state: "hidden" });
  const [whole] = await Promise.all([page.waitForEvent("download"), page.click("#export-jsonl")]);
  const lines = readFileSync(await whole.path(), "utf8").trim().split("\n");
  assert.equal(lines.length, 30_000);
  assert.equal(JSON.parse(lines[29_999]).id, 29_999);
  await close();
});

test("the grid scrolls to the last row, by keyboard too", async () => {
  const { page, close } = await open("/f/groups.at1");
  await page.waitForSelector("[role=gridcell]:not(.waiting)");
  await page.locator(".scroller").evaluate((it) => (it.scrollTop = it.scrollHeight));
  await page.waitForFunction(() => document.querySelector('[aria-rowindex="30001"] [role=gridcell]')?.textContent === "29999");
  await page.focus(".scroller");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector("#cell-1-0.active");
  await page.keyboard.press("Enter");
  assert.match(await page.textContent("#record"), /Row 2/);
  await page.keyboard.press("Escape");
  await close();
});

test("columns have statistics and histograms", async () => {
  const { page, close } = await open("/f/groups.at1");
  await page.click("#tab-columns");
  await page.waitForSelector(".histogram");
  await page.waitForFunction(() => document.querySelectorAll(".found").length === 4);
  assert.match(await page.textContent("[data-column='1']"), /5 distinct/);
  await accessible(page);
  await shot(page, "columns");
  await page.click("#tab-file");
  await accessible(page);
  await shot(page, "file");
  await close();
});

test("first rows of a file of 300 MB come at once, and of few bytes", async () => {
  const { page, close } = await open(null);
  const size = readdirSync(files).includes("large.colf") && (await import("node:fs")).statSync(join(files, "large.colf")).size;
  assert.ok(size > 290_000_000, `${size}`);
  server.sent.clear();
  const start = Date.now();
  await page.goto(`${server.address}/viewer/index.html?url=${encodeURIComponent("/f/large.colf")}`);
  await page.waitForSelector("[role=gridcell]:not(.waiting)", { timeout: 30_000 });
  const took = Date.now() - start;
  await page.waitForSelector("body[data-ready]");
  const bytes = server.sent.get("/f/large.colf");
  console.log(`300 MB: first rows after ${took} ms, ${bytes} bytes read, ${((100 * bytes) / size).toFixed(3)} %`);
  assert.deepEqual((await cells(page, 0))[0], "0");
  assert.ok(bytes < size / 100, `${bytes} bytes`);
  assert.ok(took < 1000, `${took} ms`);
  await shot(page, "large");
  await close();
});

test("a file of the user is read by slices, and nothing is sent", async () => {
  const { page, close } = await open(null);
  assert.match(await page.textContent("#landing"), /Nothing is uploaded/);
  await accessible(page);
  await shot(page, "landing");
  const requests = [];
  page.on("request", (request) => requests.push(`${request.method()} ${basename(new URL(request.url()).pathname)}`));
  await page.setInputFiles("#pick", join(files, "large.colf"));
  await page.waitForSelector("[role=gridcell]:not(.waiting)", { timeout: 30_000 });
  assert.deepEqual(requests.sort(), ["GET hypostyle_wasm_bg.wasm", "GET worker.js"]);
  await close();
});

test("dark mode and a phone", async () => {
  const dark = await open("/f/groups.at1", { colorScheme: "dark" });
  await dark.page.waitForSelector("[role=gridcell]:not(.waiting)");
  const paper = await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.match(paper, /rgb\(2\d, 2\d, 2\d\)/);
  await accessible(dark.page);
  await shot(dark.page, "dark");
  await dark.close();
  const phone = await open("/f/groups.at1", { viewport: { width: 375, height: 740 }, hasTouch: true });
  await phone.page.waitForSelector("[role=gridcell]:not(.waiting)");
  for (const tab of ["rows", "columns", "file"]) {
    await phone.page.click(`#tab-${tab}`);
    const width = await phone.page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(width <= 375, `${tab} is ${width} pixels wide`);
    await shot(phone.page, `phone-${tab}`);
  }
  await accessible(phone.page);
  await phone.close();
});
