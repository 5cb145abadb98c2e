// A grid that shows some rows of millions, and fetches those that come into view.

import type { Column, Row } from "./answers";
import { byId, count, el } from "./words";

const ROW = 28;
const PAGE = 200;
const KEPT_PAGES = 60;

/** Browsers cut elements that are higher than some 33 million pixels. */
const MAX_HEIGHT = 12_000_000;

/** Rows that a grid shows. */
export interface RowSource {
  /** The number of rows, as far as it is known. */
  count(): number;
  /** Returns rows, fewer at the end. */
  load(from: number, count: number): Promise<Row[]>;
}

export class Grid {
  private source: RowSource = { count: () => 0, load: async () => [] };
  private columns: Column[] = [];
  private widths: number[] = [];
  private lefts: number[] = [];
  private readonly pages = new Map<number, Row[]>();
  private readonly loading = new Set<number>();
  private generation = 0;
  private active = { row: 0, column: 0 };
  private readonly scroller = el("div", { class: "scroller", tabindex: "0" });
  private readonly canvas = el("div", { class: "canvas", role: "presentation" });
  private readonly head = el("div", { class: "line head", role: "row", "aria-rowindex": "1" });
  private readonly body = el("div", { class: "body", role: "rowgroup" });
  private drawn = false;
  onerror?: (error: Error) => void;

  constructor(place: HTMLElement) {
    this.scroller.setAttribute("role", "grid");
    this.scroller.setAttribute("aria-label", "Rows");
    const headGroup = el("div", { role: "rowgroup", class: "headgroup" }, this.head);
    this.canvas.append(headGroup, this.body);
    this.scroller.append(this.canvas);
    place.replaceChildren(this.scroller);
    this.scroller.addEventListener("scroll", () => this.schedule());
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("click", (event) => this.click(event));
    this.scroller.addEventListener("dblclick", () => void this.record());
    new ResizeObserver(() => this.schedule()).observe(this.scroller);
  }

  show(columns: Column[], source: RowSource): void {
    this.generation += 1;
    this.pages.clear();
    this.loading.clear();
    this.columns = columns;
    this.source = source;
    this.active = { row: 0, column: 0 };
    this.scroller.scrollTop = 0;
    this.setWidths([]);
    this.schedule();
  }

  /** Shows more rows of the same source. */
  refresh(): void {
    for (const [page, rows] of this.pages) if (rows.length < PAGE) this.pages.delete(page);
    this.schedule();
  }

  private get visible(): number {
    return Math.max(1, Math.floor((this.scroller.clientHeight - ROW) / ROW));
  }

  private get height(): number {
    return Math.min((this.source.count() + 1) * ROW, MAX_HEIGHT);
  }

  /** The first row in view. Beyond the largest height, rows and pixels are in proportion. */
  private get top(): number {
    const rows = this.source.count();
    const { scrollTop, clientHeight } = this.scroller;
    if ((rows + 1) * ROW <= MAX_HEIGHT) return Math.floor(scrollTop / ROW);
    const share = scrollTop / Math.max(1, this.height - clientHeight);
    return Math.round(share * Math.max(0, rows - this.visible));
  }

  private scrollTo(row: number): void {
    const rows = this.source.count();
    const top = this.top;
    if (row >= top && row < top + this.visible) return;
    const first = row < top ? row : row - this.visible + 1;
    this.scroller.scrollTop =
      (rows + 1) * ROW <= MAX_HEIGHT
        ? first * ROW
        : (first / Math.max(1, rows - this.visible)) * (this.height - this.scroller.clientHeight);
  }

  private setWidths(sample: Row[]): void {
    const longest = (index: number) =>
      sample.reduce((most, row) => Math.max(most, [...(row[index] ?? "null")].length), 0);
    this.widths = this.columns.map((column, index) => {
      const chars = Math.max([...column.name].length + 2, Math.min(longest(index), 42), 4);
      return Math.min(22 + Math.ceil(chars * 8.4), 380);
    });
    let left = this.numberWidth();
    this.lefts = this.widths.map((width) => (left += width) - width);
    this.canvas.style.width = `${left}px`;
  }

  private numberWidth(): number {
    return Math.max(56, 24 + String(this.source.count()).length * 11);
  }

  private schedule(): void {
    if (this.drawn) return;
    this.drawn = true;
    requestAnimationFrame(() => {
      this.drawn = false;
      this.draw();
    });
  }

  private columnsInView(): [number, number] {
    const { scrollLeft, clientWidth } = this.scroller;
    const first = this.lefts.findIndex((left, i) => left + (this.widths[i] ?? 0) > scrollLeft);
    const after = this.lefts.findIndex((left) => left > scrollLeft + clientWidth);
    return [Math.max(0, first), after < 0 ? this.columns.length : after];
  }

  private draw(): void {
    const rows = this.source.count();
    this.scroller.setAttribute("aria-rowcount", String(rows + 1));
    this.scroller.setAttribute("aria-colcount", String(this.columns.length + 1));
    this.canvas.style.height = `${this.height}px`;
    const top = this.top;
    const end = Math.min(rows, top + this.visible + 2);
    this.request(top, end);
    const shown = this.columnsInView();
    this.head.replaceChildren(this.corner(), ...this.heads(shown));
    this.body.style.transform = `translateY(${this.scroller.scrollTop}px)`;
    const lines: HTMLElement[] = [];
    for (let row = top; row < end; row += 1) lines.push(this.line(row, shown));
    this.body.replaceChildren(...lines);
    const cell = document.getElementById(`cell-${this.active.row}-${this.active.column}`);
    if (cell) this.scroller.setAttribute("aria-activedescendant", cell.id);
    else this.scroller.removeAttribute("aria-activedescendant");
  }

