// Roofline, scaling and collectives: lines over two axes.

// --- Roofline -------------------------------------------------------------------------------------------------------

function rooflineChart(part, layers, width) {
  const peak = part.flops_ceiling, bandwidth = part.bytes_ceiling, ridge = peak / bandwidth;
  const [xLow, xHigh] = rangeOf([...layers.map((layer) => layer.intensity), ridge], {log: true, air: 0.12});
  const [yLow, yHigh] = rangeOf([...layers.map((layer) => layer.flops_per_second), peak], {log: true});
  const frame = plot({label: "Roofline of the layers", width, height: clamp(width * 0.5, 280, 430), margins: {left: 96},
    x: {title: "arithmetic intensity (FLOP per byte)", low: xLow, high: xHigh, log: true, ticks: logTicks(xLow, xHigh), text: (v) => digits(v, 1)},
    y: {title: "", low: yLow, high: yHigh, log: true, ticks: logTicks(yLow, yHigh), text: flops}});
  const start = Math.max(xLow, yLow / bandwidth);
  line(frame, [[start, bandwidth * start], [clamp(ridge, xLow, xHigh), Math.min(peak, bandwidth * xHigh)], [xHigh, Math.min(peak, bandwidth * xHigh)]], {class: "line roof"});
  frame.node.append(
    svg("text", {class: "roof-label", x: frame.right - 4, y: frame.y(peak) - 6, "text-anchor": "end"}, `compute: ${flops(peak)}`),
    roofLabel(frame, start, ridge, bandwidth));
  const largest = Math.max(...layers.map((layer) => orZero(layer.share)), 1e-12);
  const labelled = [...layers].sort((a, b) => orZero(b.share) - orZero(a.share)).slice(0, 6);
  const taken = [];
  for (const layer of layers) {
    const compute = layer.bound === "compute";
    mark(frame, layer.intensity, layer.flops_per_second, {shape: compute ? "diamond" : "circle", size: 3 + 5 * Math.sqrt(orZero(layer.share) / largest),
      attributes: {style: `fill:var(--series-${compute ? 1 : 0})`, class: "mark-point layer"},
      tipLines: [textOf(layer.name), textOf(layer.operation), `${flops(layer.flops_per_second)}, ${percent(layer.flops_per_second / Math.min(peak, bandwidth * layer.intensity))} of its ceiling`,
        `${digits(layer.intensity)} FLOP/byte: ${textOf(layer.bound)} binds`, isNumber(layer.share) ? `${percent(layer.share)} of the time` : ""]});
  }
  for (const layer of labelled) labelLayer(frame, layer, taken);
  return frame.node;
}

function roofLabel(frame, start, ridge, bandwidth) {
  const x1 = frame.x(start), y1 = frame.y(bandwidth * start), x2 = frame.x(ridge), y2 = frame.y(bandwidth * ridge);
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  return svg("text", {class: "roof-label", "text-anchor": "middle", dy: -7,
    transform: `translate(${x1 + (x2 - x1) * 0.4} ${y1 + (y2 - y1) * 0.4}) rotate(${angle})`}, `memory: ${gigabytes(bandwidth / 1e9)}`);
}

// Beside its mark, unless another name is there.
function labelLayer(frame, layer, taken) {
  const name = textOf(layer.name), x = frame.x(layer.intensity), y = frame.y(layer.flops_per_second) + 4, wide = name.length * 6.4;
  const places = [[x + 11, y], [x - 11 - wide, y], [x + 11, y + 14], [x - 11 - wide, y + 14]];
  const free = places.find(([left, at]) => left > frame.left && left + wide < frame.right + 10 && at < frame.bottom &&
    !taken.some((box) => Math.abs(box.y - at) < 12 && left < box.left + box.wide + 6 && box.left < left + wide + 6));
  if (!free) return;
  taken.push({left: free[0], y: free[1], wide});
  frame.node.append(svg("text", {class: "point-label", x: free[0], y: free[1]}, name));
}

