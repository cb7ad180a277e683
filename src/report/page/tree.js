// The efficiency tree: cards that stand to the right of what they multiply to.

const goodFrom = 0.9, fairFrom = 0.8;

function stateOf(value) {
  return !isNumber(value) ? "none" : value >= goodFrom ? "good" : value >= fairFrom ? "fair" : "poor";
}

const stateSigns = {good: "✓", fair: "~", poor: "!", none: "?"};
const stateWords = {good: "good", fair: "fair", poor: "poor", none: "unknown"};

function leavesOf(node) {
  const children = listOf(node.children);
  return children.length ? children.flatMap(leavesOf) : [node];
}

// The factor that loses most, where there is one to speak of.
function greatestLoss(root) {
  const leaves = leavesOf(root).filter((leaf) => isNumber(leaf.value));
  const worst = leaves.reduce((a, b) => (!a || b.value < a.value ? b : a), null);
  return worst && worst.value < 0.95 && leaves.length > 1 ? worst : null;
}

function treeCard(node, worst) {
  const state = stateOf(node.value), bar = clamp(orZero(node.value), 0, 1) * 100;
  return element("div", {class: `factor ${state}${node === worst ? " worst" : ""}`, "data-key": textOf(node.key), "data-value": node.value},
    element("div", {class: "factor-head"},
      element("span", {class: "sign", title: stateWords[state], role: "img", "aria-label": stateWords[state]}, stateSigns[state]),
      element("span", {class: "factor-name"}, textOf(node.name) || textOf(node.key)),
      element("span", {class: "factor-value"}, factor(node.value))),
    element("div", {class: "factor-bar", "aria-hidden": "true"}, element("span", {style: `width:${bar.toFixed(2)}%`})),
    element("div", {class: "factor-meaning"}, textOf(node.meaning)),
    node === worst ? element("div", {class: "factor-flag"}, "most is lost here") : null);
}

function treeBranch(node, worst) {
  const children = listOf(node.children);
  return element("li", {class: children.length ? "branch" : "leaf"}, treeCard(node, worst),
    children.length ? element("ul", {"aria-label": `${textOf(node.name)} is the product of`}, children.map((child) => treeBranch(child, worst))) : null);
}

function treeView(root, label) {
  return element("div", {class: "tree-scroll"}, element("ul", {class: "tree", "aria-label": label}, treeBranch(root, greatestLoss(root))));
}

// What each rank's device did; kinds may overlap, so they may add up to more than it was busy.
function deviceTable(devices) {
  const kinds = ["busy", "computing", "collectives", "copies", "idle"];
  return table("Time of each device", ["rank", "host", ...kinds].map((title, at) => ({title, number: at !== 1})), devices.map((use) => [
    textOf(use.rank), textOf(use.host), ...kinds.map((kind) => (orZero(use.seconds) > 0 ? `${percent(orZero(use[kind]) / use.seconds)} · ${seconds(use[kind])}` : "–")),
  ]), {id: "device-table"});
}

function efficiencyPart(report) {
  const part = partOf(report.efficiency), tree = part && partOf(part.tree);
  if (!tree) return null;
  const device = partOf(part.device), devices = listOf(report.devices).map(partOf).filter(Boolean);
  const times = [["the run took", part.seconds], ["without waits for input", part.no_input_seconds], ["and on an ideal network", part.ideal_seconds]]
    .filter(([, value]) => isNumber(value));
  return [
    element("p", {class: "hint"}, "Each factor is the product of the factors to its right; 100 % everywhere means that no time is lost. ",
      `✓ from ${goodFrom * 100} %, ~ from ${fairFrom * 100} %, ! below.`),
    treeView(tree, "Efficiency"),
    device ? [element("h3", null, "On the devices"), treeView(device, "Efficiency of devices")] : null,
    devices.length ? behind("What each device did", deviceTable(devices)) : null,
    times.length ? element("p", {class: "facts-line"}, times.map(([name, value], at) =>
      element("span", null, `${at ? "" : "In this window "}${name} `, element("b", null, seconds(value))))) : null,
  ];
}
