// Where each rank's time went, over all steps and step by step.

const shareKinds = [
  {key: "compute", name: "compute"},
  {key: "optimizer", name: "optimizer"},
  {key: "exposed", name: "exposed communication"},
  {key: "input", name: "waiting for input"},
  {key: "idle", name: "idle"},
];
const workOf = (rank) => orZero(rank.compute) + orZero(rank.optimizer);

function rankLabel(rank) {
  return `rank ${rank.rank}${textOf(rank.host) ? ` · ${rank.host}` : ""}`;
}

function stackRow(rank, longest, slowest) {
  const total = orZero(rank.total), width = (value) => `width:${((orZero(value) / longest) * 100).toFixed(3)}%`;
  const pieces = shareKinds.filter((kind) => orZero(rank[kind.key]) > 0).map((kind) => {
    const share = total > 0 ? rank[kind.key] / total : 0;
    const wide = rank[kind.key] / longest > 0.07;
    return withTip(element("span", {class: `piece ${kind.key}`, role: "img", style: width(rank[kind.key])}, wide ? element("i", null, percent(share)) : null),
      [kind.name, `${seconds(rank[kind.key])}, ${percent(share)} of its time`, rankLabel(rank)]);
  });
  const hidden = orZero(rank.hidden) > 0
    ? withTip(element("span", {class: "hidden-strip", role: "img", style: width(rank.hidden)}),
      ["hidden communication", `${seconds(rank.hidden)} during computation, ${percent(rank.overlap)} of all`, rankLabel(rank)])
    : null;
  return element("div", {class: `stack-row${slowest ? " slowest" : ""}`, "data-rank": rank.rank},
    element("span", {class: "stack-name", title: rankLabel(rank)}, element("b", null, rank.rank), element("span", null, textOf(rank.host)), slowest ? element("em", null, "slowest") : null),
    element("span", {class: "stack-bar"}, element("span", {class: "pieces"}, pieces), hidden),
    element("span", {class: "stack-total"}, seconds(rank.total)));
}

function rankStacks(ranks, slow) {
  const longest = Math.max(...ranks.map((rank) => orZero(rank.total)), 1e-12);
  const rows = element("div", {class: `stack${ranks.length > 16 ? " many" : ""}${ranks.length > 128 ? " very-many" : ""}`});
  const fillRows = (order) => {
    const sorted = [...ranks].sort(order === "work" ? (a, b) => workOf(b) - workOf(a) : (a, b) => a.rank - b.rank);
    rows.replaceChildren(...sorted.map((rank) => stackRow(rank, longest, slow !== null && rank.rank === slow)));
  };
  fillRows("rank");
  const choice = element("select", {id: "stack-order", onchange: (event) => fillRows(event.target.value)},
    element("option", {value: "rank"}, "by rank"), element("option", {value: "work"}, "most work first"));
  return [
    element("div", {class: "controls"}, legend([...shareKinds.map((kind) => ({kind: kind.key, text: kind.name})), {kind: "hidden", text: "hidden communication (during computation)"}]),
      ranks.length > 2 ? element("label", {class: "push"}, "Order ", choice) : null),
    rows,
  ];
}

function rankTable(ranks) {
  const waits = ranks.some((rank) => rank.device > 0);  // part of compute: then its device computes
  const columns = ["rank", "host", "total", ...shareKinds.map((kind) => kind.name), ...(waits ? ["waiting for device"] : []), "hidden", "overlap"];
  return table("Time of each rank", columns.map((title, at) => ({title, number: at !== 1})), ranks.map((rank) => [
    String(rank.rank), textOf(rank.host), seconds(rank.total), ...shareKinds.map((kind) => seconds(rank[kind.key])), ...(waits ? [seconds(rank.device)] : []), seconds(rank.hidden), percent(rank.overlap),
  ]), {id: "rank-table"});
}

// --- Step by step ---------------------------------------------------------------------------------------------------

// Columns are steps, or the longest of some neighbours where there are more steps than there is room for: a mean would
// hide those that one looks for. Of a long run, each value stands for some steps already, from `first` to `last`.
function columnsOf(entry, steps, most) {
  const numbers = numbersOf(steps.numbers), firsts = numbersOf(steps.first || steps.numbers), lasts = numbersOf(steps.last || steps.numbers);
  const values = shareKinds.map((kind) => numbersOf(entry[kind.key]));
  const columnOf = (at) => ({at, number: numbers[at], parts: values.map((list) => list[at] || 0), total: values.reduce((sum, list) => sum + (list[at] || 0), 0)});
  const every = Math.max(1, Math.ceil(numbers.length / most)), out = [];
  for (let first = 0; first < numbers.length; first += every) {
    let longest = columnOf(first);
    for (let at = first + 1; at < Math.min(first + every, numbers.length); ++at) {
      const other = columnOf(at);
      if (other.total > longest.total) longest = other;
    }
    out.push({...longest, first: firsts[first], last: lasts[Math.min(first + every, numbers.length) - 1]});
  }
  return out;
}

