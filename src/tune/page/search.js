// The parts of the page, from the document that search_page.cc wrote.

const data = JSON.parse(document.getElementById("document").textContent);
const trials = data.trials, parameters = data.parameters, content = document.getElementById("content");
const better = (a, b) => (data.mode === "min" ? a < b : a > b);
const kindOf = (trial) =>
  trial.number === data.best ? "best" : { STOPPED: "stopped", ERROR: "failed", RUNNING: "running" }[trial.state] || "ended";
const judged = trials.filter((trial) => isNumber(trial.value));
const best = trials.find((trial) => trial.number === data.best);
const words = { TERMINATED: "ended", STOPPED: "stopped early", ERROR: "failed", RUNNING: "running", PAUSED: "paused", PENDING: "to be tried again" };

function textOf(trial) {
  const values = parameters.map((parameter, i) => [parameter.path, trial.parameters[i]]).filter(([, value]) => value !== null);
  return [`trial ${trial.number}, ${words[trial.state] || trial.state}: ${data.metric} ${digits(trial.value)}`,
    ...values.map(([path, value]) => `${path} ${shown(value)}`), ...(trial.error ? [trial.error] : [])].join("\n");
}

const part = (id, title, hint, ...children) =>
  content.append(element("section", { id }, element("h2", {}, title), hint ? element("p", { class: "hint" }, hint) : "", ...children));

// As a recipe or a program takes it.
function tomlOf(table, prefix = "") {
  const lines = [], below = [];
  for (const [key, value] of Object.entries(table)) {
    if (value && typeof value === "object" && !Array.isArray(value)) below.push(...tomlOf(value, `${prefix}${key}.`));
    else lines.push(`${prefix}${key} = ${JSON.stringify(value)}`);
  }
  return [...lines, ...below];
}

function verdict() {
  const text = data.config ? tomlOf(data.config).join("\n") : "";
  const copy = element("button", { type: "button", onclick: () => navigator.clipboard?.writeText(text) }, "Copy");
  content.append(element("section", { id: "verdict" },
    element("h1", {}, best && isNumber(best.value) ? `Best ${data.metric}: ${digits(best.value)}, of trial ${best.number}`
      : "No trial has reported yet"),
    element("p", {}, `${data.headline}. Sampler ${data.sampler}, scheduler ${data.scheduler}.`),
    data.mattered ? element("p", {}, `What mattered: ${data.mattered}.`) : "",
    data.left_out ? element("p", { class: "hint" }, `The page shows ${trials.length} of ${data.counts.all} trials, evenly chosen, with all of the best.`) : "",
    text ? element("pre", { id: "winner" }, text) : "", text ? copy : ""));
}

function dot(place, trial, x, y) {
  return withTip(svg("circle", { class: `dot ${kindOf(trial)}`, cx: x, cy: y, r: trial.number === data.best ? 5 : 3.2 }), textOf(trial));
}

function history() {
  const x = numberScale(judged.map((trial) => trial.number)), y = numberScale(judged.map((trial) => trial.value));
  const { node, place } = frame(1120, 300, x, y, { x: "trial", title: `${data.metric} of each trial` });
  let record = null, path = "";
  for (const trial of judged) {
    if (record !== null && !better(trial.value, record)) continue;
    path += path ? `H${place.x(trial.number)}V${place.y(trial.value)}` : `M${place.x(trial.number)} ${place.y(trial.value)}`;
    record = trial.value;
  }
  node.append(svg("path", { class: "record", d: `${path}H${place.x(x.high)}` }));
  for (const trial of judged) node.append(dot(place, trial, place.x(trial.number), place.y(trial.value)));
  part("history", "History", `The last ${data.metric} of each trial, and the best so far. Grey: stopped early.`, node);
}

// Times at which the scheduler has stopped several trials.
function rungs() {
  const times = new Map();
  for (const trial of trials)
    if (trial.state === "STOPPED" && trial.curve?.length) times.set(trial.curve.at(-1)[0], (times.get(trial.curve.at(-1)[0]) || 0) + 1);
  return [...times].filter(([, count]) => count > 1).map(([time]) => time);
}

