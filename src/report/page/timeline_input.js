// How the timeline is moved: wheel, dragging, keys, buttons, links; and the choice of ranks and lanes.

const fewRanks = 8;

// "0-3, 17" of those that there are. Text that names none gives an empty set.
function parseRanks(text, there) {
  const chosen = new Set();
  for (const piece of text.split(/[\s,]+/).filter(Boolean)) {
    const match = /^(\d+)(?:(?:-|\.\.)(\d+))?$/.exec(piece);
    if (!match) continue;
    const first = Number(match[1]), last = match[2] === undefined ? first : Number(match[2]);
    for (const rank of there) if (rank >= first && rank <= last) chosen.add(rank);
  }
  return chosen;
}

function ranksText(ranks) {
  const sorted = [...ranks].sort((a, b) => a - b), pieces = [];
  for (let at = 0; at < sorted.length;) {
    let last = at;
    while (last + 1 < sorted.length && sorted[last + 1] === sorted[last] + 1) ++last;
    pieces.push(last > at ? `${sorted[at]}-${sorted[last]}` : `${sorted[at]}`);
    at = last + 1;
  }
  return pieces.join(", ");
}

// Of many ranks, some at first: the first ones, and those with most and least work.
function firstChoice(ranks, report) {
  if (ranks.length <= fewRanks) return new Set(ranks);
  const shares = listOf(partOf(report.steps) && report.steps.ranks).filter((rank) => ranks.includes(rank.rank)).sort((a, b) => workOf(b) - workOf(a));
  const extremes = shares.length ? [shares[0].rank, shares[shares.length - 1].rank] : [];
  return new Set([...new Set([...extremes, ...ranks])].slice(0, fewRanks));
}

class TimelineControls {
  constructor(view, report) {
    this.view = view;
    this.model = view.model;
    this.ranks = firstChoice(this.model.ranks, report);
    this.kinds = new Set(this.model.kinds);
    this.lastScroll = 0;
    this.said = element("div", {class: "unseen", "aria-live": "polite"});
    this.listen();
    this.show();
  }

  show() {
    this.view.show(this.ranks, this.kinds);
    if (this.rankBox) this.rankBox.value = ranksText(this.ranks);
  }

