// The page: opens files and puts the views together.

import type { ByteMap, Column, Description, Deviation, Member, Profile, Row, Rows, SearchPart, TableInfo, Templates, Verification } from "./answers";
import { Client, type Job, ViewError } from "./client";
import { columnsPanel } from "./columns";
import { Grid, type RowSource } from "./grid";
import { MapView, partsTable } from "./map";
import { byId, bytes, count, el, plural } from "./words";

/** Rows from which histograms are made. */
const PROFILE_ROWS = 20_000;

const SCRIPTS = new URL(".", import.meta.url);
const WORKER = new URL("worker.js", SCRIPTS).href;
const WASM = new URL("wasm/hypostyle_wasm_bg.wasm", SCRIPTS).href;

const map = new MapView(byId("map"), byId("hint"), byId("zoom-out") as HTMLButtonElement);
const grid = new Grid(byId("grid"));
grid.onerror = (error) => fail(error);

let client: Client | undefined;
let table: TableInfo | undefined;
let file: Description | undefined;
let predicate: string | undefined;
let profiled = false;
/** Fills the third tab when it is first chosen. */
let showParts: (() => Promise<void>) | undefined;
/** The bundle whose file is shown. */
let bundle: Origin | undefined;
let origin: Origin | undefined;

/** Where a file is. */
type Origin = { blob: Blob; name: string } | { url: string };

function fail(error: Error): void {
  const place = byId("failure");
  place.hidden = false;
  place.replaceChildren(el("strong", {}, file ? `${file.name}: ` : ""), error.message);
  byId("progress").hidden = true;
}

function waitFor(text: string | undefined): void {
  byId("progress").hidden = text === undefined;
  byId("progress").textContent = text ?? "";
}

async function open(from: Origin, outer?: Origin): Promise<void> {
  client?.close();
  [origin, bundle, showParts] = [from, outer, undefined];
  delete document.body.dataset.ready;
  for (const tab of TABS) byId(`tab-${tab}`).hidden = tab === "parts";
  client = new Client(WORKER);
  const mine = client;
  mine.onprogress = (fetched, of) => waitFor(`Reading ${bytes(Math.min(fetched, of))} of ${bytes(of)}`);
  [table, file, predicate, profiled] = [undefined, undefined, undefined, false];
  byId("failure").hidden = true;
  byId("landing").hidden = true;
  byId("view").hidden = true;
  waitFor("Opening");
  try {
    await mine.open(from, WASM);
    file = await mine.ask<Description>({ op: "describe" });
    document.title = `${file.name} – Hypostyle viewer`;
    facts();
    byId("view").hidden = false;
    map.show({ bytes: file.bytes, nodes: [], deviations: [] });
    choose("rows");
    // A file whose rows cannot be read still has bytes to look at.
    const shown = file.archive?.codec === "bundle" ? showMembers(mine) : showTable(mine);
    await shown.catch((error: Error) => mine === client && fail(error));
    waitFor(undefined);
    const found = await mine.ask<ByteMap>({ op: "map" });
    map.show(found);
    showFile(found);
    if (isLog()) offerTemplates(mine);
  } catch (error) {
    if (mine === client) fail(error as Error);
  } finally {
    if (mine === client) document.body.dataset.ready = "yes";
  }
}

async function showTable(mine: Client): Promise<void> {
  table = await mine.ask<TableInfo>({ op: "table" });
  facts();
  map.showGroups(table.groups);
  showAll();
}

function facts(): void {
  if (!file) return;
  const parts = [el("strong", {}, file.name), el("span", { class: "chip" }, file.kind), el("span", {}, bytes(file.bytes))];
  if (file.archive) parts.push(el("span", {}, `codec ${file.archive.codec}`));
  if (bundle) {
    const [outer, back] = [bundle, el("button", { class: "quiet" }, "Back to the bundle")];
    back.addEventListener("click", () => void open(outer));
    parts.unshift(back);
  }
  if (table) {
    parts.push(el("span", {}, plural(table.rows, "row")), el("span", {}, plural(table.columns.length, "column")));
    const deviations = table.deviations.length;
    const text = deviations === 0 ? "keeps its spec" : plural(deviations, "deviation");
    parts.push(el("span", { class: deviations === 0 ? "chip good" : "chip warn" }, text));
  }
  byId("facts").replaceChildren(...parts);
}

