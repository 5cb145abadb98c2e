// The byte map: an icicle of the sections and streams of a file over the bytes that they take,
// with the row groups below. A click zooms, Escape zooms out.

import type { ByteMap, MapNode, Range, RowGroup } from "./answers";
import { bytes, count, el, percent, svg } from "./words";

const LANE = 34;
const GAP = 2;
const GROUP_LANE = 16;

/** Nodes narrower than this many pixels are drawn together. */
const MIN_WIDTH = 2;

interface Box {
  node: MapNode;
  depth: number;
  hue: number;
}

export class MapView {
  private map: ByteMap = { bytes: 0, nodes: [], deviations: [] };
  private groups: RowGroup[] = [];
  private pruned = new Set<number>();
  private boxes: Box[] = [];
  private domain: Range = [0, 1];

  constructor(
    private readonly place: HTMLElement,
    private readonly hint: HTMLElement,
    private readonly out: HTMLButtonElement,
  ) {
    out.addEventListener("click", () => this.zoom([0, this.map.bytes]));
    place.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.zoom([0, this.map.bytes]);
    });
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(map: ByteMap): void {
    this.map = map;
    this.boxes = [];
    this.add(map.nodes, 0, 0);
    this.zoom([0, Math.max(map.bytes, 1)]);
  }

  showGroups(groups: RowGroup[]): void {
    this.groups = groups.length > 1 ? groups : [];
    this.draw();
  }

  /** Marks the row groups that a filter has skipped. */
  showPruned(pruned: number[]): void {
    this.pruned = new Set(pruned);
    this.draw();
  }

  private add(nodes: MapNode[], depth: number, before: number): void {
    nodes.forEach((node, index) => {
      // Neighbours differ, and a column has its colour in the whole file.
      const place = node.column ?? before + index;
      this.boxes.push({ node, depth, hue: (place * 67) % 360 });
      if (node.children) this.add(node.children, depth + 1, before + index);
    });
  }

  private zoom(domain: Range): void {
    this.domain = domain;
    this.out.hidden = domain[0] === 0 && domain[1] >= this.map.bytes;
    this.draw();
    this.tell();
  }

  private tell(node?: MapNode): void {
    if (!node) {
      const some = this.map.nodes.length > 0 ? "Point at a part, or click to zoom." : "";
      this.hint.textContent = `${bytes(this.map.bytes)} in all. ${some}`;
      return;
    }
    this.hint.textContent = describe(node, this.map.bytes);
  }

  private draw(): void {
    const width = Math.max(this.place.clientWidth, 100);
    const lanes = Math.max(1, ...this.boxes.map((box) => box.depth + 1));
    const groupLane = this.groups.length > 0 ? GROUP_LANE + GAP : 0;
    const height = lanes * (LANE + GAP) + groupLane;
    const picture = svg("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "group",
      "aria-label": "Byte map",
    });
    const [from, to] = this.domain;
    const x = (offset: number) => ((offset - from) / (to - from)) * width;
    if (this.boxes.length === 0) {
      picture.append(svg("rect", { x: 0, y: 0, width, height: LANE, class: "whole" }));
    }
    const ends: number[] = [];
    for (const { node, depth, hue } of this.boxes) {
      const [left, right] = [x(node.offset), x(node.offset + node.stored)];
      if (right < 0 || left > width) continue;
      // What is too narrow to see stands behind the last box that was drawn.
      if (right - left < MIN_WIDTH && right < (ends[depth] ?? -1)) continue;
      ends[depth] = Math.max(right, left + MIN_WIDTH);
      picture.append(this.box(node, depth, hue, Math.max(left, 0), Math.min(right, width)));
    }
    this.drawGroups(picture, lanes * (LANE + GAP), x, width);
    this.place.replaceChildren(picture);
  }

  private box(node: MapNode, depth: number, hue: number, left: number, right: number): SVGElement {
    const width = Math.max(right - left - 1, 1);
    const y = depth * (LANE + GAP);
    const box = svg("g", { class: "node", style: `--hue:${hue}`, tabindex: width > 12 ? 0 : -1 });
    box.setAttribute("role", "button");
    box.setAttribute("aria-label", describe(node, this.map.bytes));
    box.append(svg("rect", { x: left, y, width, height: LANE, rx: Math.min(3, width / 2) }));
    // The fill shows how small the content has become.
    if (node.raw && node.raw > node.stored) {
      const share = Math.max(0.06, node.stored / node.raw);
      const h = LANE * share;
      box.append(svg("rect", { x: left, y: y + LANE - h, width, height: h, class: "share" }));
    }
    if (width > 40) {
      const label = svg("text", { x: left + 6, y: y + LANE / 2 + 4 });
      label.textContent = fitted(title(node), width - 10);
      box.append(label);
    }
    const zoom = () => this.zoom([node.offset, node.offset + Math.max(node.stored, 1)]);
    box.addEventListener("pointerenter", () => this.tell(node));
    box.addEventListener("pointerleave", () => this.tell());
    box.addEventListener("focus", () => this.tell(node));
    box.addEventListener("click", zoom);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") zoom();
    });
    return box;
  }

  private drawGroups(picture: SVGElement, y: number, x: (at: number) => number, width: number): void {
    // Row groups may share blocks: those that were read are drawn over those that were skipped.
    const order = this.groups.map((_, index) => index);
    order.sort((one, other) => Number(this.pruned.has(other)) - Number(this.pruned.has(one)));
    order.forEach((index) => {
      const group = this.groups[index];
      if (!group) return;
      const isPruned = this.pruned.has(index);
      const lane = svg("g", { class: isPruned ? "group pruned" : "group" });
      const label = `Row group ${count(index + 1)}: ${count(group.rows)} rows${isPruned ? ", skipped" : ""}`;
      lane.append(titled(label));
      let end = -1;
      for (const [start, stop] of group.ranges) {
        const [left, right] = [Math.max(x(start), 0), Math.min(x(stop), width)];
        if (right < left || right < end) continue;
        end = left + Math.max(right - left, 1);
        lane.append(svg("rect", { x: left, y, width: Math.max(right - left - 0.5, 0.75), height: GROUP_LANE }));
      }
      lane.addEventListener("pointerenter", () => (this.hint.textContent = label));
      picture.append(lane);
    });
  }
}