  listen() {
    const canvas = this.view.canvas;
    addEventListener("scroll", () => { this.lastScroll = performance.now(); }, {passive: true});
    canvas.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => this.release());
    canvas.addEventListener("pointercancel", () => this.release());
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("dblclick", (event) => this.zoomToSpan(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  wheel(event) {
    // Whoever scrolls down the page passes over the timeline: that gesture goes on scrolling.
    if (performance.now() - this.lastScroll < 250 && !event.ctrlKey) return;
    if (event.shiftKey) {
      this.view.scrollTo(this.view.top + event.deltaY + event.deltaX);
      this.view.draw();
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.view.pan(event.deltaX / this.view.width);
    } else {
      if (event.deltaY > 0 && this.view.all) return;  // nothing to zoom out of
      const lines = event.deltaMode === 1 ? event.deltaY * 30 : event.deltaY;
      this.view.zoom(Math.exp(clamp(lines, -240, 240) * 0.0025), event.offsetX);
    }
    tip.hide();
    event.preventDefault();
  }

  press(event) {
    if (event.button !== 0) return;
    this.drag = {x: event.clientX, y: event.clientY, begin: this.view.begin, end: this.view.end, top: this.view.top};
    this.view.canvas.setPointerCapture(event.pointerId);
    this.view.canvas.classList.add("dragging");
    tip.hide();
  }

  move(event) {
    if (!this.drag) return this.hover(event);
    const shift = ((this.drag.x - event.clientX) / this.view.width) * (this.drag.end - this.drag.begin);
    const held = clamp(shift, this.model.begin - this.drag.begin, this.model.end - this.drag.end);
    this.view.scrollTo(this.drag.top + this.drag.y - event.clientY);
    this.view.range(this.drag.begin + held, this.drag.end + held);
  }

  release() {
    this.drag = null;
    this.view.canvas.classList.remove("dragging");
  }

  hover(event) {
    const found = this.view.spanAt(event.offsetX, event.offsetY);
    found ? tip.show(event, this.view.linesOf(found)) : tip.hide();
  }

  zoomToSpan(event) {
    const found = this.view.spanAt(event.offsetX, event.offsetY);
    if (found) this.zoomTo(found.span.begin, found.span.end);
  }

  zoomTo(begin, end) {
    const air = (end - begin) * 0.12;
    this.view.range(begin - air, end + air);
  }

  key(event) {
    const moves = {
      ArrowLeft: () => this.view.pan(-0.2), ArrowRight: () => this.view.pan(0.2),
      ArrowUp: () => this.scroll(-40), ArrowDown: () => this.scroll(40),
      PageUp: () => this.scroll(-300), PageDown: () => this.scroll(300),
      "+": () => this.view.zoom(0.6), "=": () => this.view.zoom(0.6), "-": () => this.view.zoom(1 / 0.6),
      0: () => this.reset(), Home: () => this.reset(), Escape: () => this.select(null),
      n: () => this.step(1), p: () => this.step(-1), j: () => this.changeLane(1), k: () => this.changeLane(-1),
    };
    const move = event.ctrlKey || event.metaKey || event.altKey ? null : moves[event.key];
    if (!move) return;
    move();
    event.preventDefault();
  }

  scroll(by) {
    this.view.scrollTo(this.view.top + by);
    this.view.draw();
  }

  piece(step) {
    this.view.highlight = null;
    this.view.range(step.begin, step.end);
  }

  reset() {
    this.view.highlight = null;
    this.view.range(this.model.begin, this.model.end);
  }

  // --- From span to span ----------------------------------------------------------------------------------------------

  step(by) {
    const now = this.view.selected;
    if (!now) return this.changeLane(0);
    const spans = now.lane.depths.flat().sort((a, b) => a.begin - b.begin || b.end - a.end);
    this.select({lane: now.lane, span: spans[clamp(spans.indexOf(now.span) + by, 0, spans.length - 1)]});
  }

  changeLane(by) {
    const now = this.view.selected, at = now ? this.view.lanes.indexOf(now.lane) + by : 0;
    const lane = this.view.lanes[clamp(at, 0, this.view.lanes.length - 1)];
    if (!lane) return;
    const spans = lane.depths[0].length ? lane.depths[0] : lane.depths.flat();
    const time = now ? now.span.begin : this.view.begin;
    this.select({lane, span: spans[Math.min(firstAfter(spans, time), spans.length - 1)]});
  }

  select(found) {
    this.view.selected = found;
    if (!found) tip.hide();
    else this.reveal(found);
    this.view.draw();
  }

  reveal({lane, span}) {
    const view = this.view, place = view.places[view.lanes.indexOf(lane)], length = view.end - view.begin;
    if (span.begin < view.begin || span.begin > view.end) view.range(span.begin - length * 0.1, span.begin + length * 0.9);
    if (place.top < view.top + axisHeight || place.top + place.height > view.top + view.canvas.clientHeight) view.scrollTo(place.top - axisHeight - 20);
    const box = view.canvas.getBoundingClientRect(), lines = view.linesOf({lane, span});
    tip.showAt(box.left + clamp(view.xOf(span.begin), gutterWidth, box.width), box.top + place.top - view.top + place.height - 12, lines);
    this.said.textContent = lines.join(", ");
  }

  // --- What others ask for ----------------------------------------------------------------------------------------------

  holds(at) {
    return isNumber(at.begin) && isNumber(at.end) && at.end > this.model.begin && at.begin < this.model.end && this.model.ranks.includes(at.rank);
  }

  // Scrolls to the timeline and zooms to a piece of evidence.
  visit(at) {
    if (!this.ranks.has(at.rank)) this.ranks.add(at.rank);
    this.view.highlight = {rank: at.rank, begin: at.begin, end: at.end};
    this.show();
    this.zoomTo(at.begin, at.end);
    const first = this.view.lanes.findIndex((lane) => lane.rank === at.rank);
    if (first >= 0) this.view.scrollTo(this.view.places[first].top - axisHeight - 30);
    document.getElementById("timeline").scrollIntoView({behavior: "auto", block: "start"});
    this.view.canvas.focus({preventScroll: true});
    this.view.draw();
  }

  // --- Controls ---------------------------------------------------------------------------------------------------------

  buttons() {
    const button = (text, title, act) => element("button", {class: "button", type: "button", title, "aria-label": title, onclick: act}, text);
    return element("span", {class: "buttons"},
      button("−", "Zoom out", () => this.view.zoom(1 / 0.6)), button("+", "Zoom in", () => this.view.zoom(0.6)),
      button("◂", "Earlier", () => this.view.pan(-0.3)), button("▸", "Later", () => this.view.pan(0.3)),
      button("All", "Show all", () => this.reset()),
      this.model.steps.length > 1 ? this.model.steps.slice(0, 12).map((step, at) => button(step.title || `piece ${at + 1}`, `Zoom to ${step.title || `piece ${at + 1}`}`, () => this.piece(step))) : null);
  }

  rankChoice() {
    if (this.model.ranks.length < 2) return null;
    this.rankBox = element("input", {id: "timeline-ranks", type: "text", size: 12, value: ranksText(this.ranks), spellcheck: "false", onchange: (event) => {
      const chosen = parseRanks(event.target.value, this.model.ranks);
      if (chosen.size) this.ranks = chosen;
      this.show();
    }});
    const every = element("button", {class: "button", type: "button", onclick: () => { this.ranks = new Set(this.model.ranks); this.show(); }}, "all");
    return element("label", null, `Ranks (of ${this.model.ranks.length}) `, this.rankBox, " ", every);
  }

  kindChoice() {
    if (this.model.kinds.length < 2) return null;
    return element("fieldset", {class: "kinds"}, element("legend", {class: "unseen"}, "Lanes"), this.model.kinds.map((kind) =>
      element("label", null, element("input", {type: "checkbox", checked: true, onchange: (event) => {
        event.target.checked ? this.kinds.add(kind) : this.kinds.delete(kind);
        this.show();
      }}), kind)));
  }
}

function timelinePart(report) {
  const part = partOf(report.timeline), model = part && timelineModel(part);
  if (!model) return null;
  const view = new TimelineView(model), controls = new TimelineControls(view, report);
  links.timeline = controls;
  const redraw = () => { view.colours.clear(); view.drawNow(); };
  onTheme.push(redraw);
  beforePrinting.push(redraw);
  return [
    element("div", {class: "controls"}, controls.buttons(), controls.rankChoice(), controls.kindChoice()),
    element("div", {class: "timeline-frame"}, view.canvas),
    controls.said,
    model.leftOut ? element("p", {class: "hint"}, model.leftOut) : null,
    element("p", {class: "hint no-print"}, "Wheel zooms, dragging moves, double click shows a span; shift and wheel goes up and down. With keys: arrows, +, −, 0; N and P from span to span, J and K from lane to lane. Hatched is waiting."),
  ];
}
