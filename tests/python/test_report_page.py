"""report.html in a real browser: it opens, its numbers are those of the document, and it can be moved about.

Needs Debian's chromium and the Python package playwright; without them these tests are skipped.
"""

import copy
import json
import shutil
import subprocess

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the Python package playwright drives the browser")

# A part of the document, and the section of the page that shows it.
SECTIONS = {
    "advice": "advice",
    "efficiency": "efficiency",
    "steps": "steps",
    "timeline": "timeline",
    "roofline": "roofline",
    "scaling": "scaling",
    "collectives": "collectives",
    "input": "input",
    "profile": "profile",
    "operators": "operators",
    "compare": "compare",
    "phases": "phases",
    "bottlenecks": "bottlenecks",
    "guide": "guide",
}


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def document(build_dir) -> dict:
    """What `ronde report --json` would print of a report that has every part (src/report/testing/sample_report.cc)."""
    printed = subprocess.run([build_dir / "report_page_example"], check=True, capture_output=True, timeout=60)
    return json.loads(printed.stdout)


@pytest.fixture
def open_page(browser, build_dir, tmp_path):
    """Opens the page of a document. When the test ends: nothing was complained of, and nothing was fetched."""
    heard, pages = [], []

    def open_it(document: dict, **options) -> "sync_api.Page":
        number = len(pages)
        source, target = tmp_path / f"{number}.json", tmp_path / f"{number}.html"
        source.write_text(json.dumps(document))
        subprocess.run([build_dir / "report_page_example", source, target], check=True, timeout=60)
        page = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | options))
        pages.append(page)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("request", lambda request: request.url == target.as_uri() or heard.append(f"request: {request.url}"))
        page.goto(target.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        return page

    yield open_it
    for page in pages:
        page.close()
    assert heard == []


def plain(text: str) -> str:
    """What a reader sees, without the blanks that keep words together."""
    return text.replace("\u00a0", " ").replace("\u202f", "").strip()


def nodes_of(node: dict):
    yield node
    for child in node["children"]:
        yield from nodes_of(child)


class Timeline:
    """The timeline of a page, in its own words: seconds and spans."""

    def __init__(self, page):
        self.page = page
        self.canvas = page.locator("canvas.timeline")
        self.canvas.scroll_into_view_if_needed()
        self.settle()

    def settle(self):
        """Whatever was asked for is drawn; scrolling the page is over, which the wheel waits for."""
        self.page.wait_for_timeout(300)

    def range(self) -> tuple[float, float]:
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return tuple(float(self.canvas.get_attribute(f"data-{name}")) for name in ("begin", "end"))

    def x_of(self, time: float) -> float:
        begin, end = self.range()
        box, gutter = self.canvas.bounding_box(), float(self.canvas.get_attribute("data-gutter"))
        return box["x"] + gutter + (time - begin) / (end - begin) * (box["width"] - gutter)

    def hover(self, time: float, y: float) -> str:
        """Moves there; what the tooltip says, or nothing."""
        self.page.mouse.move(self.x_of(time), self.canvas.bounding_box()["y"] + y)
        tip = self.page.locator("#tip")
        return plain(tip.inner_text()) if tip.is_visible() else ""


def test_opens_with_every_part(open_page, document):
    page = open_page(document)
    for section in SECTIONS.values():
        assert page.locator(f"section#{section} > h2").count() == 1, section
    assert page.title() == "Ronde report: runs/r4"
    assert page.locator("nav a").count() == len(SECTIONS)


def test_numbers_are_those_of_the_document(open_page, document):
    page = open_page(document)
    assert plain(page.inner_text("#verdict")) == document["verdict"]
    assert plain(page.inner_text(".verdict-state")).lower().endswith(document["state"])
    assert [plain(text) for text in page.locator(".problems li").all_inner_texts()] == document["problems"]
    for key in ("recipe", "network", "precision", "batch", "ranks", "parameters"):
        assert plain(page.inner_text(f"[data-fact={key}] dd")) == str(document["job"][key])
    for tree in ("tree", "device"):
        for node in nodes_of(document["efficiency"][tree]):
            card = page.locator(f'.factor[data-key="{node["key"]}"]')
            assert float(card.get_attribute("data-value")) == node["value"]
            assert plain(card.locator(".factor-value").inner_text()) == f"{100 * node['value']:.1f} %"
            assert plain(card.locator(".factor-meaning").inner_text()) == node["meaning"]
    worst = page.locator(".factor.worst").evaluate_all("nodes => nodes.map((node) => node.dataset.key)")
    assert worst == ["load_balance", "device_load_balance"]
    rows = page.locator("#device-table tbody tr").all_text_contents()
    assert len(rows) == len(document["devices"])
    assert f"{100 * document['devices'][0]['busy'] / document['devices'][0]['seconds']:.0f} %" in plain(rows[0])


def test_a_run_without_a_grade_is_not_called_good(open_page, document):
    document["state"], document["advice"] = "unknown", []
    document["verdict"] = "Only 4 whole steps were recorded, at least 10 are needed for a grade."
    page = open_page(document)
    assert plain(page.inner_text("#verdict")) == document["verdict"]
    assert plain(page.inner_text(".verdict-state")).lower().endswith("unknown")
    assert page.locator(".verdict.none").count() == 1, "the colour of no grade"
    assert page.locator(".all-well").count() == 0
    assert "Nothing to change" not in page.inner_text("body")


def test_rows_are_those_of_the_document(open_page, document):
    page = open_page(document)
    assert page.locator(".stack-row").count() == len(document["steps"]["ranks"])
    assert page.locator(".stack-row.slowest").get_attribute("data-rank") == str(document["steps"]["slow"]["rank"])
    page.click("text=Numbers of each rank")
    rows = page.locator("#rank-table tbody tr").all()
    assert len(rows) == len(document["steps"]["ranks"])
    for row, rank in zip(rows, document["steps"]["ranks"], strict=True):
        cells = [plain(cell) for cell in row.locator("th, td").all_inner_texts()]
        assert cells[:3] == [str(rank["rank"]), rank["host"], "800 ms"]
        assert cells[3] == f"{1000 * rank['compute']:.0f} ms"
        assert cells[-1] == f"{100 * rank['overlap']:.0f} %"
    advice = page.locator("li.advice").all()
    assert len(advice) == len(document["advice"])
    for card, one in zip(advice, document["advice"], strict=True):
        text = plain(card.inner_text())
        assert all(one[key] in text for key in ("title", "evidence", "change", "setting", "flag")), text
    names = [plain(name) for name in page.locator("#operators-table tbody th").all_inner_texts()]
    assert names == [one["name"] for one in document["operators"]]
    assert page.locator("#bottlenecks-table tbody tr", has_text="binds").count() == 1
    assert page.locator("#stages tbody tr", has_text="limits").locator("th").inner_text().startswith("decode")
    assert page.locator("path.layer").count() == len(document["roofline"]["layers"])
    assert page.locator("#compare-table tbody tr").count() == len(document["compare"]["paths"])
    assert page.locator(".guide li.here b").inner_text() == "Communication"


def test_call_paths_open_and_close(open_page, document):
    page = open_page(document)
    page.click("text=Close all")
    rows = page.locator("table.profile tbody tr")
    roots = document["profile"]["tree"]
    assert rows.count() == len(roots)
    first = rows.nth(0)
    assert first.locator(".path-name").inner_text() == roots[0]["name"]
    first.locator("button").click()
    assert rows.count() == len(roots) + len(roots[0]["children"])
    assert first.get_attribute("aria-expanded") == "true"
    first.focus()
    page.keyboard.press("ArrowLeft")
    assert rows.count() == len(roots)
    page.click("text=Open all")
    assert rows.count() == sum(1 for root in roots for _ in nodes_of(root))


def test_wheel_zooms_and_dragging_moves(open_page, document):
    page = open_page(document)
    timeline = Timeline(page)
    begin, end = timeline.range()
    assert (begin, end) == pytest.approx((0.2, 0.4))
    middle = timeline.canvas.bounding_box()["y"] + 60
    page.mouse.move(timeline.x_of(0.25), middle)
    page.mouse.wheel(0, -240)
    zoomed = timeline.range()
    assert zoomed[1] - zoomed[0] < 0.7 * (end - begin)
    assert (0.25 - zoomed[0]) / (zoomed[1] - zoomed[0]) == pytest.approx(0.25, abs=0.01)  # it stays under the pointer

    x = timeline.x_of(sum(zoomed) / 2)
    page.mouse.move(x, middle)
    page.mouse.down()
    page.mouse.move(x - 60, middle)
    page.mouse.move(x - 120, middle)
    page.mouse.up()
    moved = timeline.range()
    assert moved[1] - moved[0] == pytest.approx(zoomed[1] - zoomed[0])
    assert moved[0] > zoomed[0]

    for _ in range(12):
        page.mouse.wheel(0, 240)
        timeline.settle()
    assert timeline.range() == pytest.approx((begin, end))  # never beyond what there is


def test_timeline_by_buttons_and_keys(open_page, document):
    page = open_page(document)
    timeline = Timeline(page)
    page.click("[aria-label='Zoom in']")
    assert timeline.range() == pytest.approx((0.24, 0.36))
    page.click("[aria-label='Later']")
    assert timeline.range()[0] == pytest.approx(0.276)
    page.get_by_role("button", name="step 103").click()
    assert timeline.range() == pytest.approx((0.3, 0.4))
    timeline.canvas.focus()
    page.keyboard.press("0")
    assert timeline.range() == pytest.approx((0.2, 0.4))
    page.keyboard.press("+")
    assert timeline.range() == pytest.approx((0.24, 0.36))
    page.keyboard.press("ArrowLeft")
    assert timeline.range()[0] == pytest.approx(0.216)
    page.keyboard.press("0")
    page.keyboard.press("n")
    page.keyboard.press("n")
    assert plain(page.inner_text("#tip")).startswith("forward\n20.0 ms\nrank 0")
    page.keyboard.press("j")
    assert "rank 0 (b1), move: world" in plain(page.inner_text("#tip"))
    page.fill("#timeline-ranks", "1-2")
    page.keyboard.press("Enter")
    timeline.range()
    assert timeline.canvas.get_attribute("data-lanes") == "6"
    page.uncheck("label:has-text('input') >> input")
    timeline.range()
    assert timeline.canvas.get_attribute("data-lanes") == "4"


def test_hovering_names_the_span(open_page, document):
    page = open_page(document)
    timeline = Timeline(page)
    lane = document["timeline"]["lanes"][0]
    top = [span for span in lane["spans"] if span[3] == 0]
    for name, begin, duration, _ in top:
        text = timeline.hover(begin + duration / 2, 33).split("\n")
        assert text[0] == document["timeline"]["names"][name]
        assert float(text[1].split()[0]) == pytest.approx(1000 * duration, rel=0.01) and text[1].endswith("ms")
        assert text[2] == f"rank {lane['rank']} ({lane['host']}), {lane['name']}"
    inner = next(span for span in lane["spans"] if span[3] == 1)
    text = timeline.hover(inner[1] + inner[2] / 2, 50)
    assert text.startswith(document["timeline"]["names"][inner[0]])
    page.mouse.move(5, 5)
    assert not page.locator("#tip").is_visible()


def test_advice_leads_into_the_timeline(open_page, document):
    page = open_page(document)
    links = page.locator("a.evidence")
    places = [one["at"] for one in document["advice"] if one["at"]]
    assert links.count() == len(places)
    for number, at in enumerate(places):
        links.nth(number).scroll_into_view_if_needed()
        links.nth(number).click()
        timeline = Timeline(page)
        begin, end = timeline.range()
        assert begin <= at["begin"] and at["end"] <= end
        assert end - begin < 1.5 * (at["end"] - at["begin"])
        box = timeline.canvas.bounding_box()
        assert 0 <= box["y"] < 600


def test_a_place_that_the_timeline_lacks_is_no_link(open_page, document):
    document["advice"][0]["at"] = {"rank": 2, "step": 7, "begin": 70.0, "end": 70.1}
    page = open_page(document)
    assert page.locator("a.evidence").count() == 1
    assert "not among the steps of the timeline" in plain(page.locator("li.advice").nth(0).inner_text())


def test_pieces_that_lie_apart(open_page, document):
    """A step far away in the run: the page begins with the first ones, and a button leads to it."""
    timeline = document["timeline"]
    timeline["steps"].append({"number": 900, "title": "step 900, the slowest", "begin": 90.0, "end": 90.1})
    timeline["lanes"][0]["spans"].append([2, 90.0, 0.09, 0])
    timeline["left_out"] = "4 of 64 ranks are shown"
    page = open_page(document)
    view = Timeline(page)
    assert view.range() == pytest.approx((0.2, 0.4))
    page.get_by_role("button", name="step 900").click()
    assert view.range() == pytest.approx((90.0, 90.1))
    assert view.hover(90.05, 33).startswith("forward")
    assert page.locator("text=4 of 64 ranks are shown").count() == 1


# Draws other documents in a page that is open: what a new page would do, without the second that opening each takes.
DRAW_AGAIN = """(documents) => documents.map((other) => {
  document.getElementById("document").textContent = JSON.stringify(other);
  for (const id of ["content", "nav", "source"]) document.getElementById(id).replaceChildren();
  const again = document.createElement("script");
  again.textContent = [...document.scripts].at(-1).textContent;
  document.body.append(again);
  again.remove();
  const sections = [...document.querySelectorAll("section[id]")].map((section) => section.id);
  return [sections, document.getElementById("content").textContent];
})"""


def test_parts_that_are_not_there_are_left_out(open_page, document):
    page = open_page(document)
    for key, value in document.items():
        others = [None, type(value)(), [None], {"x": [None]}, "text"]
        rest = {name: part for name, part in document.items() if name != key}
        if key == "phases":
            del rest["sequential"]  # they are told together
        drawn = page.evaluate(DRAW_AGAIN, [rest, *(rest | {key: other} for other in others)])
        for (shown, text), other in zip(drawn, ["missing", *others], strict=True):
            left_out = {SECTIONS[key]} if key in SECTIONS else set()
            if key == "advice" and isinstance(other, list):
                assert "Nothing to change" in text
                left_out = set()
            assert set(shown) == set(SECTIONS.values()) - left_out, (key, other)
            assert "could not be drawn" not in text, (key, other)


def test_layers_without_ceilings_are_a_table(open_page, document):
    document["roofline"] |= {"flops_ceiling": None, "bytes_ceiling": None}
    page = open_page(document)
    assert page.locator("#layers tbody tr").count() == len(document["roofline"]["layers"])
    assert page.locator("#roofline svg").count() == 0


def test_an_empty_document_says_so(open_page):
    assert "This report is empty." in open_page({}).inner_text("main")


def test_text_of_a_document_is_only_text(open_page, document):
    nasty = "</script><img src=x onerror=\"console.log('run')\"><!--<script>"
    document["verdict"] = document["source"] = document["advice"][0]["title"] = nasty
    document["timeline"]["names"] = [nasty] * len(document["timeline"]["names"])
    document["operators"][0]["name"] = document["profile"]["tree"][0]["name"] = nasty
    page = open_page(document)
    assert plain(page.inner_text("#verdict")) == nasty
    assert page.locator("main img").count() == 0
    assert Timeline(page).hover(0.21, 33).startswith(nasty)


CONTRAST = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
      .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = channels(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const node of document.querySelectorAll("body *:not(script):not(svg *)")) {
    const text = [...node.childNodes].filter((child) => child.nodeType === 3 && child.data.trim());
    if (!text.length || !node.checkVisibility({visibilityProperty: true})) continue;
    const [a, b] = [light(channels(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${node.className} '${text[0].data.trim()}'`);
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light(open_page, document, scheme):
    page = open_page(document, color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    pixel = """() => {
      const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
      copy.drawImage(document.querySelector("canvas.timeline"), 0, 0);
      return [...copy.getImageData(3, 3, 1, 1).data].slice(0, 3);
    }"""
    is_dark = [sum(map(int, page.evaluate(ground)[4:-1].split(","))) < 200]
    canvas = [sum(page.evaluate(pixel)) < 200]
    assert page.evaluate(CONTRAST) == []
    page.click("#theme")
    is_dark.append(sum(map(int, page.evaluate(ground)[4:-1].split(","))) < 200)
    canvas.append(sum(page.evaluate(pixel)) < 200)
    assert is_dark == canvas == ([False, True] if scheme == "light" else [True, False])
    assert page.evaluate(CONTRAST) == []


def test_paper_is_light_and_shows_all(open_page, document):
    page = open_page(document, color_scheme="dark")
    page.click("text=Close all")
    page.emulate_media(media="print")
    page.wait_for_timeout(100)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible() and not page.locator("#theme").is_visible()
    assert page.locator("#rank-table").is_visible()
    rows = sum(1 for root in document["profile"]["tree"] for _ in nodes_of(root))
    assert page.locator("table.profile tbody tr").count() == rows
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_narrow_window_scrolls_in_one_direction(open_page, document):
    page = open_page(document, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    boxes = [card.bounding_box() for card in page.locator(".factor").all()]
    assert all(box["x"] + box["width"] <= 400 for box in boxes)


def many_ranks(document: dict, ranks: int, steps: int) -> dict:
    """The sample, as if it were a large run."""
    out = copy.deepcopy(document)
    table, timeline = out["steps"], out["timeline"]
    table["numbers"], table["slowest"] = list(range(steps)), [2] * steps
    table["seconds"] = [0.1] * steps
    table["ranks"] = [table["ranks"][rank % 4] | {"rank": rank, "host": f"b{rank // 4}"} for rank in range(ranks)]
    entries = [{"rank": rank, **table["stack"][rank % 4]} | {"rank": rank} for rank in range(ranks)]
    table["stack"] = [
        {key: value if key == "rank" else value[:1] * steps for key, value in entry.items()} for entry in entries
    ]
    lanes = timeline["lanes"]
    timeline["lanes"] = [
        lane | {"rank": rank, "host": f"b{rank // 4}"}
        for rank in range(ranks)
        for lane in lanes
        if lane["rank"] == rank % 4
    ]
    return out


def test_a_value_that_stands_for_many_steps_says_so(open_page, document):
    long = many_ranks(document, 4, 100)
    table = long["steps"]
    table["numbers"] = [1000 * at + 7 for at in range(100)]
    table["first"], table["last"] = [1000 * at for at in range(100)], [1000 * at + 999 for at in range(100)]
    table["left_out"] = "100000 steps: the longest of every 1000 is shown."
    page = open_page(long)
    assert page.locator("#steps .hint", has_text="the longest of every 1000").count() == 1
    chart = page.locator("#steps svg[aria-label^='Time of each step']")
    chart.scroll_into_view_if_needed()  # the mouse reaches what is on the screen
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] / 2)
    shown = plain(page.inner_text("#tip"))
    assert "step 99007" in shown and "the longest of 99000 to 99999" in shown, shown


def test_many_ranks_and_steps(open_page, document):
    page = open_page(many_ranks(document, 64, 1000))
    assert page.locator(".stack-row").count() == 64
    page.select_option("#stack-order", "work")
    assert page.locator(".stack-row").first.get_attribute("data-rank") == "2"
    page.select_option("#step-rank", "40")
    view = Timeline(page)
    assert view.canvas.get_attribute("data-lanes") == str(8 * 3)  # some at first: the slowest among them
    page.locator("#timeline label button", has_text="all").click()
    view.range()
    assert view.canvas.get_attribute("data-lanes") == str(64 * 3)
    view.canvas.focus()
    page.keyboard.press("PageDown")
    view.range()
    assert float(view.canvas.get_attribute("data-top")) > 0
    assert view.canvas.bounding_box()["height"] < 900
