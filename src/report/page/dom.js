// Elements, and numbers as people read them. No other file makes text of a number.

// element("td", {class: "number"}, "1", other): children are text or elements; null ones are left out.
function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false || child === "") continue;
    // "66 %" stays on one line; a command is copied as it is.
    node.append(typeof child === "string" && node.localName !== "code" ? child.replaceAll(" %", "\u00a0%") : child);
  }
  return node;
}

// --- What a document may lack -------------------------------------------------------------------------------------

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const listOf = (value) => (Array.isArray(value) ? value.filter((item) => item !== null && item !== undefined) : []);
const numbersOf = (value) => (Array.isArray(value) ? value.map((item) => (isNumber(item) ? item : 0)) : []);
const partOf = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : null);
const textOf = (value) => (typeof value === "string" ? value : isNumber(value) ? String(value) : "");
const orZero = (value) => (isNumber(value) ? value : 0);

// --- Numbers ------------------------------------------------------------------------------------------------------

const unknown = "–";

// Three digits that count, without an exponent: 0.0123, 1.23, 12.3, 123, 1235.
function digits(value, count = 3) {
  if (!isNumber(value)) return unknown;
  if (value === 0) return "0";
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.max(0, Math.min(8, count - whole)));
}

// "10.0 ms" is "10 ms" where digits need not stand below one another.
const brief = (text) => text.replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

function scaled(value, units, step) {
  let at = 0;
  while (at + 1 < units.length && Math.abs(value) >= step * 0.9995) {
    value /= step;
    ++at;
  }
  return `${digits(value)} ${units[at]}`;
}

function seconds(value) {
  if (!isNumber(value)) return unknown;
  if (value === 0) return "0 s";
  if (Math.abs(value) >= 3600) return `${digits(value / 3600)} h`;
  if (Math.abs(value) >= 120) return `${digits(value / 60)} min`;
  return Math.abs(value) >= 0.9995 ? `${digits(value)} s` : scaled(value * 1e9, ["ns", "µs", "ms", "s"], 1000);
}

function percent(value) {
  if (!isNumber(value)) return unknown;
  const share = 100 * value;
  const near = Math.abs(share) >= 9.95 || share === 0 ? share.toFixed(0) : share.toFixed(1);
  return `${near === "100" && value < 1 ? "99.9" : near} %`;
}

// A factor of the tree, of which a tenth of a percent matters.
const factor = (value) => (isNumber(value) ? `${(100 * value).toFixed(1)} %` : unknown);

const count = (value) => (isNumber(value) ? Math.round(value).toLocaleString("en").replaceAll(",", "\u202f") : unknown);
const bytes = (value) => (isNumber(value) ? brief(scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024)) : unknown);
const flops = (value) => (isNumber(value) ? `${scaled(value, ["", "k", "M", "G", "T", "P"], 1000)}FLOP/s` : unknown);
const gigabytes = (value) => (isNumber(value) ? `${digits(value)} GB/s` : unknown);
const rate = (value) =>
  !isNumber(value) ? unknown : value >= 100 ? `${count(value)} samples/s` : `${digits(value)} samples/s`;
const plural = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

// --- Tables and tooltips ------------------------------------------------------------------------------------------

// columns: [{title, number: true}]; rows of cells, text or elements. The first cell of a row is its heading.
function table(caption, columns, rows, attributes) {
  const side = (at) => (columns[at].number ? "number" : null);
  const heads = columns.map((column, at) => element("th", {scope: "col", class: side(at)}, column.title));
  const lines = rows.map((cells) =>
    element("tr", null, cells.map((cell, at) =>
      at === 0 ? element("th", {scope: "row", class: side(at)}, cell) : element("td", {class: side(at)}, cell))));
  return element("div", {class: "scroll"}, element("table", attributes,
    element("caption", null, caption), element("thead", null, element("tr", null, heads)), element("tbody", null, lines)));
}

// Numbers behind a chart, for whoever wants to read or copy them.
function behind(title, content, attributes) {
  return element("details", {class: "behind", ...attributes}, element("summary", null, title), content);
}

// A bar of a share of 1 inside a cell, with the text that says it.
function meter(share, text, kind) {
  const width = Math.max(0, Math.min(1, orZero(share))) * 100;
  return element("span", {class: "meter"},
    element("span", {class: `meter-bar ${kind || ""}`, "aria-hidden": "true"},
      element("span", {style: `width:${width.toFixed(2)}%`})),
    element("span", {class: "meter-text"}, text));
}

const tip = {
  show(event, lines) { this.showAt(event.clientX, event.clientY, lines); },
  showAt(x, y, lines) {
    const box = document.getElementById("tip");
    box.replaceChildren(...lines.filter(Boolean).map((line, at) => element(at === 0 ? "strong" : "div", null, line)));
    box.hidden = false;
    const width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    box.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
  },
  hide() { document.getElementById("tip").hidden = true; },
};

// The tooltip of an element that is drawn: on hovering, and its name for a screen reader.
function withTip(node, lines) {
  node.addEventListener("pointermove", (event) => tip.show(event, lines));
  node.addEventListener("pointerleave", () => tip.hide());
  node.setAttribute("aria-label", lines.filter(Boolean).join(", "));
  return node;
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// What parts want to be told of, and find of one another.
const onTheme = [], beforePrinting = [], links = {timeline: null};
