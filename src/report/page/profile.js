// The call-path profile as a tree in a table. Rows are made when their parent is opened: a profile may have thousands.

const printedRows = 400;

function spreadBar(path, longest) {
  if (!isNumber(path.min) || !isNumber(path.max) || !(longest > 0)) return unknown;
  const low = (path.min / longest) * 100, high = (path.max / longest) * 100;
  return element("span", {class: "spread"},
    element("span", {class: "spread-bar", "aria-hidden": "true"}, element("span", {style: `left:${low.toFixed(2)}%;width:${Math.max(0.8, high - low).toFixed(2)}%`})),
    element("span", {class: "meter-text"}, `${seconds(path.min)} … ${seconds(path.max)}`));
}

class ProfileTable {
  constructor(profile) {
    this.ranks = listOf(profile.ranks);
    this.roots = listOf(profile.tree);
    this.whole = this.roots.reduce((sum, root) => sum + orZero(root.inclusive), 0) || 1;
    this.body = element("tbody", null);
    this.rows = [];  // in the order of the table: {path, level, row, open}
    this.roots.forEach((root) => this.append(root, 1, null));
    const heads = ["name", "inclusive", "exclusive", "visits", "per rank, min … max"];
    this.node = element("div", {class: "scroll"}, element("table", {class: "profile", role: "treegrid", "aria-label": "Call paths"},
      element("caption", null, `Time of call paths, all ranks together (${plural(this.ranks.length || 1, "rank")})`),
      element("thead", null, element("tr", null, heads.map((title, at) => element("th", {scope: "col", class: at ? "number" : null}, title)))), this.body));
    this.node.addEventListener("keydown", (event) => this.key(event));
  }

  append(path, level, after) {
    const entry = {path, level, open: false}, children = listOf(path.children);
    entry.button = children.length
      ? element("button", {class: "twisty", type: "button", tabindex: "-1", "aria-label": `open ${textOf(path.name)}`, onclick: () => this.toggle(entry)}, "▸")
      : element("span", {class: "twisty"});
    const most = Math.max(...this.roots.map((root) => orZero(root.max)), 1e-12);
    entry.row = element("tr", {role: "row", "aria-level": level, "aria-expanded": children.length ? "false" : null, tabindex: this.rows.length ? "-1" : "0"},
      element("th", {scope: "row", style: `padding-left:${(level - 1) * 18 + 6}px`}, entry.button, element("span", {class: "path-name"}, textOf(path.name))),
      element("td", {class: "number"}, meter(orZero(path.inclusive) / this.whole, seconds(path.inclusive))),
      element("td", {class: "number"}, seconds(path.exclusive)),
      element("td", {class: "number"}, count(path.visits)),
      element("td", {class: "number"}, spreadBar(path, most)));
    const at = after ? this.rows.indexOf(after) + 1 : this.rows.length;
    this.rows.splice(at, 0, entry);
    this.body.insertBefore(entry.row, at + 1 < this.rows.length ? this.rows[at + 1].row : null);
    return entry;
  }

  toggle(entry) {
    entry.open ? this.close(entry) : this.open(entry);
  }

  open(entry) {
    const children = listOf(entry.path.children);
    if (entry.open || !children.length) return;
    this.mark(entry, true);
    let after = entry;
    for (const child of children) after = this.append(child, entry.level + 1, after);
  }

  close(entry) {
    this.mark(entry, false);
    const at = this.rows.indexOf(entry) + 1;
    while (at < this.rows.length && this.rows[at].level > entry.level) this.rows.splice(at, 1)[0].row.remove();
  }

  mark(entry, open) {
    entry.open = open;
    entry.row.setAttribute("aria-expanded", String(open));
    entry.button.textContent = open ? "▾" : "▸";
    entry.button.setAttribute("aria-label", `${open ? "close" : "open"} ${textOf(entry.path.name)}`);
  }

  // Opens what takes most, level by level, until there are about `rows` of them.
  expand(rows, leastShare = 0) {
    for (let at = 0; at < this.rows.length && this.rows.length < rows; ++at) {
      if (orZero(this.rows[at].path.inclusive) / this.whole >= leastShare) this.open(this.rows[at]);
    }
  }

  collapse() {
    for (const entry of [...this.rows].filter((one) => one.level === 1 && one.open)) this.close(entry);
  }

  key(event) {
    const at = this.rows.findIndex((entry) => entry.row === event.target.closest("tr"));
    if (at < 0) return;
    const entry = this.rows[at];
    const steps = {ArrowDown: 1, ArrowUp: -1};
    if (event.key in steps) this.focus(at + steps[event.key]);
    else if (event.key === "ArrowRight") entry.open ? this.focus(at + 1) : this.open(entry);
    else if (event.key === "ArrowLeft") entry.open ? this.close(entry) : this.focus(this.parentOf(at));
    else if (event.key === "Enter" || event.key === " ") this.toggle(entry);
    else return;
    event.preventDefault();
  }

  parentOf(at) {
    const level = this.rows[at].level;
    while (at > 0 && this.rows[at].level >= level) --at;
    return at;
  }

  focus(at) {
    if (!this.rows[at]) return;
    for (const entry of this.rows) entry.row.tabIndex = -1;
    this.rows[at].row.tabIndex = 0;
    this.rows[at].row.focus();
  }
}

function profilePart(report) {
  const profile = partOf(report.profile);
  if (!profile || !listOf(profile.tree).length) return null;
  const view = new ProfileTable(profile);
  view.expand(24, 0.02);
  beforePrinting.push(() => view.expand(printedRows));
  return [
    element("div", {class: "controls"},
      element("p", {class: "hint"}, "Inclusive time includes the paths below, exclusive time does not. The last column shows the differences between ranks."),
      element("span", {class: "push"},
        element("button", {class: "button", type: "button", onclick: () => view.expand(2000)}, "Open all"), " ",
        element("button", {class: "button", type: "button", onclick: () => view.collapse()}, "Close all"))),
    view.node,
  ];
}
