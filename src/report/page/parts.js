// Parts that are words, lists and tables.

function verdictPart(report) {
  const state = ["good", "fair", "poor"].includes(report.state) ? report.state : "none";
  const verdict = textOf(report.verdict), advice = listOf(report.advice).map(partOf).filter(Boolean);
  if (!verdict && !advice.length) return null;
  return element("section", {class: `verdict ${state}`, "aria-label": "Verdict"},
    element("div", {class: "verdict-state"}, element("span", {class: "verdict-sign", "aria-hidden": "true"}, stateSigns[state]), report.state === "unknown" ? "unknown" : state === "none" ? "Report" : stateWords[state]),
    element("div", null, element("h1", {id: "verdict"}, verdict || "Ronde report"),
      advice.length ? element("ol", {class: "first-steps", "aria-label": "What to change"}, advice.slice(0, 3).map((one, at) =>
        element("li", null, element("a", {href: `#advice-${at + 1}`}, textOf(one.title)), isNumber(one.gain) && one.gain > 0 ? element("span", null, ` · up to ${percent(one.gain)} of the time`) : null))) : null));
}

const jobNames = {recipe: "recipe", network: "network", data: "data", precision: "precision", batch: "batch", ranks: "ranks", nodes: "nodes", threads: "threads per rank", device: "device", processor: "processor", parameters: "parameters"};

function jobPart(report) {
  const job = partOf(report.job) || {}, window_ = partOf(report.window) || {};
  const facts = Object.entries(jobNames).filter(([key]) => textOf(job[key]) && job[key] !== 0).map(([key, name]) => [name, isNumber(job[key]) ? count(job[key]) : job[key], key]);
  const took = isNumber(window_.seconds) ? seconds(window_.seconds) : "";
  if (window_.steps > 0) facts.push(["steps analysed", `${count(window_.steps)} (${window_.first_step} to ${window_.last_step})${took ? ` in ${took}` : ""}`, "steps"]);
  else if (took) facts.push(["time analysed", took, "seconds"]);
  if (!facts.length) return null;
  return element("dl", {class: "facts", "aria-label": "The job"}, facts.map(([name, value, key]) => element("div", {"data-fact": key}, element("dt", null, name), element("dd", null, value))));
}

function problemsPart(report) {
  const problems = listOf(report.problems).map(textOf).filter(Boolean);
  if (!problems.length) return null;
  return element("section", {class: "callout problems", "aria-label": "Problems"}, element("h2", null, problems.length === 1 ? "One remark about this trace" : `${problems.length} remarks about this trace`),
    element("ul", null, problems.map((problem) => element("li", null, problem))));
}

// --- Input ------------------------------------------------------------------------------------------------------------

function stageBar(stage) {
  const kinds = [["busy", "compute", "at work"], ["waiting_input", "input", "waiting for the stage before"], ["waiting_room", "idle", "waiting for room"]];
  const total = kinds.reduce((sum, [key]) => sum + orZero(stage[key]), 0);
  if (!(total > 0)) return unknown;
  return element("span", {class: "stage-bar"}, kinds.filter(([key]) => stage[key] > 0).map(([key, kind, words]) =>
    withTip(element("span", {class: `piece ${kind}`, role: "img", style: `width:${((stage[key] / total) * 100).toFixed(2)}%`}, stage[key] / total > 0.2 ? element("i", null, percent(stage[key] / total)) : null),
      [`${textOf(stage.name)}: ${words}`, `${percent(stage[key] / total)}, ${seconds(stage[key])}`])));
}

function inputPart(report) {
  const part = partOf(report.input);
  if (!part) return null;
  const stages = listOf(part.stages).map(partOf).filter(Boolean);
  if (!stages.length && !textOf(part.text)) return null;
  const figures = [["now", rate(part.samples_per_second), part.samples_per_second], ["with free input", rate(part.ceiling_samples_per_second), part.ceiling_samples_per_second], ["waiting for input", percent(part.waiting_share), part.waiting_share]].filter(([, , value]) => isNumber(value));
  const columns = ["stage", "threads", "items/s without waiting", "output ready", "time of its threads"].map((title, at) => ({title, number: at > 0 && at < 4}));
  const rows = stages.map((stage) => [element("span", null, textOf(stage.name), stage.name === part.limit ? element("em", {class: "flag"}, "limits") : null), count(stage.threads), isNumber(stage.items_per_second) ? count(stage.items_per_second) : unknown, percent(stage.occupancy), stageBar(stage)]);
  return [
    textOf(part.text) ? element("p", null, textOf(part.text)) : null,
    figures.length ? element("dl", {class: "figures"}, figures.map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, value)))) : null,
    rows.length ? [legend([{kind: "compute", text: "at work"}, {kind: "input", text: "waiting for the stage before"}, {kind: "idle", text: "waiting for room"}]), table("Stages of the input pipeline", columns, rows, {id: "stages"})] : null,
  ];
}

