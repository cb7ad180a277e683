// Puts the parts onto the page, in the order in which a reader asks: how good, what to change, where the time goes.

const parts = [
  ["efficiency", "Efficiency", efficiencyPart],
  ["advice", "What to change", advicePart, "Advice"],
  ["steps", "Where the time goes", stepsPart, "Time"],
  ["timeline", "Timeline", timelinePart],
  ["roofline", "Roofline", rooflinePart],
  ["scaling", "Scaling", scalingPart],
  ["collectives", "Collectives", collectivesPart],
  ["input", "Input", inputPart],
  ["profile", "Call paths", profilePart],
  ["operators", "Operators", operatorsPart],
  ["compare", "Two runs", comparePart],
  ["phases", "Phases", phasesPart],
  ["bottlenecks", "Bottlenecks", bottlenecksPart],
  ["guide", "Guide", guidePart],
];

// A part that fails leaves a sentence in its place, and the others stay.
function build(make, report) {
  try {
    return make(report);
  } catch (error) {
    console.error(error);
    return element("p", {class: "callout"}, `This part could not be drawn (${error.message}); its numbers are in ronde report --json.`);
  }
}

function fillPage(report) {
  const content = document.getElementById("content"), nav = document.getElementById("nav");
  const source = textOf(report.source);
  fill(document.getElementById("source"), {title: source}, [source]);
  content.append(...[verdictPart, jobPart, problemsPart].map((make) => build(make, report)).filter(Boolean));
  const built = new Map();
  // The timeline first: others link to it.
  for (const [id, , make] of [...parts].sort((a, b) => (b[0] === "timeline") - (a[0] === "timeline"))) built.set(id, build(make, report));
  for (const [id, title, , shortTitle] of parts) {
    const part = [built.get(id)].flat(9).filter(Boolean);
    if (!part.length) continue;
    content.append(element("section", {id, "aria-labelledby": `${id}-title`}, element("h2", {id: `${id}-title`}, title), part));
    nav.append(element("a", {href: `#${id}`}, shortTitle || title));
  }
  if (!content.querySelector("section, dl")) content.append(element("p", {class: "callout"}, "This report is empty."));
}

// --- Dark and light -----------------------------------------------------------------------------------------------------

// The page's head has chosen what the reader's system asks for; style sheets know no other sign than data-theme.
const darkWanted = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;

function setTheme(theme) {
  root.dataset.theme = theme;
  const other = theme === "dark" ? "Light" : "Dark", button = document.getElementById("theme");
  button.textContent = other;
  button.setAttribute("aria-label", `Show ${other.toLowerCase()} colours`);
  for (const redraw of onTheme) redraw();
}

// --- Paper --------------------------------------------------------------------------------------------------------------

// Everything open; charts and timeline in the colours and the width of paper, which style sheets choose by themselves.
function preparePrint() {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const prepare of beforePrinting) prepare();
}

const report = partOf(JSON.parse(document.getElementById("document").textContent)) || {};
fillPage(report);
document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
darkWanted.addEventListener("change", () => setTheme(darkWanted.matches ? "dark" : "light"));
addEventListener("beforeprint", preparePrint);
addEventListener("afterprint", () => setTheme(root.dataset.theme));
matchMedia("print").addEventListener("change", (event) => (event.matches ? preparePrint() : setTheme(root.dataset.theme)));
setTheme(root.dataset.theme);
root.dataset.ready = "yes";