function curves() {
  const drawn = trials.filter((trial) => (trial.curve || []).length > 1);
  if (!drawn.length) return;
  const all = drawn.flatMap((trial) => trial.curve);
  const x = numberScale(all.map(([time]) => time)), y = numberScale(all.map(([, value]) => value));
  const { node, place, top, bottom } = frame(1120, 340, x, y, { x: "time", title: `${data.metric} of trials over time` });
  for (const time of rungs()) node.append(svg("line", { class: "rung", x1: place.x(time), x2: place.x(time), y1: top, y2: bottom }));
  const ordered = [...drawn].sort((a, b) => (a.number === data.best) - (b.number === data.best));
  for (const trial of ordered) {
    const points = trial.curve.map(([time, value]) => `${place.x(time).toFixed(1)} ${place.y(value).toFixed(1)}`);
    node.append(withTip(svg("path", { class: `line ${kindOf(trial)}`, d: `M${points.join("L")}` }), textOf(trial)));
  }
  part("curves", "Curves", "What trials reported as they went on. Dashed: where the scheduler stopped several of them.", node);
}

function importances() {
  const told = parameters.filter((parameter) => parameter.importance > 0).sort((a, b) => b.importance - a.importance);
  if (!told.length) return;
  const height = told.length * 24 + 8, node = svg("svg", { viewBox: `0 0 1120 ${height}`, role: "img", "aria-label": "importance" });
  told.forEach((parameter, i) => {
    const y = 4 + i * 24, width = Math.max(2, parameter.importance * 760);
    node.append(svg("text", { x: 232, y: y + 15, "text-anchor": "end" }, parameter.path),
      svg("rect", { class: "bar", x: 240, y: y + 2, width, height: 17, rx: 3 }),
      svg("text", { x: 248 + width, y: y + 15 }, `${(100 * parameter.importance).toFixed(0)} %`));
  });
  part("importance", "What mattered", "How much each parameter tells whether a trial is among the best tenth (PED-ANOVA).", node);
}

function slices() {
  if (!parameters.length || !judged.length) return;
  const y = numberScale(judged.map((trial) => trial.value));
  const plots = parameters.map((parameter, i) => {
    const x = scaleOf(parameter, judged.map((trial) => trial.parameters[i]));
    const { node, place } = frame(350, 230, x, y, { x: parameter.path, title: `${data.metric} by ${parameter.path}` });
    for (const trial of judged) {
      const at = place.x(trial.parameters[i]);
      if (at !== null) node.append(dot(place, trial, at, place.y(trial.value)));
    }
    return element("div", {}, node);
  });
  part("slices", "Slices", `${data.metric} by each parameter.`, element("div", { class: "grid" }, ...plots));
}

function parallel() {
  if (parameters.length < 2 || !judged.length) return;
  const axes = [...parameters.map((parameter, i) => ({ name: parameter.path, scale: scaleOf(parameter, judged.map((trial) => trial.parameters[i])), of: (trial) => trial.parameters[i] })),
    { name: data.metric, scale: numberScale(judged.map((trial) => trial.value)), of: (trial) => trial.value }];
  const width = 1120, height = 340, left = 60, gap = (width - 2 * left) / (axes.length - 1);
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "parallel coordinates" });
  const y = (axis, value) => { const at = axis.scale.at(value); return at === null ? null : height - 34 - at * (height - 64); };
  axes.forEach((axis, i) => {
    const x = left + i * gap;
    node.append(svg("path", { class: "axis", d: `M${x} 30V${height - 34}` }), svg("text", { x, y: 18, "text-anchor": "middle" }, axis.name));
    for (const tick of axis.scale.ticks) node.append(svg("text", { x: x + 4, y: y(axis, tick.value) + 4 }, tick.text));
  });
  const ranked = [...judged].sort((a, b) => (better(a.value, b.value) ? 1 : -1));
  for (const trial of ranked.slice(-400)) {
    const points = axes.map((axis, i) => [left + i * gap, y(axis, axis.of(trial))]).filter(([, at]) => at !== null);
    node.append(withTip(svg("path", { class: `line ${kindOf(trial)}`, d: `M${points.map((point) => point.join(" ")).join("L")}` }), textOf(trial)));
  }
  part("parallel", "Parallel coordinates", "A line per trial, through its parameters to its result.", node);
}