function showAll(): void {
  if (!table || !client) return;
  const [rows, mine] = [table.rows, client];
  predicate = undefined;
  byId("clear").hidden = true;
  byId("filter-error").replaceChildren();
  map.showPruned([]);
  byId("count").textContent = `${plural(rows, "row")}${table.row_groups > 1 ? ` in ${plural(table.row_groups, "row group")}` : ""}`;
  grid.show(table.columns, {
    count: () => rows,
    load: async (from, number) => {
      const part = await mine.ask<Rows>({ op: "rows", from, count: number });
      return part.rows;
    },
  });
}

/** The rows that match a predicate, which are found as somebody scrolls. */
class Matches implements RowSource {
  private readonly rows: Row[] = [];
  private done = false;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly job: Job<SearchPart>,
    private readonly report: (part: SearchPart, found: number, done: boolean) => void,
  ) {}

  count(): number {
    return this.rows.length;
  }

  async load(from: number, number: number): Promise<Row[]> {
    await this.find(from + 2 * number);
    return this.rows.slice(from, from + number);
  }

  /** Finds rows until there are so many. */
  async find(wanted: number): Promise<void> {
    this.running = this.running.then(async () => {
      while (!this.done && this.rows.length < wanted) {
        const part = await this.job.next();
        this.done = part.done;
        for (const row of part.value.rows) this.rows.push(row);
        this.report(part.value, this.rows.length, this.done);
      }
    });
    await this.running;
  }
}

let matches: Job<SearchPart> | undefined;

async function search(text: string): Promise<void> {
  if (!client || !table) return;
  if (text.trim() === "") return showAll();
  const columns: Column[] = table.columns;
  byId("filter-error").replaceChildren();
  matches?.end();
  try {
    const job = await client.start<SearchPart>({ op: "filter", predicate: text });
    matches = job;
    const source = new Matches(job, (part, found, done) => {
      if (part.pruned) map.showPruned(part.pruned);
      const { row_groups, row_groups_pruned, rows_read } = part.stats;
      const skipped = row_groups_pruned > 0 ? ` · ${count(row_groups_pruned)} of ${plural(row_groups, "row group")} skipped by statistics` : "";
      byId("count").textContent = `${plural(found, "match").replace(/matchs$/, "matches")}${done ? "" : " so far"} · ${plural(rows_read, "row")} tested${skipped}`;
      grid.refresh();
    });
    await source.find(1);
    predicate = text;
    byId("clear").hidden = false;
    grid.show(columns, source);
  } catch (error) {
    showPlace(text, error as Error);
  }
}

/** Shows an error of a predicate under the word that it is about. */
function showPlace(text: string, error: Error): void {
  const place = byId("filter-error");
  const message = el("p", {}, error.message);
  if (error instanceof ViewError && error.place) {
    const [at, length] = error.place;
    const chars = [...text.padEnd(at + length, " ")];
    const marked = el("mark", {}, chars.slice(at, at + length).join(""));
    place.replaceChildren(el("code", {}, chars.slice(0, at).join(""), marked, chars.slice(at + length).join("")), message);
    (byId("predicate") as HTMLInputElement).setSelectionRange(at, at + length);
  } else {
    place.replaceChildren(message);
  }
  byId("predicate").setAttribute("aria-invalid", "true");
}

async function save(format: "csv" | "jsonl"): Promise<void> {
  if (!client || !file) return;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  try {
    const job = await client.start<{ rows: number }>({ op: "export", format, ...(predicate ? { predicate } : {}) });
    for (;;) {
      const part = await job.next();
      parts.push(part.bytes as Uint8Array<ArrayBuffer>);
      waitFor(`Exporting: ${plural(part.value.rows, "row")}`);
      if (part.done) break;
    }
    download(parts, `${file.name.replace(/\.[^.]*$/, "")}.${format}`);
  } catch (error) {
    fail(error as Error);
  } finally {
    waitFor(undefined);
  }
}