function titled(text: string): SVGElement {
  const element = svg("title", {});
  element.textContent = text;
  return element;
}

function title(node: MapNode): string {
  return node.name != null ? node.name : node.label;
}

function fitted(text: string, width: number): string {
  const most = Math.floor(width / 7);
  return text.length <= most ? text : most > 2 ? `${text.slice(0, most - 1)}…` : "";
}

/** Says what a part is and how large. */
export function describe(node: MapNode, whole: number): string {
  const what = node.name != null ? `${node.label} of ${node.name}` : node.label;
  const parts = [what, `byte ${count(node.offset)}`, `${bytes(node.stored)} (${percent(node.stored, whole)} of the file)`];
  if (node.type) parts.splice(1, 0, node.type);
  if (node.backend) parts.push(node.backend);
  if (node.raw != null) parts.push(`${bytes(node.raw)} when decompressed (${percent(node.stored, node.raw)})`);
  return parts.join(" · ");
}

/** Lists the parts of a file, for those who cannot see the picture. */
export function partsTable(map: ByteMap): HTMLElement {
  const body = el("tbody");
  const add = (nodes: MapNode[], depth: number) => {
    for (const node of nodes) {
      const indent = "\u2003".repeat(depth);
      body.append(
        el(
          "tr",
          {},
          el("td", { class: "n" }, count(node.offset)),
          el("td", {}, `${indent}${node.label}${node.name != null ? ` ${node.name}` : ""}`),
          el("td", {}, node.type ?? node.backend ?? ""),
          el("td", { class: "n" }, count(node.stored)),
          el("td", { class: "n" }, node.raw != null ? count(node.raw) : ""),
          el("td", { class: "n" }, node.raw ? percent(node.stored, node.raw) : ""),
        ),
      );
      if (node.children) add(node.children, depth + 1);
    }
  };
  add(map.nodes, 0);
  const head = ["offset", "part", "type", "stored", "decompressed", "ratio"];
  const heads = head.map((text) => el("th", { scope: "col" }, text));
  return el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ...heads)), body);
}