function rooflinePart(report) {
  const part = partOf(report.roofline);
  const layers = part ? listOf(part.layers).filter((layer) => layer.intensity > 0 && layer.flops_per_second > 0) : [];
  if (!layers.length) return part && textOf(part.text) ? element("p", null, textOf(part.text)) : null;
  const measured = part.flops_ceiling > 0 && part.bytes_ceiling > 0;  // else there is nothing to draw them against
  const ceilingOf = (layer) => (measured ? Math.min(part.flops_ceiling, part.bytes_ceiling * layer.intensity) : NaN);
  const columns = ["layer", "operation", "FLOP/byte", "reached", "of its ceiling", "share of time", "binds"].map((title, at) => ({title, number: at > 1 && at < 6}));
  const rows = [...layers].sort((a, b) => orZero(b.share) - orZero(a.share)).map((layer) => [textOf(layer.name), textOf(layer.operation), digits(layer.intensity), flops(layer.flops_per_second),
    percent(layer.flops_per_second / ceilingOf(layer)), percent(layer.share), textOf(layer.bound) || unknown]);
  const numbers = table("Layers against the roofline", columns, rows, {id: "layers"});
  return [
    textOf(part.text) ? element("p", null, textOf(part.text)) : null,
    measured ? element("p", {class: "hint"}, `Each mark is a layer, larger where it takes more time; the line is what ${textOf(part.name) || "the machine"} can do. Circles are bound by memory, diamonds by compute.`) : null,
    measured ? [responsive((width) => rooflineChart(part, layers, width)), behind("Numbers of each layer", numbers)] : numbers,
  ];
}

// --- Scaling --------------------------------------------------------------------------------------------------------

const factorNames = {load_balance: "load balance", serialisation: "serialisation", transfer: "transfer", input: "input", computation_scaling: "computation",
  communication: "communication", parallel: "parallel", global: "global"};

function ranksAxis(runs) {
  const ranks = runs.map((run) => run.ranks), low = Math.min(...ranks), high = Math.max(...ranks);
  return {title: "ranks", low: low / 1.08, high: Math.max(high, low * 2) * 1.08, log: true, ticks: ranks.length <= 6 ? [...new Set(ranks)] : logTicks(low, high, 2, 6), text: (v) => brief(digits(v, 6))};
}

function speedupChart(runs, width) {
  const x = ranksAxis(runs), first = runs[0];
  const ideal = runs.map((run) => [run.ranks, (orZero(first.speedup) || 1) * run.ranks / first.ranks]);
  const [low, high] = rangeOf([...runs.map((run) => run.speedup), ...ideal.map(([, v]) => v)], {log: true});
  return lineChart({label: "Speed-up by ranks", width, x, y: {title: "speed-up", low, high, log: true, ticks: logTicks(low, high, 2, 6), text: (v) => `${brief(digits(v, 6))}×`}, valueText: (v) => `${digits(v)} times as fast`,
    series: [{name: "measured", colour: seriesColour(0), points: runs.map((run) => [run.ranks, run.speedup])}, {name: "ideal", colour: "var(--muted)", points: ideal, dash: "5 4", plain: true}]});
}

function factorsChart(runs, lost, width) {
  // Those that are products of others say nothing new.
  const keys = [...new Set(runs.flatMap((run) => Object.keys(partOf(run.factors) || {})))].filter((key) => !["global", "parallel", "communication"].includes(key));
  const values = runs.flatMap((run) => keys.map((key) => (partOf(run.factors) || {})[key]));
  const [low, high] = rangeOf([...values, 1], {air: 0.05});
  return lineChart({label: "Factors of efficiency by ranks", width, x: ranksAxis(runs), y: {title: "factor", low, high: Math.max(high, 1.02), ticks: linearTicks(low, Math.max(high, 1), 5), text: percent}, valueText: factor,
    series: keys.map((key, at) => ({name: `${factorNames[key] || key}${key === lost ? " ◂" : ""}`, colour: seriesColour(at), points: runs.map((run) => [run.ranks, (partOf(run.factors) || {})[key]])}))});
}

function phasesChart(runs, width) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(partOf(run.phases) || {})))];
  const values = runs.flatMap((run) => names.map((name) => (partOf(run.phases) || {})[name]));
  const [low, high] = rangeOf(values, {log: true});
  return lineChart({label: "Time of phases by ranks", width, x: ranksAxis(runs), y: {title: "", low, high, log: true, ticks: logTicks(low, high, 10, 5), text: seconds}, valueText: seconds,
    series: names.map((name, at) => ({name, colour: seriesColour(at), points: runs.map((run) => [run.ranks, (partOf(run.phases) || {})[name]])}))});
}