function download(parts: BlobPart[], name: string): void {
  const link = el("a", { href: URL.createObjectURL(new Blob(parts)), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Unpacks the original, or a file of a bundle, and hands it to `use`. */
async function unpack(use: (original: Blob) => void, member?: number): Promise<void> {
  if (!client) return;
  try {
    waitFor("Unpacking");
    const job = await client.start<{ bytes: number }>({ op: "unpack", ...(member === undefined ? {} : { member }) });
    const part = await job.next();
    job.end();
    use(new Blob([part.bytes as Uint8Array<ArrayBuffer>]));
  } catch (error) {
    fail(error as Error);
  } finally {
    waitFor(undefined);
  }
}

async function showMembers(mine: Client): Promise<void> {
  const members = await mine.ask<Member[]>({ op: "members" });
  const body = el("tbody");
  members.forEach((member, index) => {
    const name = member.name.split("/").pop() || "file";
    const button = (word: string, use: (original: Blob) => void) => {
      const button = el("button", { class: "quiet" }, word);
      button.setAttribute("aria-label", `${word} ${member.name}`);
      button.addEventListener("click", () => void unpack(use, index));
      return button;
    };
    const outer = origin;
    const show = button("Open", (original) => void open({ blob: original, name }, outer));
    const save = button("Download", (original) => download([original], name));
    body.append(el("tr", {}, el("td", {}, member.name), el("td", {}, member.codec), el("td", {}, member.mode ?? ""), el("td", {}, show), el("td", {}, save)));
  });
  const heads = ["file", "codec", "mode", "view", "original"].map((text) => el("th", { scope: "col" }, text));
  parts("Files", el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ...heads)), body));
  byId("tab-rows").hidden = true;
  byId("tab-columns").hidden = true;
  choose("parts");
}

/** The columns of every log, whatever the codec of its archive. */
const LOG_COLUMNS = "line,time,template,variables";

function isLog(): boolean {
  return file?.archive?.codec === "log" || table?.columns.map((it) => it.name).join() === LOG_COLUMNS;
}

/** Offers the templates of a log, which are counted when somebody looks at them. */
function offerTemplates(mine: Client): void {
  parts("Templates", el("p", { class: "hint" }, "Counting the lines of each template"));
  showParts = async () => {
    waitFor("Counting templates");
    try {
      const found = await mine.ask<Templates | null>({ op: "templates" });
      if (mine === client && found) showTemplates(found);
    } catch (error) {
      if (mine === client) fail(error as Error);
    }
    waitFor(undefined);
  };
}

function showTemplates({ templates, others }: Templates): void {
  const most = templates.reduce((most, it) => Math.max(most, it.lines), 1);
  const body = el("tbody");
  for (const { template, lines } of templates) {
    const bar = el("span", { class: "meter" });
    bar.style.setProperty("--share", String(lines / most));
    body.append(el("tr", {}, el("td", { class: "n" }, count(lines)), el("td", {}, bar), el("td", {}, el("code", {}, template))));
  }
  const heads = ["lines", "share", "template"].map((text) => el("th", { scope: "col" }, text));
  const listed = el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ...heads)), body);
  const rest = others > 0 ? [el("p", {}, `${plural(others, "line")} of other templates`)] : [];
  parts("Templates", el("div", {}, el("p", { class: "hint" }, plural(templates.length, "template")), listed, ...rest));
}

function parts(name: string, content: HTMLElement): void {
  byId("tab-parts").hidden = false;
  byId("tab-parts").textContent = name;
  byId("panel-parts").replaceChildren(el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name }, content));
}

function deviationList(found: Deviation[]): HTMLElement {
  if (found.length === 0) return el("p", {}, "No deviations from the spec were found in what was read.");
  const items = found.map((it) => el("li", {}, el("strong", {}, it.code), ` at byte ${count(it.offset)}: ${it.message}`));
  return el("ul", {}, ...items);
}

