// Axes and lines, as SVG. A chart is as wide as its viewBox and scales with its column.

// ticks of 1, 2 or 5 times a power of ten, from 0 or from `low`
function linearTicks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const out = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); ++at) out.push(at * step);
  return out;
}

// Powers of ten, or of two where `base` is 2: not more than about `wanted` of them.
function logTicks(low, high, base = 10, wanted = 7) {
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9), last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / wanted));
  const out = [];
  for (let at = first; at <= last; at += every) out.push(base ** at);
  return out;
}

// From values to pixels.
function scaleOf({low, high, from, to, log}) {
  const f = log ? Math.log : (value) => value;
  const a = f(low), width = f(high) - a || 1;
  return (value) => from + ((f(value) - a) / width) * (to - from);
}

// A range that holds these values with some air; on a log axis a factor of it.
function rangeOf(values, {log, zero, air = 0.08}) {
  const all = values.filter((v) => isNumber(v) && (!log || v > 0));
  if (!all.length) return log ? [1, 10] : [0, 1];
  let low = Math.min(...all), high = Math.max(...all);
  if (log) {
    const factorOf = Math.max(1.3, (high / low) ** air);
    return [low / factorOf, high * factorOf];
  }
  if (zero) low = Math.min(0, low);
  if (high === low) high = low + 1;
  return [low === 0 ? 0 : low - air * (high - low), high + air * (high - low)];
}

// A frame to draw in. x, y: {title, low, high, log, ticks, text}. Gives {node, x(), y(), left, right, top, bottom}.
function plot({label, width = 560, height = 320, x, y, margins = {}}) {
  const m = {left: 62, right: 16, top: 14, bottom: 44, ...margins};
  const left = m.left, right = width - m.right, top = m.top, bottom = height - m.bottom;
  const node = svg("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
  const px = scaleOf({...x, from: left, to: right}), py = scaleOf({...y, from: bottom, to: top});
  for (const tick of x.ticks) {
    node.append(svg("line", {class: "grid", x1: px(tick), x2: px(tick), y1: top, y2: bottom}),
      svg("text", {class: "tick", x: px(tick), y: bottom + 16, "text-anchor": "middle"}, brief(x.text(tick))));
  }
  for (const tick of y.ticks) {
    node.append(svg("line", {class: "grid", x1: left, x2: right, y1: py(tick), y2: py(tick)}),
      svg("text", {class: "tick", x: left - 8, y: py(tick) + 4, "text-anchor": "end"}, brief(y.text(tick))));
  }
  node.append(svg("path", {class: "axis", d: `M${left} ${top}V${bottom}H${right}`}),
    svg("text", {class: "axis-title", x: (left + right) / 2, y: height - 6, "text-anchor": "middle"}, x.title));
  if (y.title) {
    node.append(svg("text", {class: "axis-title", "text-anchor": "middle",
      transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`}, y.title));
  }
  return {node, x: px, y: py, left, right, top, bottom};
}

function line(frame, points, attributes) {
  const d = points.filter(([a, b]) => isNumber(a) && isNumber(b))
    .map(([a, b], at) => `${at ? "L" : "M"}${frame.x(a).toFixed(1)} ${frame.y(b).toFixed(1)}`).join("");
  const node = svg("path", {class: "line", d, ...attributes});
  frame.node.append(node);
  return node;
}

// Marks differ in shape, so that colour is not all that tells them apart.
const markShapes = ["circle", "square", "diamond", "triangle", "down", "cross"];

function mark(frame, x, y, {shape = "circle", size = 5, attributes, tipLines}) {
  const s = size;
  const paths = {
    circle: `M${-s} 0a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
    square: `M${-s} ${-s}h${2 * s}v${2 * s}h${-2 * s}z`,
    diamond: `M0 ${-1.3 * s}L${1.3 * s} 0L0 ${1.3 * s}L${-1.3 * s} 0z`,
    triangle: `M0 ${-1.2 * s}L${1.2 * s} ${s}H${-1.2 * s}z`,
    down: `M0 ${1.2 * s}L${1.2 * s} ${-s}H${-1.2 * s}z`,
    cross: `M${-s} ${-s * 0.4}H${-s * 0.4}V${-s}H${s * 0.4}V${-s * 0.4}H${s}V${s * 0.4}H${s * 0.4}V${s}H${-s * 0.4}V${s * 0.4}H${-s}z`,
  };
  const at = `translate(${frame.x(x).toFixed(1)} ${frame.y(y).toFixed(1)})`;
  const node = svg("path", {class: "mark-point", d: paths[shape], transform: at, ...attributes});
  if (tipLines) withTip(node, tipLines);
  frame.node.append(node);
  return node;
}

// series: [{name, colour, points: [[x, y]], dash, plain}], a line and marks each, the names at their ends where there is room for
// them (lowest first, pushed apart), told apart by shape as well.
function lineChart({label, series, x, y, valueText, width = 400, height = 290}) {
  const frame = plot({label, width, height, x, y, margins: {right: 124, left: 58}});
  const ends = [];
  series.forEach((one, at) => {
    const points = one.points.filter(([a, b]) => isNumber(a) && isNumber(b) && (!y.log || b > 0));
    if (!points.length) return;
    line(frame, points, {style: `stroke:${one.colour}`, "stroke-dasharray": one.dash});
    if (!one.plain) {
      for (const [a, b] of points) {
        mark(frame, a, b, {shape: markShapes[at % markShapes.length], size: 4, attributes: {style: `fill:${one.colour}`},
          tipLines: [one.name, `${x.title}: ${x.text(a)}`, valueText(b)]});
      }
    }
    const [, last] = points[points.length - 1];
    ends.push({text: one.name, y: frame.y(last), colour: one.colour});
  });
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, at) => { end.y = Math.max(end.y, at ? ends[at - 1].y + 14 : frame.top + 4); });
  for (let at = ends.length - 1; at >= 0; --at) {
    const limit = at + 1 < ends.length ? ends[at + 1].y - 14 : frame.bottom;
    ends[at].y = Math.min(ends[at].y, limit);
  }
  for (const end of ends) {
    frame.node.append(svg("text", {class: "end-label", x: frame.right + 8, y: end.y + 4, style: `fill:${end.colour}`}, end.text));
  }
  return frame.node;
}

function legend(items) {
  return element("ul", {class: "legend"}, items.map((item) =>
    element("li", null, element("span", {class: `swatch ${item.kind || ""}`, style: item.colour ? `background:${item.colour}` : null}), item.text)));
}

const seriesColour = (at) => `var(--series-${at % 6})`;

// A chart that is drawn for the width that it has, and again when that changes: draw(width) gives the element.
function responsive(draw, attributes) {
  const box = element("div", {class: "chart-box", ...attributes});
  let drawn = 0;
  box.redraw = () => {
    const width = Math.round(box.clientWidth);
    if (width < 40) return;
    drawn = width;
    box.replaceChildren(draw(width));
  };
  new ResizeObserver(() => { if (Math.abs(box.clientWidth - drawn) > 2) box.redraw(); }).observe(box);
  return box;
}
