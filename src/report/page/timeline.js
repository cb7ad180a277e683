// The timeline of chosen steps: what it holds, where things are, and drawing them. timeline_input.js moves it.

const gutterWidth = 132, axisHeight = 24, rowHeight = 17, lanePad = 5, mostHeight = 620;
const waitingName = /^(wait|vote|negotiate)/;
// Names that training gives, in the colours of the step stack; others get one by their letters.
const spanColours = {
  forward: "compute", backward: "backward", optimizer: "optimizer", evaluate: "optimizer", "wait for input": "input",
  "wait for communication": "exposed", "wait for peers": "exposed", "wait for device": "compute", "wait for room": "idle", synchronize: "exposed", step: "idle",
};

// Spans of a lane by depth, each sorted by begin: those of one depth never overlap, so that looking for one is a search.
function spansByDepth(lane) {
  const depths = [];
  for (const [name, begin, duration, depth] of listOf(lane.spans)) {
    if (!isNumber(begin) || !isNumber(duration)) continue;
    const at = clamp(orZero(depth), 0, 31);
    while (depths.length <= at) depths.push([]);
    depths[at].push({name, begin, end: begin + duration});
  }
  for (const spans of depths) spans.sort((a, b) => a.begin - b.begin);
  return depths;
}

// The first span that ends after `time`.
function firstAfter(spans, time) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].end > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function timelineModel(part) {
  const lanes = listOf(part.lanes).filter((lane) => isNumber(lane.rank)).map((lane) => ({
    rank: lane.rank, host: textOf(lane.host), name: textOf(lane.name), kind: textOf(lane.kind).toLowerCase() || "other", depths: spansByDepth(lane),
  })).filter((lane) => lane.depths.some((spans) => spans.length));
  const steps = listOf(part.steps).filter((step) => step.end > step.begin).sort((a, b) => a.begin - b.begin)
    .map((step) => ({...step, title: textOf(step.title) || (step.number >= 0 ? `step ${step.number}` : "")}));
  let begin = Infinity, end = -Infinity;
  for (const step of steps) begin = Math.min(begin, step.begin), end = Math.max(end, step.end);
  if (!steps.length) {  // all that there is; else spans that begin before or go on after the pieces are cut
    for (const lane of lanes) {
      for (const spans of lane.depths) for (const span of spans) begin = Math.min(begin, span.begin), end = Math.max(end, span.end);
    }
  }
  if (!lanes.length || !(end > begin)) return null;
  return {names: listOf(part.names).map(textOf), lanes, steps, begin, end, start: firstPieces(steps) || {begin, end}, leftOut: textOf(part.left_out),
    ranks: [...new Set(lanes.map((lane) => lane.rank))].sort((a, b) => a - b), kinds: [...new Set(lanes.map((lane) => lane.kind))]};
}

// Pieces may lie far apart in the run. A page begins with those that follow on the first one.
function firstPieces(steps) {
  if (!steps.length) return null;
  let last = 0;
  while (last + 1 < steps.length && steps[last + 1].begin - steps[last].end < 0.2 * (steps[last].end - steps[0].begin)) ++last;
  return {begin: steps[0].begin, end: steps[last].end};
}