// --- Tables -------------------------------------------------------------------------------------------------------------

function operatorsPart(report) {
  const operators = listOf(report.operators).map(partOf).filter(Boolean);
  if (!operators.length) return null;
  const columns = ["operator or kernel", "kind", "visits", "time", "share"].map((title, at) => ({title, number: at > 1}));
  const rowsOf = (some) => some.map((one) => [element("code", null, textOf(one.name)), textOf(one.category), count(one.visits), seconds(one.seconds), meter(one.share, percent(one.share))]);
  const first = operators.slice(0, 15), rest = operators.slice(15);
  return [table("Operators and kernels by time", columns, rowsOf(first), {id: "operators-table"}),
    rest.length ? behind(`${rest.length} more`, table("More operators and kernels", columns, rowsOf(rest))) : null];
}

function phasesPart(report) {
  const phases = listOf(report.phases).map(partOf).filter(Boolean), sequential = partOf(report.sequential);
  if (!phases.length && !(sequential && textOf(sequential.text))) return null;
  const columns = ["phase", "time", "share", "ranks at work", "one rank alone"].map((title, at) => ({title, number: at > 0}));
  const rows = phases.map((phase) => [textOf(phase.name), seconds(phase.seconds), meter(phase.share, percent(phase.share)), brief(digits(phase.ranks_busy)), phase.sequential_seconds > 0 ? seconds(phase.sequential_seconds) : unknown]);
  const parts = sequential ? listOf(sequential.parts).map(partOf).filter(Boolean) : [];
  return [
    sequential && textOf(sequential.text) ? element("p", null, textOf(sequential.text)) : null,
    rows.length ? table("Phases of the run", columns, rows) : null,
    parts.length ? element("p", {class: "hint"}, "Alone: ", parts.map((part) => `${textOf(part.name)} on rank ${textOf(part.rank)} (${seconds(part.seconds)})`).join(", "), ".") : null,
  ];
}

function bottlenecksPart(report) {
  const list = listOf(report.bottlenecks).map(partOf).filter(Boolean);
  if (!list.length) return null;
  const most = Math.max(...list.map((one) => orZero(one.samples_per_second)), 1e-12);
  const columns = [{title: "bottleneck"}, {title: "speed it would allow", number: true}, {title: ""}];
  return table("Speed that each would allow if everything else were free", columns, list.map((one) => [
    element("span", null, textOf(one.name), one.binds ? element("em", {class: "flag"}, "binds") : null),
    one.known !== false && isNumber(one.samples_per_second) ? meter(one.samples_per_second / most, rate(one.samples_per_second), one.binds ? "binds" : "") : one.limits === false ? "no limit" : "not known", textOf(one.text)]), {id: "bottlenecks-table"});
}

// A difference to the right of the middle where the second run takes longer, to the left where it is faster.
function differenceBar(difference, most) {
  const share = clamp(difference / most, -1, 1) * 50;
  return element("span", {class: "meter"},
    element("span", {class: "difference", "aria-hidden": "true"}, element("span", {class: share > 0 ? "slower" : "faster", style: `left:${(50 + Math.min(0, share)).toFixed(2)}%;width:${Math.abs(share).toFixed(2)}%`})),
    element("span", {class: "meter-text"}, `${difference > 0 ? "+" : difference < 0 ? "−" : ""}${seconds(Math.abs(difference))}`));
}

