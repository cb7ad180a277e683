// Elements, numbers as people read them, and axes.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") node.append(child);
  return node;
}
const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Four digits that count.
function digits(value) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("e+", "e");
  const text = value.toPrecision(4);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}
const shown = (value) => (isNumber(value) ? digits(value) : typeof value === "string" ? value : JSON.stringify(value));

// --- Scales: from values to 0 ... 1 -------------------------------------------------------------------------------

function numberScale(values, log) {
  const known = values.filter((value) => isNumber(value) && (!log || value > 0));
  let low = Math.min(...known), high = Math.max(...known);
  if (!known.length) [low, high] = [0, 1];
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  const of = log ? Math.log : (value) => value;
  const at = (value) => (isNumber(value) && (!log || value > 0) ? (of(value) - of(low)) / (of(high) - of(low)) : null);
  return { at, ticks: log ? logTicks(low, high) : evenTicks(low, high), low, high };
}

function evenTicks(low, high) {
  const rough = (high - low) / 4, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * unit).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; ++i) ticks.push({ value: i * step, text: digits(i * step) });
  return ticks;
}

function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; ++power)
    ticks.push({ value: 10 ** power, text: digits(10 ** power) });
  return ticks.length > 1 ? ticks : [low, high].map((value) => ({ value, text: digits(value) }));
}

function choiceScale(choices) {
  const names = choices.map((choice) => JSON.stringify(choice));
  const at = (value) => {
    const place = names.indexOf(JSON.stringify(value));
    return place < 0 ? null : (place + 0.5) / names.length;
  };
  return { at, ticks: choices.map((choice) => ({ value: choice, text: shown(choice) })) };
}

const scaleOf = (parameter, values) =>
  parameter.choices.length ? choiceScale(parameter.choices) : numberScale(values, parameter.log);

// --- A frame with two axes ----------------------------------------------------------------------------------------

function frame(width, height, x, y, labels) {
  const left = 62, right = 12, top = 10, bottom = 38;
  const place = {
    x: (value) => (x.at(value) === null ? null : left + x.at(value) * (width - left - right)),
    y: (value) => (y.at(value) === null ? null : height - bottom - y.at(value) * (height - top - bottom)),
  };
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": labels.title });
  node.append(svg("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }));
  for (const tick of y.ticks) node.append(svg("text", { x: left - 6, y: place.y(tick.value) + 4, "text-anchor": "end" }, tick.text));
  for (const tick of x.ticks)
    node.append(svg("text", { x: place.x(tick.value), y: height - bottom + 15, "text-anchor": "middle" }, tick.text));
  node.append(svg("text", { x: (left + width) / 2, y: height - 5, "text-anchor": "middle" }, labels.x));
  return { node, place, top, bottom: height - bottom };
}

const tip = document.getElementById("tip");
function withTip(node, text) {
  const show = (event) => {
    tip.textContent = text;
    tip.hidden = false;
    const x = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
  };
  node.addEventListener("pointermove", show);
  node.addEventListener("pointerleave", () => { tip.hidden = true; });
  return node;
}
