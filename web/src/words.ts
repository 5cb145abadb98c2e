// Numbers and sizes as people read them, and elements.

const COUNT = new Intl.NumberFormat("en");

export function count(number: number): string {
  return COUNT.format(number);
}

export function plural(number: number, word: string): string {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

export function bytes(number: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let rest = number;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count(rest) : rest.toFixed(rest < 10 ? 2 : rest < 100 ? 1 : 0)} ${units[unit]}`;
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

type Child = Node | string | null | undefined;

/** Makes an element with attributes and children; texts are never markup. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child): child is Node | string => child != null));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element is called ${id}`);
  return element;
}