function showFile(found: ByteMap): void {
  if (!file) return;
  const panel = byId("panel-file");
  const list = el("dl", { class: "facts-list" });
  const fact = (name: string, value: string) => list.append(el("dt", {}, name), el("dd", {}, value));
  fact("Kind", file.kind);
  fact("Size", `${count(file.bytes)} bytes`);
  if (file.archive) {
    fact("Container", file.archive.container);
    fact("Codec", file.archive.codec);
    if (file.archive.sha256) fact("SHA-256 of the original", file.archive.sha256);
  }
  const deviations = [...(table?.deviations ?? found.deviations)];
  const checked = el("div");
  const check = el("button", {}, "Check the whole file");
  check.addEventListener("click", async () => {
    waitFor("Checking");
    try {
      const result = await client?.ask<Verification>({ op: "verify" });
      if (!result) return;
      const verdict = result.is_fine ? "The file is fine." : plural(result.errors.length, "error");
      checked.replaceChildren(el("p", {}, el("strong", {}, verdict)), ...result.errors.map((error) => el("p", { class: "bad" }, error)), deviationList(result.deviations));
    } catch (error) {
      fail(error as Error);
    }
    waitFor(undefined);
  });
  const buttons = el("p", { class: "row" }, check);
  if (file.archive && file.archive.codec !== "bundle") {
    const original = el("button", { class: "quiet" }, "Download the original");
    original.addEventListener("click", () => {
      const name = file?.name.replace(/\.at1$/, "") ?? "original";
      void unpack((blob) => download([blob], name));
    });
    buttons.append(original);
  }
  panel.replaceChildren(
    list,
    el("h2", {}, "Deviations"),
    deviationList(deviations),
    ...(table?.notes ?? []).map((note) => el("p", {}, note)),
    buttons,
    checked,
    el("h2", {}, "Parts"),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Parts of the file" }, partsTable(found)),
  );
}

const TABS = ["rows", "columns", "parts", "file"];

function choose(name: string): void {
  for (const tab of TABS) {
    const isChosen = tab === name;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(isChosen));
    byId(`tab-${tab}`).tabIndex = isChosen ? 0 : -1;
    byId(`panel-${tab}`).hidden = !isChosen;
  }
  if (name === "parts" && showParts) {
    const fill = showParts;
    showParts = undefined;
    void fill();
  }
  if (name === "columns" && table && client && !profiled) {
    profiled = true;
    const mine = client;
    byId("panel-columns").replaceChildren(
      columnsPanel(table, (column) => mine.ask<Profile>({ op: "profile", column, rows: PROFILE_ROWS })),
    );
  }
}

for (const tab of TABS) {
  byId(`tab-${tab}`).addEventListener("click", () => choose(tab));
  byId(`tab-${tab}`).addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const shown = TABS.filter((it) => !byId(`tab-${it}`).hidden);
    const next = shown[(shown.indexOf(tab) + step + shown.length) % shown.length];
    if (step === 0 || !next) return;
    choose(next);
    byId(`tab-${next}`).focus();
  });
}

byId("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  byId("predicate").removeAttribute("aria-invalid");
  void search((byId("predicate") as HTMLInputElement).value);
});
byId("clear").addEventListener("click", () => {
  (byId("predicate") as HTMLInputElement).value = "";
  showAll();
});
byId("export-csv").addEventListener("click", () => void save("csv"));
byId("export-jsonl").addEventListener("click", () => void save("jsonl"));
byId("pick").addEventListener("change", (event) => {
  const picked = (event.target as HTMLInputElement).files?.[0];
  if (picked) void open({ blob: picked, name: picked.name });
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
addEventListener("dragleave", () => document.body.classList.remove("dragging"));
addEventListener("drop", (event: DragEvent) => {
  event.preventDefault();
  document.body.classList.remove("dragging");
  const dropped = event.dataTransfer?.files[0];
  if (dropped) void open({ blob: dropped, name: dropped.name });
});
byId("address").addEventListener("submit", (event) => {
  event.preventDefault();
  const address = (byId("url") as HTMLInputElement).value;
  history.replaceState(null, "", `?url=${encodeURIComponent(address)}`);
  void open({ url: new URL(address, location.href).href });
});

const address = new URLSearchParams(location.search).get("url");
if (address) void open({ url: new URL(address, location.href).href });