// The columns that get a number below them: round ones, far enough from one another.
function labelledColumns(columns, wanted) {
  if (columns.length <= wanted) return columns.map((column, at) => [at, column.first]);
  const ticks = linearTicks(columns[0].first, columns[columns.length - 1].last, wanted);
  return ticks.map((tick) => [columns.findIndex((column) => column.last >= tick), tick]).filter(([at]) => at >= 0);
}

function stepChart(entry, steps, width) {
  const columns = columnsOf(entry, steps, Math.max(40, Math.floor((width - 80) / 3)));
  const high = Math.max(...columns.map((column) => column.total), 1e-12) * 1.06;
  const frame = plot({label: `Time of each step of rank ${entry.rank}`, width, height: 230, margins: {left: 66},
    x: {title: "step", low: 0, high: columns.length, ticks: [], text: String},
    y: {title: "", low: 0, high, ticks: linearTicks(0, high, 4), text: seconds}});
  const wide = (frame.right - frame.left) / columns.length, gap = wide > 5 ? Math.round(clamp(wide * 0.15, 1, 4)) : 0;
  const edge = (at) => Math.round(frame.left + at * wide);  // whole pixels: no seams between columns
  for (const [at, number] of labelledColumns(columns, Math.max(2, Math.floor(width / 60)))) {
    frame.node.append(svg("text", {class: "tick", x: frame.left + (at + 0.5) * wide, y: frame.bottom + 16, "text-anchor": "middle"}, String(number)));
  }
  const base = columns.map(() => 0);
  shareKinds.forEach((kind, which) => {  // one path a kind: a thousand steps stay light
    let d = "";
    columns.forEach((column, at) => {
      const y1 = frame.y(base[at]), y2 = frame.y(base[at] += column.parts[which]);
      const x1 = edge(at), x2 = edge(at + 1) - gap;
      if (column.parts[which] > 0) d += `M${x1} ${y1.toFixed(1)}H${x2}V${y2.toFixed(1)}H${x1}z`;
    });
    if (d) frame.node.append(svg("path", {class: `fill fill-${kind.key}`, d}));
  });
  const slowest = listOf(steps.slowest);
  frame.node.addEventListener("pointermove", (event) => {
    const box = frame.node.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * width;
    const column = columns[Math.floor((x - frame.left) / wide)];
    if (!column) return tip.hide();
    tip.show(event, [`step ${column.number}${column.first === column.last ? "" : `, the longest of ${column.first} to ${column.last}`}`, `${seconds(column.total)} on rank ${entry.rank}`,
      ...shareKinds.map((kind, which) => (column.parts[which] > 0 ? `${kind.name}: ${seconds(column.parts[which])}` : "")),
      isNumber(slowest[column.at]) ? `most work: rank ${slowest[column.at]}` : ""]);
  });
  frame.node.addEventListener("pointerleave", () => tip.hide());
  return frame.node;
}

function stepStacks(steps) {
  const stack = listOf(steps.stack).filter((entry) => isNumber(entry.rank)), numbers = numbersOf(steps.numbers);
  if (!stack.length || !numbers.length) return null;
  const slow = partOf(steps.slow);
  let chosen = stack.find((entry) => slow && entry.rank === slow.rank) || stack[0];
  const chart = responsive((width) => stepChart(chosen, steps, width));
  const choice = element("select", {id: "step-rank", onchange: (event) => {
    chosen = stack.find((entry) => String(entry.rank) === event.target.value) || chosen;
    chart.redraw();
  }}, stack.map((entry) => element("option", {value: entry.rank, selected: entry === chosen}, `rank ${entry.rank}`)));
  return [element("div", {class: "controls"}, element("h3", null, "Step by step"), stack.length > 1 ? element("label", {class: "push"}, "Rank ", choice) : null),
    textOf(steps.left_out) ? element("p", {class: "hint"}, steps.left_out) : null, chart];
}

function stepsPart(report) {
  const steps = partOf(report.steps);
  const ranks = steps ? listOf(steps.ranks).filter((rank) => isNumber(rank.rank)) : [];
  if (!ranks.length) return null;
  const slow = partOf(steps.slow);
  return [
    element("p", null, slow && textOf(slow.text) ? `${textOf(slow.text)} ` : null,
      isNumber(steps.median_seconds) && steps.median_seconds > 0 ? ["A step takes ", element("b", null, seconds(steps.median_seconds)), " (median)."] : null),
    rankStacks(ranks, slow && isNumber(slow.rank) && slow.rank >= 0 ? slow.rank : null),
    behind("Numbers of each rank", rankTable(ranks)),
    stepStacks(steps),
  ];
}