// Two runs side by side, what differs most first.
function comparePart(report) {
  const part = partOf(report.compare), paths = part ? listOf(part.paths).map(partOf).filter(Boolean) : [];
  if (!paths.length) return null;
  const first = textOf(part.first) || "first", second = textOf(part.second) || "second";
  const differenceOf = (path) => (isNumber(path.difference) ? path.difference : orZero(path.second) - orZero(path.first));
  const most = Math.max(...paths.map((path) => Math.abs(differenceOf(path))), 1e-12);
  const columns = ["call path", first, second, "difference", `${first}, own`, `${second}, own`].map((title, at) => ({title, number: at > 0}));
  const rowsOf = (some) => some.map((path) => [textOf(path.path), seconds(path.first), seconds(path.second), differenceBar(differenceOf(path), most), seconds(path.first_own), seconds(path.second_own)]);
  return [
    element("p", null, "Time per step on an average rank, largest differences first. Own time excludes the paths below."),
    table(`${first} and ${second} side by side`, columns, rowsOf(paths.slice(0, 20)), {id: "compare-table"}),
    paths.length > 20 ? behind(`${paths.length - 20} more`, table("More call paths", columns, rowsOf(paths.slice(20, 400)))) : null,
  ];
}

// --- Guide and advice -----------------------------------------------------------------------------------------------------

function command(text) {
  if (!text) return null;
  const button = element("button", {class: "button copy no-print", type: "button", onclick: async () => {
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {  // a page from a file may not be allowed to
      getSelection().selectAllChildren(button.previousSibling);
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = words; }, 1500);
  }}, "copy");
  return element("div", {class: "command"}, element("code", null, text), button);
}

const guideWords = {done: "done", here: "here now", later: "later"};

function guidePart(report) {
  const stages = listOf(report.guide).map(partOf).filter(Boolean);
  if (!stages.length) return null;
  return [element("p", {class: "hint"}, "The order in which experts tune: each stage is worth the effort once those before it are done."),
    element("ol", {class: "guide"}, stages.map((stage) => element("li", {class: textOf(stage.state), "aria-current": stage.state === "here" ? "step" : null},
      element("div", {class: "guide-head"}, element("b", null, textOf(stage.stage)), element("span", {class: "guide-state"}, guideWords[stage.state] || textOf(stage.state))),
      element("p", null, textOf(stage.text)), stage.state === "done" ? null : command(textOf(stage.command)))))];
}

function evidenceLink(at) {
  if (!at) return null;
  const words = `rank ${at.rank}${isNumber(at.step) ? `, step ${at.step}` : ""}`;
  if (!links.timeline || !links.timeline.holds(at)) return element("span", {class: "hint"}, ` (${words}; not among the steps of the timeline)`);
  return element("a", {class: "evidence", href: "#timeline", onclick: (event) => {
    event.preventDefault();
    links.timeline.visit(at);
  }}, `See it in the timeline: ${words}`);
}

function adviceCard(one, at) {
  return element("li", {id: `advice-${at + 1}`, class: "advice", "data-rule": textOf(one.rule)},
    element("div", {class: "advice-head"}, element("h3", null, textOf(one.title)),
      isNumber(one.gain) && one.gain > 0 ? element("span", {class: "gain", title: "Upper bound of the gain, computed from the trace"}, "up to ", element("b", null, percent(one.gain)), " of the time") : null),
    textOf(one.evidence) ? element("p", null, element("b", {class: "lead"}, "Seen "), textOf(one.evidence), " ", evidenceLink(partOf(one.at))) : null,
    textOf(one.change) ? element("p", null, element("b", {class: "lead"}, "Change "), textOf(one.change)) : null,
    textOf(one.setting) ? element("p", null, element("b", {class: "lead"}, "Set "), element("code", null, textOf(one.setting)), textOf(one.flag) ? ", as a flag:" : null) : null,
    command(textOf(one.flag)));
}

function advicePart(report) {
  if (!Array.isArray(report.advice)) return null;
  const advice = listOf(report.advice).map(partOf).filter(Boolean);
  if (!advice.length && report.state === "unknown") return element("p", {class: "hint"}, "No rule found a loss in what was recorded.");
  if (!advice.length) return element("p", {class: "all-well"}, "✓ Nothing to change: no rule found a loss worth fixing.");
  return element("ol", {class: "advice-list"}, advice.map((one, at) => adviceCard(one, at)));
}