class TimelineView {
  constructor(model) {
    this.model = model;
    this.begin = model.start.begin;
    this.end = model.start.end;
    this.top = 0;  // pixels scrolled down
    this.highlight = null;  // {rank, begin, end}
    this.selected = null;  // {lane, span}
    this.canvas = element("canvas", {class: "timeline", tabindex: "0", role: "application", "aria-label":
      "Timeline. Left and right move, plus and minus zoom, 0 shows all, N and P go from span to span, J and K from lane to lane."});
    this.lanes = [];
    this.colours = new Map();
    this.waiting = 0;  // a frame that is asked for
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // Lanes of these ranks and kinds, one below the other.
  show(ranks, kinds) {
    this.lanes = this.model.lanes.filter((lane) => ranks.has(lane.rank) && kinds.has(lane.kind));
    this.lanes.sort((a, b) => a.rank - b.rank);
    let y = axisHeight;
    this.places = this.lanes.map((lane, at) => {
      const first = at === 0 || this.lanes[at - 1].rank !== lane.rank;
      y += first && at ? 8 : 0;
      const place = {top: y, height: lane.depths.length * rowHeight + lanePad, first};
      y += place.height;
      return place;
    });
    this.fullHeight = y + 6;
    this.canvas.style.height = `${Math.min(mostHeight, Math.max(90, this.fullHeight))}px`;
    this.scrollTo(this.top);
    this.draw();
  }

  // --- Places -------------------------------------------------------------------------------------------------------

  get width() { return Math.max(60, this.canvas.clientWidth - gutterWidth); }
  xOf(time) { return gutterWidth + ((time - this.begin) / (this.end - this.begin)) * this.width; }
  timeAt(x) { return this.begin + ((x - gutterWidth) / this.width) * (this.end - this.begin); }
  scrollTo(top) { this.top = clamp(top, 0, Math.max(0, (this.fullHeight || 0) - (parseFloat(this.canvas.style.height) || 0))); }

  // Shows a range of time, within what there is and not under 100 ns.
  range(begin, end) {
    const whole = this.model.end - this.model.begin;
    const length = clamp(end - begin, Math.min(whole, 1e-7), whole);
    const first = clamp((begin + end - length) / 2, this.model.begin, this.model.end - length);
    this.begin = first;
    this.end = first + length;
    this.draw();
  }

  zoom(by, x = gutterWidth + this.width / 2) {
    const fixed = this.timeAt(x), length = (this.end - this.begin) * by;
    const left = clamp((x - gutterWidth) / this.width, 0, 1) * length;
    this.range(fixed - left, fixed - left + length);
  }

  pan(share) {
    const shift = clamp((this.end - this.begin) * share, this.model.begin - this.begin, this.model.end - this.end);
    this.range(this.begin + shift, this.end + shift);
  }

  get all() { return this.begin <= this.model.begin && this.end >= this.model.end; }

  spanAt(x, y) {
    if (x < gutterWidth || y < axisHeight) return null;
    const at = this.places.findIndex((place) => y + this.top >= place.top && y + this.top < place.top + place.height);
    if (at < 0) return null;
    const depth = Math.floor((y + this.top - this.places[at].top) / rowHeight), lane = this.lanes[at];
    const spans = lane.depths[depth] || [], slack = ((this.end - this.begin) / this.width) * 2;
    const near = spans[firstAfter(spans, this.timeAt(x) - slack)];
    return near && near.begin <= this.timeAt(x) + slack ? {lane, span: near, depth} : null;
  }

  // What a tooltip says of a span.
  linesOf({lane, span}) {
    const step = this.model.steps.find((one) => span.begin >= one.begin - 1e-9 && span.begin < one.end);
    return [this.nameOf(span), seconds(span.end - span.begin), `rank ${lane.rank}${lane.host ? ` (${lane.host})` : ""}, ${lane.name}`,
      step ? `${step.title}${step.title ? ", " : ""}${seconds(span.begin - step.begin)} after its begin` : `${seconds(span.begin)} after the first step's begin`];
  }

  nameOf(span) { return this.model.names[span.name] || `span ${span.name}`; }

  // --- Drawing ------------------------------------------------------------------------------------------------------

  draw() {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.waiting);
    this.waiting = 0;
    const canvas = this.canvas, scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !this.places) return;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    Object.assign(canvas.dataset, {begin: this.begin, end: this.end, top: this.top, gutter: gutterWidth, lanes: this.lanes.length});
    const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = colour("canvas");
    context.fillRect(0, 0, width, height);
    context.font = `11.5px ${style.fontFamily}`;
    context.textBaseline = "middle";
    this.drawSteps(context, colour, width, height);
    this.lanes.forEach((lane, at) => {
      const place = this.places[at], y = place.top - this.top;
      if (y + place.height < axisHeight || y > height) return;
      this.drawLane(context, colour, lane, place, y);
    });
    this.drawHighlight(context, colour, height);
    this.drawAxis(context, colour, width);
  }

  drawSteps(context, colour, width, height) {
    if (this.model.steps.length) hatch(context, colour("hatch"), gutterWidth, axisHeight, width - gutterWidth, height);  // between pieces, where nothing is known
    this.model.steps.forEach((step, at) => {
      const x1 = Math.max(gutterWidth, this.xOf(step.begin)), x2 = Math.min(width, this.xOf(step.end));
      if (x2 <= gutterWidth || x1 >= width) return;
      for (const ground of ["canvas", at % 2 ? "step-odd" : "step-even"]) {
        context.fillStyle = colour(ground);
        context.fillRect(x1, axisHeight, x2 - x1, height);
      }
    });
  }

  drawLane(context, colour, lane, place, y) {
    if (place.first) {
      context.fillStyle = colour("rule");
      context.fillRect(0, y - 4, this.canvas.clientWidth, 1);
    }
    const perPixel = (this.end - this.begin) / this.width;
    lane.depths.forEach((spans, depth) => {
      const top = y + lanePad / 2 + depth * rowHeight;
      let drawnTo = -Infinity;
      for (let at = firstAfter(spans, this.begin); at < spans.length && spans[at].begin < this.end; ++at) {
        const span = spans[at], x2 = this.xOf(Math.min(span.end, this.end));
        if (span.end - span.begin < perPixel && x2 < drawnTo + 1) continue;  // in the pixel of the one before
        const x1 = Math.max(gutterWidth, this.xOf(span.begin)), wide = Math.max(1, x2 - x1 - (x2 - x1 > 3 ? 1 : 0));
        this.drawSpan(context, colour, lane, span, x1, top, wide);
        drawnTo = x1 + wide;
      }
    });
    context.fillStyle = colour("canvas");
    context.fillRect(0, Math.max(axisHeight, y), gutterWidth - 1, place.height);
    context.fillStyle = colour("ink");
    const middle = y + lanePad / 2 + rowHeight / 2;
    if (place.first) {
      context.font = `600 ${context.font}`;
      context.fillText(`${lane.rank}`, 6, middle);
      context.font = context.font.replace(/^(600|bold) /, "");
    }
    context.fillStyle = colour("muted");
    context.fillText(shortened(context, lane.name, gutterWidth - 44), 38, middle);
  }

  drawSpan(context, colour, lane, span, x, y, wide) {
    const name = this.nameOf(span), tall = rowHeight - 3;
    context.fillStyle = this.colourOf(name, colour);
    context.fillRect(x, y, wide, tall);
    if (waitingName.test(name) && wide > 4) hatch(context, colour("hatch"), x, y, wide, tall);
    if (this.selected && this.selected.span === span) {
      context.strokeStyle = colour("ink");
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, wide - 2), tall - 2);
    }
    if (wide < 34) return;
    context.fillStyle = colour(waitingName.test(name) ? "ink" : "on-span");
    const text = shortened(context, name, wide - 8);
    if (text) context.fillText(text, x + 4, y + tall / 2 + 0.5);
  }

  colourOf(name, colour) {
    let found = this.colours.get(name);
    if (!found) {
      let hash = 7;
      for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
      const known = spanColours[name] || (waitingName.test(name) ? "idle" : null);
      found = colour(known ? `span-${known}` : `span-${hash % 6}`);
      this.colours.set(name, found);
    }
    return found;
  }

  drawHighlight(context, colour, height) {
    if (!this.highlight) return;
    const x1 = clamp(this.xOf(this.highlight.begin), gutterWidth, gutterWidth + this.width), x2 = clamp(this.xOf(this.highlight.end), gutterWidth, gutterWidth + this.width);
    if (x2 <= x1) return;
    const rows = this.places.filter((place, at) => this.lanes[at].rank === this.highlight.rank);
    const top = rows.length ? rows[0].top - this.top - 2 : axisHeight, last = rows[rows.length - 1];
    const bottom = rows.length ? last.top + last.height - this.top : height;
    context.strokeStyle = colour("accent");
    context.lineWidth = 2;
    context.setLineDash([5, 3]);
    context.strokeRect(x1 - 1, Math.max(axisHeight + 1, top), x2 - x1 + 2, bottom - Math.max(axisHeight + 1, top));
    context.setLineDash([]);
  }

  drawAxis(context, colour, width) {
    context.fillStyle = colour("canvas");
    context.fillRect(0, 0, width, axisHeight);
    context.fillStyle = colour("rule");
    context.fillRect(0, axisHeight - 1, width, 1);
    context.fillRect(gutterWidth - 1, 0, 1, this.canvas.clientHeight);
    context.fillStyle = colour("muted");
    context.fillText("rank", 6, axisHeight / 2);
    const origin = this.originOf(), label = origin.number >= 0 ? `step ${origin.number}` : "";
    context.fillText(shortened(context, label, gutterWidth - 44), 38, axisHeight / 2);
    for (const tick of linearTicks(this.begin - origin.begin, this.end - origin.begin, Math.max(2, this.width / 110))) {
      const x = this.xOf(tick + origin.begin);
      context.fillStyle = colour("rule");
      context.fillRect(x, axisHeight - 6, 1, 5);
      context.fillStyle = colour("muted");
      const text = Math.abs(tick) < 1e-12 ? "0" : tickText(tick, this.end - this.begin);
      if (x + context.measureText(text).width + 4 < width) context.fillText(text, x + 3, axisHeight / 2);
    }
  }

  // Times on the axis count from the begin of the step at its left.
  originOf() {
    const before = this.model.steps.filter((step) => step.begin <= this.begin + (this.end - this.begin) * 0.02);
    return before.length ? before[before.length - 1] : this.model.steps[0] || {begin: this.model.begin};
  }
}

// As many digits as neighbours need to differ.
function tickText(value, length) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
  const [unit, name] = units.find(([size]) => length >= size * 2) || units[3];
  return `${(value / unit).toFixed(clamp(Math.ceil(1 - Math.log10(length / unit / 5)), 0, 3))} ${name}`;
}

function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = Math.floor((text.length * width) / context.measureText(text).width) - 1;
  return letters > 1 ? `${text.slice(0, letters)}…` : "";
}

function hatch(context, colour, x, y, wide, tall) {
  context.save();
  context.beginPath();
  context.rect(x, y, wide, tall);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - tall - (x % 6); at < x + wide; at += 6) context.moveTo(at, y + tall), context.lineTo(at + tall, y);
  context.stroke();
  context.restore();
}