  private corner(): HTMLElement {
    const corner = el("div", { role: "columnheader", class: "cell number", "aria-colindex": "1" }, "row");
    corner.style.width = `${this.numberWidth()}px`;
    return corner;
  }

  private heads([from, to]: [number, number]): HTMLElement[] {
    return this.columns.slice(from, to).map((column, offset) => {
      const index = from + offset;
      const cell = el(
        "div",
        { role: "columnheader", class: column.numeric ? "cell right" : "cell", "aria-colindex": String(index + 2), title: `${column.name} (${column.type})` },
        column.name,
      );
      this.position(cell, index);
      return cell;
    });
  }

  private position(cell: HTMLElement, column: number): void {
    cell.style.left = `${this.lefts[column]}px`;
    cell.style.width = `${this.widths[column]}px`;
  }

  private line(row: number, [from, to]: [number, number]): HTMLElement {
    const found = this.pages.get(Math.floor(row / PAGE))?.[row % PAGE];
    const line = el("div", { role: "row", class: row % 2 ? "line odd" : "line", "aria-rowindex": String(row + 2) });
    const number = el("div", { role: "rowheader", class: "cell number", "aria-colindex": "1" }, count(row + 1));
    number.style.width = `${this.numberWidth()}px`;
    line.append(number);
    for (let column = from; column < to; column += 1) {
      const value = found?.[column];
      const isActive = row === this.active.row && column === this.active.column;
      const classes = ["cell"];
      if (this.columns[column]?.numeric) classes.push("right");
      if (found && value === null) classes.push("null");
      if (!found) classes.push("waiting");
      if (isActive) classes.push("active");
      const text = found ? (value === null ? "null" : (value ?? "")) : "…";
      const cell = el("div", { role: "gridcell", class: classes.join(" "), "aria-colindex": String(column + 2), id: `cell-${row}-${column}` }, text);
      this.position(cell, column);
      line.append(cell);
    }
    return line;
  }

  private request(top: number, end: number): void {
    for (let page = Math.floor(top / PAGE); page * PAGE < end; page += 1) {
      if (this.pages.has(page) || this.loading.has(page)) continue;
      this.loading.add(page);
      void this.load(page, this.generation);
    }
  }

  private async load(page: number, generation: number): Promise<void> {
    try {
      const rows = await this.source.load(page * PAGE, PAGE);
      if (generation !== this.generation) return;
      if (this.pages.size === 0) this.setWidths(rows);
      this.pages.set(page, rows);
      const oldest = this.pages.keys().next().value;
      if (this.pages.size > KEPT_PAGES && oldest !== undefined) this.pages.delete(oldest);
      this.schedule();
    } catch (error) {
      if (generation === this.generation) this.onerror?.(error as Error);
    } finally {
      this.loading.delete(page);
    }
  }

  private click(event: MouseEvent): void {
    const cell = (event.target as HTMLElement).closest("[id^=cell-]");
    const [, row, column] = cell?.id.split("-") ?? [];
    if (row === undefined) return;
    this.active = { row: Number(row), column: Number(column) };
    this.schedule();
  }

  private key(event: KeyboardEvent): void {
    const last = { row: this.source.count() - 1, column: this.columns.length - 1 };
    let { row, column } = this.active;
    if (event.key === "ArrowDown") row += 1;
    else if (event.key === "ArrowUp") row -= 1;
    else if (event.key === "ArrowRight") column += 1;
    else if (event.key === "ArrowLeft") column -= 1;
    else if (event.key === "PageDown") row += this.visible;
    else if (event.key === "PageUp") row -= this.visible;
    else if (event.key === "Home") event.ctrlKey ? (row = 0) : (column = 0);
    else if (event.key === "End") event.ctrlKey ? (row = last.row) : (column = last.column);
    else if (event.key === "Enter") return void this.record();
    else return;
    event.preventDefault();
    row = Math.max(0, Math.min(row, last.row));
    column = Math.max(0, Math.min(column, last.column));
    this.active = { row, column };
    this.scrollTo(row);
    const [left, width] = [this.lefts[column] ?? 0, this.widths[column] ?? 0];
    const { scrollLeft, clientWidth } = this.scroller;
    if (left < scrollLeft + this.numberWidth()) this.scroller.scrollLeft = left - this.numberWidth();
    if (left + width > scrollLeft + clientWidth) this.scroller.scrollLeft = left + width - clientWidth;
    this.schedule();
  }

  /** Shows the active row as a list of columns and values. */
  private async record(): Promise<void> {
    const { row } = this.active;
    const found = this.pages.get(Math.floor(row / PAGE))?.[row % PAGE];
    if (!found) return;
    const dialog = byId("record") as HTMLDialogElement;
    const list = el("dl");
    this.columns.forEach((column, index) => {
      const value = found[index];
      list.append(el("dt", {}, column.name), el("dd", value === null ? { class: "null" } : {}, value ?? "null"));
    });
    const close = el("button", { class: "quiet" }, "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(el("div", { class: "bar" }, el("h2", { id: "record-title" }, `Row ${count(row + 1)}`), close), list);
    dialog.showModal();
  }
}
