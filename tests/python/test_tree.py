"""The tree keeps its habits, and the checker that says so finds what it should."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT


def load_tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    sys.modules[name] = tool
    spec.loader.exec_module(tool)
    return tool


check_tree, draw_house = load_tool("check_tree"), load_tool("draw_house")


def test_this_tree_has_no_findings():
    assert [str(finding) for finding in check_tree.check(ROOT)] == []


@pytest.fixture
def tree(tmp_path: pathlib.Path):
    """A tree of two modules, a -> b, and a way to put one source file into module a."""
    for name, depends in (("a", " DEPENDS b"), ("b", "")):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "CMakeLists.txt").write_text(
            f"add_module({name}{depends}\n  HEADERS x.h\n  SHARED room/inner.h\n"
            "  ROOMS low low/inner high\n  SOURCES x.cc)\n"
        )

    def findings(text: str, file: str = "src/a/x.cc") -> list[str]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
        return [str(finding) for finding in check_tree.check(tmp_path)]

    return findings


@pytest.mark.parametrize(
    ("file", "line", "expected"),
    [
        ("src/a/x.cc", '#include "ronde/b/x.h"', None),
        ("src/b/x.cc", '#include "ronde/a/x.h"', "src/b/x.cc:1: b includes a against the arrows"),
        ("src/a/x.cc", '#include "ronde/b/room/inner.h"', None),
        ("src/a/x.cc", '#include "ronde/b/other.h"', "src/a/x.cc:1: b/other.h is not a header for others"),
        ("src/a/x.h", '#include "ronde/a/x.h"', None),
        ("src/a/x.h", '#include "ronde/b/room/inner.h"', "src/a/x.h:1: is installed, and b/room/inner.h is not"),
        ("src/a/x.cc", '#include "x.h"', 'src/a/x.cc:1: our own headers are included as "ronde/MODULE/FILE"'),
        ("src/a/x.cc", "#include <torch/torch.h>", "src/a/x.cc:1: a must stay free of torch"),
        ("src/a/x.cc", 'auto x = std::getenv("HOME");', "src/a/x.cc:1: the environment is read in"),
        ("src/a/x.cc", "#include <fmt/core.h>", "src/a/x.cc:1: fmt is included through"),
        ("src/a/x.cc", "int x;  // see x.cc and <torch/torch.h>", None),
        ("src/a/x.cc", "int x;  // see gone.h", "src/a/x.cc:1: the comment names gone.h, and there is no such file"),
        ("src/a/x.cc", "std::mutex mutex_;", "src/a/x.cc:1: std::mutex: use the Mutex of src/base/system/mutex.h"),
        ("src/a/x.cc", "std::shared_mutex mutex_;", "src/a/x.cc:1: std::shared_mutex: use the Mutex"),
        ("python/src/x.cc", "std::mutex mutex_;", "python/src/x.cc:1: std::mutex: use the Mutex"),
        ("src/a/x_test.cc", "std::mutex mutex;", None),
        ("src/a/x.cc", "Mutex mutex_;  // not a std::mutex", None),
        ("src/a/x.cc", "#ifdef WITH_CUDA", "src/a/x.cc:1: conditionals about hardware belong in device/"),
    ],
)
def test_one_line(tree, file, line, expected):
    findings = tree(line + "\n", file)
    assert (findings == []) if expected is None else (len(findings) == 1 and findings[0].startswith(expected))


@pytest.mark.parametrize(
    ("file", "line", "found"),
    [
        ("src/a/x.cc", 'RONDE_SPAN("forward");', True),
        ("src/a/x.cc", 'const trace::Span span("forward", "wait");', True),
        ("src/a/x.cc", 'const auto id = run.names.find("forward");', True),
        ("src/a/x.cc", 'recorder.set_metadata("job", text);', True),
        ("src/a/x.cc", 'RONDE_SPAN("of my own");', False),
        ("src/a/x.cc", "RONDE_SPAN(span_names::kForward);", False),
        ("src/a/x.cc", 'json = {{"job", 1}};  // RONDE_SPAN("forward")', False),
        ("src/a/x_test.cc", 'RONDE_SPAN("forward");', False),
    ],
)
def test_names_in_traces_are_constants(tree, tmp_path, file, line, found):
    (tmp_path / "src" / "trace").mkdir()
    header = tmp_path / "src" / "trace" / "span_names.h"
    header.write_text(
        'inline constexpr char kForward[] = "forward";\ninline constexpr char kJob[] = "job";  // rank 0\n'
    )
    assert [text.partition(" has a constant in src/trace: k")[1] != "" for text in tree(line + "\n", file)] == [
        True
    ] * found


def test_private_rooms(tree):
    found = tree('#include "ronde/b/detail/x.h"\n')
    assert found[0] == "src/a/x.cc:1: a includes a private header of b"


@pytest.mark.parametrize(
    ("file", "included", "below"),
    [
        ("high/x.cc", "low/inner/y.h", True),
        ("low/inner/x.h", "low/y.h", True),
        ("low/x.h", "y.h", True),
        ("low/x_test.cc", "high/y.h", True),
        ("other/x.cc", "high/y.h", True),
        ("low/x.h", "low/inner/y.h", False),
        ("low/inner/x.cc", "high/y.h", False),
        ("high/x.cc", "other/y.h", False),
    ],
)
def test_rooms_include_those_below_them(tree, file, included, below):
    room, other = (pathlib.PurePosixPath(path).parent for path in (file, included))
    finding = f"src/a/{file}:1: {room} includes {other}, which is not below it (ROOMS)"
    assert tree(f'#include "ronde/a/{included}"\n', f"src/a/{file}") == ([] if below else [finding])


def test_the_table_of_modules_says_what_cmake_says(tree, tmp_path):
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "architecture.md"
    page.write_text("| module | what | may include |\n|---|---|---|\n| a | one | b |\n| b | two | |\n")
    assert tree("") == []
    page.write_text("| a | one | |\n")
    assert tree("") == [
        "docs/architecture.md:1: CMake says a DEPENDS b",
        "docs/architecture.md:1: the table of modules lacks b",
    ]


def test_a_cycle_of_arrows(tree, tmp_path):
    (tmp_path / "src/b/CMakeLists.txt").write_text("add_module(b DEPENDS a)\n")
    assert len(tree("")) == 2


def test_nothing_is_built_for_the_processor_of_this_machine(tree, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("project(x)\nadd_compile_options(-O3 -march=native)\n")
    assert tree("") == ["CMakeLists.txt:2: -march=native: instructions are chosen when a program runs"]


def test_long_files_and_functions(tree):
    body = "  x();\n" * 59
    assert tree("namespace n {\nvoid f() {\n" + body[:-7] + "}\n}\n") == []
    assert tree("namespace n {\nclass C {\n  void f() {\n" + body + "}\n};\n}\n") == [
        "src/a/x.cc:3: a function of 61 lines, more than 60"
    ]
    assert tree("int x;\n" * 501) == ["src/a/x.cc:1: 501 lines, more than 500: is this one idea?"]


@pytest.mark.parametrize("head", ["C::C(int a)\n    : a_{a},\n      b_(a) {", "void f(Options options = {}) {"])
def test_long_functions_with_braces_in_their_head(tree, head):
    assert len(tree("namespace n {\n" + head + "\n" + "  x();\n" * 80 + "}\n}\n")) == 1


def test_braces_in_text_do_not_count(tree):
    assert tree('void f() { g("{"); }  // {\n' + "int x;\n" * 100) == []


def test_every_arrow_of_the_house_points_down():
    arrows = draw_house.read_arrows((ROOT / "docs" / "architecture.md").read_text())
    floors = draw_house.floors_of(arrows)
    floor = {module: -row for row, modules in enumerate(floors) for module in modules}
    assert set(floor) == set(arrows) and {"cli", "python"} == set(floors[0]) and floors[-1] == ["base"]
    for module, below in arrows.items():
        assert all(floor[other] < floor[module] for other in below), module


def test_the_picture_of_the_house_is_current():
    drawn = subprocess.run([sys.executable, ROOT / "tools" / "draw_house.py"], capture_output=True, text=True).stdout
    assert drawn == (ROOT / "docs" / "house.svg").read_text(), "run: python3 tools/draw_house.py > docs/house.svg"
