"""The page of a search: `ronde tune report` writes it, and a real browser shows all of its parts.

The browser needs Debian's chromium and the Python package playwright; without them that test is skipped.
"""

import json
import pathlib
import re
import shutil
import sys

import pytest

SPACE = """
[tune]
metric = "score"
mode = "max"
samples = 30
sampler = "tpe"
scheduler = "asha"
scheduler_options = {max_t = 9, reduction_factor = 3}

[tune.space]
lr = {loguniform = [0.0001, 1]}
kind = {choice = ["a", "b"]}
"""

PROGRAM = """
import json, math, sys
lr, kind = float(sys.argv[1]), sys.argv[2]
for step in range(1, 10):
    score = 1 - abs(math.log10(lr) + 2) / 5 - (kind == "b") / 10 - 1 / (step + 1)
    print(json.dumps({"score": score, "training_iteration": step}), flush=True)
"""


@pytest.fixture
def page(ronde, tmp_path):
    """The page of a search of thirty trials."""
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "trial.py").write_text(PROGRAM)
    done = ronde("tune", "space.toml", "--", sys.executable, "trial.py", "{lr}", "{kind}")
    assert done.returncode == 0, done.stderr
    (folder,) = {path.parent for path in tmp_path.rglob("journal.jsonl")}
    done = ronde("tune", "report", str(folder))
    assert done.returncode == 0, done.stderr
    assert "30/30 trials done" in done.stdout and "tells most about which trials are among the best" in done.stdout
    assert f"report: {folder / 'search.html'}" in done.stdout.replace("./", "")
    return folder / "search.html"


def data_of(page: pathlib.Path) -> dict:
    return json.loads(re.search(r'id="document">(.*?)</script>', page.read_text(), re.DOTALL)[1])


def test_the_page_has_the_whole_search(page, ronde):
    data = data_of(page)
    assert len(data["trials"]) == 30 and data["counts"]["all"] == 30
    assert data["counts"]["stopped"] == sum(trial["state"] == "STOPPED" for trial in data["trials"]) > 0
    values = {trial["number"]: trial["value"] for trial in data["trials"]}
    assert values[data["best"]] == max(values.values())
    elsewhere = page.parent / "other.html"
    assert ronde("tune", "report", str(page.parent), "--output", str(elsewhere)).returncode == 0
    assert data_of(elsewhere) == data


def test_a_folder_without_a_search(ronde, tmp_path):
    done = ronde("tune", "report", str(tmp_path))
    assert done.returncode == 2 and "holds no search" in done.stderr


def test_a_browser_shows_all_parts(page):
    sync_api = pytest.importorskip("playwright.sync_api", reason="the Python package playwright drives the browser")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    data = data_of(page)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page()
        errors = []
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(page.as_uri())
        parts = tab.eval_on_selector_all("section", "all => all.map(one => one.id)")
        assert parts == ["verdict", "history", "curves", "importance", "parallel", "slices", "trials"]
        judged = [trial for trial in data["trials"] if trial["value"] is not None]
        assert tab.locator("#history circle").count() == len(judged)
        assert tab.locator("#trials tbody tr").count() == 30
        assert f"trial {data['best']}" in tab.locator("h1").inner_text()
        winner = dict(line.split(" = ") for line in tab.locator("#winner").inner_text().splitlines())
        assert json.loads(winner["kind"]) == data["config"]["kind"]
        first = tab.locator("#trials tbody tr").first.inner_text()
        tab.click("#trials th button >> nth=0")
        assert tab.locator("#trials tbody tr").first.inner_text() != first or data["best"] == 0
        assert not errors
        browser.close()
