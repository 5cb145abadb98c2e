// The columns of a table: types, nulls, bounds, distinct values and small histograms.

import type { Column, Profile, TableInfo } from "./answers";
import { count, el, percent, plural, svg } from "./words";

const WIDTH = 160;
const HEIGHT = 36;

/** Returns a list of columns, each of which is profiled when it comes into view. */
export function columnsPanel(table: TableInfo, profile: (column: number) => Promise<Profile>): HTMLElement {
  const list = el("ol", { class: "columns" });
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((it) => it.isIntersecting)) {
      seen.unobserve(entry.target);
      const item = entry.target as HTMLElement;
      const index = Number(item.dataset.column);
      const column = table.columns[index];
      if (!column) continue;
      profile(index).then(
        (found) => show(item, column, found),
        (error: Error) => item.append(el("p", { class: "bad" }, error.message)),
      );
    }
  });
  table.columns.forEach((column, index) => {
    const item = el(
      "li",
      { "data-column": String(index) },
      el("div", { class: "name" }, el("strong", {}, column.name), " ", el("span", { class: "chip" }, column.type)),
      el("div", { class: "known" }, known(column, table.rows)),
    );
    list.append(item);
    seen.observe(item);
  });
  return list;
}

/** What the file itself says of a column. */
function known(column: Column, rows: number): string {
  const parts: string[] = [];
  if (column.nulls !== null) parts.push(column.nulls === 0 ? "no nulls" : `${plural(column.nulls, "null")} (${percent(column.nulls, rows)})`);
  else if (!column.nullable) parts.push("no nulls");
  if (column.min !== null && column.max !== null) {
    parts.push(column.exact ? `from ${column.min} to ${column.max}` : `within ${column.min} and ${column.max}`);
  }
  return parts.join(" · ") || "no statistics in the file";
}

function show(item: HTMLElement, column: Column, found: Profile): void {
  const part = found.rows < found.of ? `In the first ${plural(found.rows, "row")}: ` : "";
  const distinct = found.has_more ? `more than ${count(found.distinct)} distinct` : `${count(found.distinct)} distinct`;
  const nulls = found.nulls > 0 ? `, ${plural(found.nulls, "null")}` : "";
  const bounds = found.min !== null && found.max !== null ? `, ${found.min} to ${found.max}` : "";
  item.append(el("div", { class: "found" }, `${part}${distinct}${nulls}${bounds}`));
  if (found.bins.length > 0) item.append(histogram(column, found));
  else if (found.top.length > 0) item.append(topValues(found));
}

function histogram(column: Column, found: Profile): HTMLElement {
  const most = Math.max(1, ...found.bins);
  const label = `Histogram of ${column.name} from ${found.min} to ${found.max}`;
  const picture = svg("svg", { class: "histogram", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  const step = WIDTH / found.bins.length;
  found.bins.forEach((number, index) => {
    const height = number === 0 ? 0 : Math.max(1.5, (number / most) * HEIGHT);
    picture.append(svg("rect", { x: index * step, y: HEIGHT - height, width: step - 1, height }));
  });
  return el("div", { class: "picture" }, picture as unknown as HTMLElement);
}

function topValues(found: Profile): HTMLElement {
  const most = Math.max(1, ...found.top.map((it) => it.count));
  const list = el("ul", { class: "top-values" });
  for (const { value, count: number } of found.top.slice(0, 5)) {
    const bar = el("span", { class: "meter" });
    bar.style.setProperty("--share", String(number / most));
    list.append(el("li", {}, bar, el("span", { class: "value" }, value === "" ? "(empty)" : value), el("span", { class: "n" }, count(number))));
  }
  return list;
}
