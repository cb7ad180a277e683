"""The documentation names what is there: links lead somewhere, and the table of modules is that of the build."""

import pathlib
import re

import pytest
from conftest import ROOT
from test_tree import check_tree

PAGES = sorted(
    path for folder in (".", "docs", "src/*", "python", "containers") for path in ROOT.glob(f"{folder}/*.md")
)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: pathlib.Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not link.startswith("http") and not (target.exists() and (not anchor or anchor in anchors(target))):
            broken.append(link)
    assert broken == []


def test_the_modules_of_the_page_are_those_of_the_build():
    """docs/architecture.md has a row for each module; one with a star is not built yet."""
    built = check_tree.read_arrows(ROOT)
    table = (ROOT / "docs" / "architecture.md").read_text().split("| module |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| ([a-z]+)( \*)? \| .+ \| ?(.*?) ?\|$", table, re.MULTILINE)
    arrows = {module: set(re.sub(r"\(.*?\)", "", names).split()) for module, planned, names in rows if not planned}
    everything = {module for module, names in arrows.items() if names == {"all"}}
    assert arrows == built | {module: {"all"} for module in everything & set(built)}
    assert {module for module, planned, _ in rows if planned} & set(built) == set()


def test_the_sum_by_which_ranks_agree_on_gradients_is_that_of_the_code():
    code = (ROOT / "src" / "parallel" / "detail" / "presence.h").read_text()
    bits, power = re.search(r"std::int(\d+)_t kOneSparse = std::int\d+_t\{1\} << (\d+);", code).groups()
    page = " ".join((ROOT / "docs" / "architecture.md").read_text().split())
    assert f"(a dense one counts 1, a sparse one 2^{power})" in page
    assert f"It costs one {bits}-bit number per parameter" in page