function scalingPart(report) {
  const part = partOf(report.scaling);
  const runs = part ? listOf(part.runs).filter((run) => run.ranks > 0).sort((a, b) => a.ranks - b.ranks) : [];
  if (!runs.length) return null;
  const has = (key) => runs.some((run) => Object.values(partOf(run[key]) || {}).some(isNumber));
  const chart = (title, draw) => element("figure", null, element("figcaption", null, title), responsive(draw));
  const columns = ["run", "ranks", "batch", "speed", "speed-up", "efficiency"].map((title, at) => ({title, number: at > 0}));
  const amdahl = partOf(part.amdahl);
  return [
    element("p", null, textOf(part.kind) ? element("b", null, `${part.kind === "weak" ? "Weak" : part.kind === "strong" ? "Strong" : textOf(part.kind)} scaling. `) : null, textOf(part.text)),
    textOf(part.superlinear) ? element("p", null, textOf(part.superlinear)) : null,
    amdahl && textOf(amdahl.text) ? element("p", null, textOf(amdahl.text)) : null,
    runs.length > 1 ? element("div", {class: "charts"},
      runs.some((run) => isNumber(run.speedup)) ? chart("Speed-up", (width) => speedupChart(runs, width)) : null,
      has("factors") ? chart("What is lost at scale", (width) => factorsChart(runs, textOf(part.lost), width)) : null,
      has("phases") ? chart("Phases", (width) => phasesChart(runs, width)) : null) : null,
    table("Runs that are compared", columns, runs.map((run) => [textOf(run.source) || `${run.ranks} ranks`, count(run.ranks), count(run.batch), rate(run.samples_per_second), isNumber(run.speedup) ? `${digits(run.speedup)}×` : unknown, percent(run.efficiency)])),
  ];
}

// --- Collectives ----------------------------------------------------------------------------------------------------

function fitChart(fit, points, width) {
  const time = (size) => fit.latency_us / 1e6 + size / (fit.bandwidth_gb_s * 1e9), known = fit.latency_us >= 0 && fit.bandwidth_gb_s > 0;
  const [xLow, xHigh] = rangeOf(points.map(([size]) => size), {log: true}), [yLow, yHigh] = rangeOf([...points.map(([, took]) => took), known ? time(xLow) : null], {log: true});
  const frame = plot({label: "Time of collectives by size", width, height: 300, margins: {left: 72},
    x: {title: "bytes", low: xLow, high: xHigh, log: true, ticks: logTicks(xLow, xHigh, 4, Math.max(3, width / 90)), text: bytes},
    y: {title: "", low: yLow, high: yHigh, log: true, ticks: logTicks(yLow, yHigh), text: seconds}});
  if (known) {
    const sizes = Array.from({length: 60}, (_, at) => xLow * (xHigh / xLow) ** (at / 59));
    line(frame, sizes.map((size) => [size, time(size)]).filter(([, took]) => took >= yLow && took <= yHigh), {class: "line roof"});
    if (fit.crossover_bytes > xLow && fit.crossover_bytes < xHigh) {
      const x = frame.x(fit.crossover_bytes);
      frame.node.append(svg("line", {class: "crossover", x1: x, x2: x, y1: frame.top, y2: frame.bottom}),
        svg("text", {class: "roof-label", x: x - 6, y: frame.top + 10, "text-anchor": "end"}, "latency"), svg("text", {class: "roof-label", x: x + 6, y: frame.top + 10}, "bandwidth"));
    }
  }
  for (const [size, took] of points) {
    mark(frame, size, took, {size: points.length > 200 ? 2.5 : 4.5, attributes: {style: "fill:var(--series-0)"}, tipLines: [bytes(size), seconds(took), gigabytes(size / took / 1e9)]});
  }
  return frame.node;
}

function collectivesPart(report) {
  const part = partOf(report.collectives), kinds = part ? listOf(part.kinds) : [], fit = part && partOf(part.fit);
  const points = fit ? listOf(fit.points).filter((point) => point[0] > 0 && point[1] > 0) : [];
  if (!kinds.length && points.length < 2) return null;
  const columns = ["collective", "group", "count", "bytes", "time", "reached", "measured alone"].map((title, at) => ({title, number: at > 1}));
  const rows = kinds.map((kind) => [textOf(kind.name), textOf(kind.group), count(kind.count), bytes(kind.bytes), seconds(kind.seconds),
    kind.measured_gb_s > 0 ? meter(kind.bandwidth_gb_s / kind.measured_gb_s, `${gigabytes(kind.bandwidth_gb_s)}, ${percent(kind.bandwidth_gb_s / kind.measured_gb_s)}`) : gigabytes(kind.bandwidth_gb_s), gigabytes(kind.measured_gb_s)]);
  return [
    textOf(part.text) ? element("p", null, textOf(part.text)) : null,
    rows.length ? table("Collectives, counted from the last rank's arrival", columns, rows) : null,
    points.length > 1 ? [element("p", {class: "fit"}, "Fitted: latency ", element("b", null, brief(seconds(fit.latency_us / 1e6))), ", bandwidth ", element("b", null, brief(gigabytes(fit.bandwidth_gb_s))), "; latency rules below ", element("b", null, bytes(fit.crossover_bytes)), ", bandwidth above."),
      responsive((width) => fitChart(fit, points, width))] : null,
  ];
}
