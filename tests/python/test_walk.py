"""docs/walk.md follows the code: each stop is a function that its file defines, and the numbers of files are right."""

import pathlib
import re

import pytest
from conftest import ROOT
from test_tree import check_tree

STOP = re.compile(r"(\d+)\. \[(\S+)\]\((\S+)\) `([\w:]+)`: \S.*")
COUNT = re.compile(r"(\d+) stops in (\d+) files?\. On its way the \w+ also passes through (\d+) more: (.*)")
MOST_STOPS = {"One training step": 15, "One allreduce by name": 12, "Side trip: between nodes": 5, "One span": 14}


def is_within(code: str, at: int, name: str) -> bool:
    """Whether this place of the code is in the body of a class or struct of that name."""
    for head in re.finditer(rf"\b(?:class|struct)\s+(?:\w+::)*(?:{name})\b[^;{{}}()]*\{{", code):
        depth, end = 1, head.end()
        while depth and end < len(code):
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        if head.end() <= at < end:
            return True
    return False


def defines(text: str, wanted: str) -> bool:
    """Whether C++ code has the body of that function (`f`, `Class::f`) or defines that macro."""
    if re.search(rf"^#define {wanted}\(", text, re.MULTILINE):
        return True
    code = check_tree.blank_out(text)
    lines = code.splitlines(keepends=True)
    parent, _, name = wanted.rpartition("::")
    for start, length in check_tree.functions_of(text):
        head = "".join(lines[start - 1 : start - 1 + length]).split("{")[0]
        # The first name before a parenthesis; those between angle brackets belong to types.
        while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
            head = shorter
        found = re.search(r"([\w:]+)\s*\(", head)
        if not found or found[1].rpartition("::")[2] != name:
            continue
        outside = found[1].rpartition("::")[0]
        at = sum(map(len, lines[: start - 1]))
        if outside:
            here = bool(parent) and f"::{outside}".endswith(f"::{parent}")
        else:
            here = is_within(code, at, parent) if parent else not is_within(code, at, r"\w+")
        if here:
            return True
    return False


def paragraphs_of(section: str) -> list[str]:
    """Items of lists and paragraphs, each in one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\d+\. )", section) if part.strip()]


def check_section(title: str, section: str, folder: pathlib.Path) -> list[str]:
    findings, stops, counted = [], [], False
    for paragraph in paragraphs_of(section):
        if stop := STOP.fullmatch(paragraph):
            number, file, link, function = stop.groups()
            path = folder / link
            if int(number) != len(stops) + 1:
                findings.append(f"{title}: stop {number} comes after stop {len(stops)}")
            if link != "../" + file:
                findings.append(f"{title} {number}: the link to {file} leads to {link}")
            if not path.is_file():
                findings.append(f"{title} {number}: there is no {file}")
            elif not defines(path.read_text(), function):
                findings.append(f"{title} {number}: {file} does not define {function}")
            if stops and stops[-1] == (file, function):
                findings.append(f"{title} {number}: the same stop as the one before")
            stops.append((file, function))
        elif re.match(r"\d+\. ", paragraph):
            findings.append(f"{title}: not a stop: {paragraph}")
        elif count := COUNT.fullmatch(paragraph):
            counted = True
            files = {file for file, _ in stops}
            more = [link.removeprefix("../") for link in re.findall(r"\]\((\S+?)\)", count[4])]
            real = len(stops), len(files), len(set(more) - files)
            if real != tuple(map(int, count.groups()[:3])) or len(set(more)) < len(more):
                findings.append(f"{title}: {real[0]} stops in {real[1]} files, and {real[2]} more")
            findings += [f"{title}: there is no {file}" for file in more if not (folder / ".." / file).is_file()]
    if stops and not counted:
        findings.append(f"{title}: the number of files is missing")
    if len(stops) > MOST_STOPS.get(title, 15):
        findings.append(f"{title}: {len(stops)} stops are too many")
    return findings


def check_page(page: pathlib.Path) -> list[str]:
    parts = re.split(r"^##+ (.+)\n", page.read_text(), flags=re.MULTILINE)
    sections = zip(parts[1::2], parts[2::2], strict=True)
    return [finding for title, text in sections for finding in check_section(title, text, page.parent)]


def test_the_walks_follow_the_code():
    page = ROOT / "docs" / "walk.md"
    assert check_page(page) == []
    assert re.findall(r"^##+ (.+)$", page.read_text(), re.MULTILINE) == list(MOST_STOPS)


CODE = """
#define MACRO(x) int x
namespace n {
// gone() { was here, Walker::gone() { too
int helper(int x) { return used(x) + Walker::used(x); }
std::vector<std::function<int(int)>> listed(int x = {}) {
  return {};
}
class Walker {
 public:
  int inside() const { return helper(1); }
  int outside(int (*)(int)) const;
};
Walker::Walker() : x_(base(1)) {}
template <class T>
int Walker::outside(int (*)(int)) const {
  return 0;
}
struct Owner::Impl {
  int deep() { return 1; }
};
}  // namespace n
"""


@pytest.mark.parametrize("name", ["helper", "listed", "Walker::inside", "Walker::outside", "Walker::Walker", "MACRO"])
def test_functions_that_are_there(name):
    assert defines(CODE, name)


@pytest.mark.parametrize(
    "name",
    ["gone", "Walker::gone", "used", "Walker::used", "base", "inside", "outside", "Impl::helper", "Other::inside"],
)
def test_functions_that_are_not_there(name):
    assert not defines(CODE, name)


FIRST, SECOND = "1. [src/a.h](../src/a.h) `f`: begins.\n", "2. [src/a.h](../src/a.h) `g`:\n   ends.\n"
COUNTED = "\n2 stops in 1 file. On its way the span also passes through 1 more:\n[b.h](../src/b.h).\n"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", None),
        ("`g`", "`h`", "2: src/a.h does not define h"),
        ("`g`", "`f`", "2: the same stop as the one before"),
        ("`g`", "g", "not a stop: 2. [src/a.h](../src/a.h) g: ends."),
        ("2. ", "3. ", "stop 3 comes after stop 1"),
        ("2. [src/a.h]", "2. [src/b.h]", "2: the link to src/b.h leads to ../src/a.h"),
        ("2. [src/a.h](../src/a.h)", "2. [src/c.h](../src/c.h)", "2: there is no src/c.h"),
        (COUNTED, "", "the number of files is missing"),
        ("2 stops", "3 stops", "2 stops in 1 files, and 1 more"),
        ("(../src/b.h)", "(../src/c.h)", "there is no src/c.h"),
        ("(../src/b.h)", "(../src/a.h)", "2 stops in 1 files, and 0 more"),
    ],
)
def test_a_made_up_page(tmp_path, before, after, expected):
    for folder in ("docs", "src"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "a.h").write_text("void f() { h(); }\nvoid g() {}\n")
    (tmp_path / "src" / "b.h").write_text("")
    page = tmp_path / "docs" / "walk.md"
    walk = FIRST + SECOND + COUNTED
    page.write_text("# Walks\n\n## One span\n\n" + (walk.replace(before, after) if before else walk))
    findings = [finding.removeprefix("One span").lstrip(": ") for finding in check_page(page)]
    assert (findings == []) if expected is None else (expected in findings)