// Each trial takes the first row that is free when it begins; processes that are kept do the same. Results have the time
// in whole seconds, which is too rough for short trials.
const kRough = 1, kShort = 5;
function timeline() {
  const timed = trials.filter((trial) => isNumber(trial.end)).map((trial) => ({ trial, begin: trial.end - trial.seconds, end: trial.end }));
  const start = Math.min(...timed.map((one) => one.begin)), end = Math.max(...timed.map((one) => one.end));
  const lengths = timed.map((one) => one.end - one.begin).sort((a, b) => a - b);
  if (timed.length < 2 || lengths[lengths.length >> 1] < kShort) return;
  timed.sort((a, b) => a.begin - b.begin);
  const rows = [];
  for (const one of timed) {
    one.row = rows.findIndex((free) => free <= one.begin + kRough);
    if (one.row < 0) one.row = rows.push(0) - 1;
    rows[one.row] = one.end;
  }
  const busy = timed.reduce((sum, one) => sum + one.end - one.begin, 0) / (rows.length * (end - start));
  const x = numberScale([0, end - start]), height = rows.length * 20 + 30;
  const node = svg("svg", { viewBox: `0 0 1120 ${height}`, role: "img", "aria-label": "timeline" });
  const at = (time) => 10 + x.at(time - start) * 1100;
  for (const { trial, begin, end: last, row } of timed)
    node.append(withTip(svg("rect", { class: `bar ${kindOf(trial)}`, x: at(begin), y: row * 20 + 2, height: 16, rx: 2, width: Math.max(1, at(last) - at(begin) - 0.5) }), textOf(trial)));
  for (const tick of x.ticks) node.append(svg("text", { x: at(start + tick.value), y: height - 8, "text-anchor": "middle" }, `${tick.text} s`));
  part("timeline", "Timeline", `${rows.length} trials at once, ${(100 * busy).toFixed(0)} % of the time busy. Times are to the second.`, node);
}

function table() {
  const columns = [{ name: "trial", of: (trial) => trial.number }, { name: "state", of: (trial) => words[trial.state] || trial.state },
    { name: data.metric, of: (trial) => trial.value }, { name: "iterations", of: (trial) => trial.iterations },
    { name: "seconds", of: (trial) => trial.seconds },
    ...parameters.map((parameter, i) => ({ name: parameter.path, of: (trial) => trial.parameters[i] }))];
  const body = element("tbody");
  let by = 2, ascending = data.mode === "min";
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = isNumber(a) && isNumber(b) ? a - b : String(a).localeCompare(String(b));
    return ascending ? order : -order;
  };
  const draw = () => {
    const ordered = [...trials].sort((a, b) => compare(columns[by].of(a), columns[by].of(b))).slice(0, 500);
    body.replaceChildren(...ordered.map((trial) => element("tr", { class: trial.number === data.best ? "best" : null, title: trial.error },
      ...columns.map((column) => { const value = column.of(trial); return element("td", { class: isNumber(value) ? "number" : null }, value === null ? "" : shown(value)); }))));
  };
  const isNumeric = (column) => trials.some((trial) => isNumber(column.of(trial)));
  const heads = columns.map((column, i) => element("th", { class: isNumeric(column) ? "number" : null }, element("button", { type: "button", onclick: () => { ascending = by === i ? !ascending : true; by = i; draw(); } }, column.name)));
  draw();
  part("trials", "Trials", "Click on a column to sort by it.", element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)));
}

verdict();
if (judged.length) history();
curves();
importances();
parallel();
slices();
timeline();
table();
