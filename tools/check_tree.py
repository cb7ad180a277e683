#!/usr/bin/env python3
"""Checks that the tree keeps its habits: includes follow the arrows, files and functions stay short, and the
environment, torch, mutexes and hardware conditionals stay where they belong.

usage: check_tree.py [ROOT]      prints one line a finding; exit code 1 if there is any
"""

import ast
import pathlib
import re
import sys
from dataclasses import dataclass

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
SOURCE_SUFFIXES = {".cc", ".h", ".cu"}
# Modules that may include libtorch: everything else must build and link without it.
TORCH_MODULES = {"models", "parallel", "train", "infer", "bench", "cli"}
GETENV_FILE = "src/base/settings/environment.cc"
FMT_FILE = "src/base/text/format.h"
MUTEX_FILE = "src/base/system/mutex.h"
# Files that comments may name though they are not ours: of fmt, of libjpeg, made by the build.
OTHERS_FILES = {"base.h", "jpeglib.h", "page_text.cc"}


@dataclass(frozen=True)
class Finding:
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def read_arrows(root: pathlib.Path) -> dict[str, set[str]]:
    """Module -> modules that its add_module() call names after DEPENDS. A program, which has none, may use all."""
    files = sorted(root.glob("src/*/CMakeLists.txt"))
    everything = {file.parent.name for file in files}
    arrows = {}
    for file in files:
        arrows[file.parent.name] = everything - {file.parent.name}
        call = re.search(r"add_module\((\w+)([^)]*)\)", file.read_text())
        if call:
            depends = re.search(r"\bDEPENDS((?:\s+[a-z]\w*)*)", call[2])
            arrows[call[1]] = set(depends[1].split()) if depends else set()
    return arrows


def read_headers(root: pathlib.Path) -> dict[str, tuple[set[str], set[str]]]:
    """Module -> its public headers, which are installed, and those that other modules of this tree may use as well."""

    def listed(word: str, text: str) -> set[str]:
        found = re.search(rf"\b{word}\s+((?:[\w./]+\.h\s+)*)", text)
        return set(found[1].split()) if found else set()

    headers = {}
    for file in sorted(root.glob("src/*/CMakeLists.txt")):
        text = file.read_text()
        if call := re.search(r"add_module\((\w+)", text):
            public = listed("HEADERS", text)
            headers[call[1]] = public, public | listed("SHARED", text)
    return headers


def check_cycles(arrows: dict[str, set[str]]) -> list[Finding]:
    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        fresh = arrows.get(start, set()) - seen
        seen |= fresh
        return goal in fresh or any(reaches(module, goal, seen) for module in fresh)

    return [
        Finding(f"src/{module}/CMakeLists.txt", 1, f"module {module} depends on itself through its arrows")
        for module in arrows
        if reaches(module, module, set())
    ]


def check_includes(module: str, file: str, lines: list[str], arrows: dict[str, set[str]]) -> list[Finding]:
    findings = []
    for number, line in enumerate(lines, 1):
        ours = re.match(r'\s*#\s*include\s+["<]ronde/(\w+)/(.*?)[">]', line)
        if ours and ours[1] != module:
            if ours[1] not in arrows.get(module, set()):
                findings.append(Finding(file, number, f"{module} includes {ours[1]} against the arrows"))
            elif ours[2].startswith(("detail/", "link/")):
                findings.append(Finding(file, number, f"{module} includes a private header of {ours[1]}"))
        elif re.match(r'\s*#\s*include\s+"(?!ronde/)', line):
            findings.append(Finding(file, number, 'our own headers are included as "ronde/MODULE/FILE"'))
        if re.match(r"\s*#\s*include\s+<(torch|ATen|c10)/", line) and module not in TORCH_MODULES:
            findings.append(Finding(file, number, f"{module} must stay free of torch"))
    return findings


def check_public(
    module: str, file: str, lines: list[str], headers: dict[str, tuple[set[str], set[str]]]
) -> list[Finding]:
    """Modules use each other by the headers that they list; installed headers include none that is not installed."""
    ours = pathlib.PurePosixPath(file).relative_to(f"src/{module}").as_posix()
    installed = ours in headers.get(module, (set(), set()))[0]
    is_test = file.endswith(("_test.cc", "_testing.h")) or "/testing/" in file
    findings = []
    for number, line in enumerate(lines, 1):
        found = re.match(r'\s*#\s*include\s+["<]ronde/(\w+)/(.*?)[">]', line)
        if not found or found[1] not in headers:
            continue
        public, shared = headers[found[1]]
        if installed and found[2] not in public:
            findings.append(Finding(file, number, f"is installed, and {found[1]}/{found[2]} is not (HEADERS)"))
        elif found[1] != module and found[2] not in shared and not (is_test and "testing/" in found[2]):
            findings.append(
                Finding(file, number, f"{found[1]}/{found[2]} is not a header for others (HEADERS, SHARED)")
            )
    return findings


def read_rooms(root: pathlib.Path) -> dict[str, list[str]]:
    """Module -> its rooms in the order of ROOMS, the lowest first."""
    found = {
        file.parent.name: re.search(r"\bROOMS((?:\s+[a-z][\w/]*)+)", file.read_text())
        for file in sorted(root.glob("src/*/CMakeLists.txt"))
    }
    return {module: rooms[1].split() for module, rooms in found.items() if rooms}


def check_rooms(module: str, file: str, lines: list[str], rooms: dict[str, list[str]]) -> list[Finding]:
    """A room that ROOMS lists includes the rooms before it and no others of its module; tests may."""
    ours, listed = pathlib.PurePosixPath(file).relative_to(f"src/{module}").parent.as_posix(), rooms.get(module, [])
    if ours not in listed or file.endswith("_test.cc"):
        return []
    below = {".", *listed[: listed.index(ours) + 1]}
    return [
        Finding(file, number, f"{ours} includes {other}, which is not below it (ROOMS)")
        for number, line in enumerate(lines, 1)
        if (found := re.match(rf'\s*#\s*include\s+"ronde/{module}/(.*?)"', line))
        and (other := pathlib.PurePosixPath(found[1]).parent.as_posix()) not in below
    ]


def check_architecture(root: pathlib.Path, arrows: dict[str, set[str]]) -> list[Finding]:
    """The table of modules in docs/architecture.md says what the CMake files say."""
    page = root / "docs" / "architecture.md"
    if not page.exists():
        return []
    file, findings, rows = "docs/architecture.md", [], {}
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if row := re.match(r"\| (\w+) \|.*\| ([^|]*)\|$", line):
            rows[row[1]] = number, set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", row[2])))
    for module, depends in arrows.items():
        if module not in rows:
            findings.append(Finding(file, 1, f"the table of modules lacks {module}"))
        elif (named := rows[module][1]) != depends and not (named and named <= {"all", "of", "the", "above"}):
            findings.append(Finding(file, rows[module][0], f"CMake says {module} DEPENDS {' '.join(sorted(depends))}"))
    return findings


def check_words(module: str, file: str, lines: list[str]) -> list[Finding]:
    findings = []
    for number, line in enumerate(lines, 1):
        if re.search(r"\b(secure_)?getenv\s*\(|\benviron\b(?!ment)", line) and file != GETENV_FILE:
            findings.append(Finding(file, number, f"the environment is read in {GETENV_FILE} alone"))
        if re.match(r"\s*#\s*include\s+<fmt/", line) and file != FMT_FILE:
            findings.append(Finding(file, number, f'fmt is included through "{FMT_FILE.replace("src", "ronde")}"'))
        if re.match(r"\s*#\s*(if|ifdef|elif).*(CUDA|HIP)", line) and module != "device":
            findings.append(Finding(file, number, "conditionals about hardware belong in device/"))
    return findings


def check_mutexes(file: str, lines: list[str]) -> list[Finding]:
    """Outside tests every mutex is one whose use clang checks (./ronde-dev locks)."""
    if file == MUTEX_FILE or file.endswith("_test.cc") or "/tests/" in file:
        return []
    return [
        Finding(file, number, f"{found[0]}: use the Mutex of {MUTEX_FILE}, whose use clang checks")
        for number, line in enumerate(lines, 1)
        if (found := re.search(r"\bstd::(\w+_)?mutex\b", line.split("//", 1)[0]))
    ]


def read_trace_names(root: pathlib.Path) -> dict[str, str]:
    """The names that a trace is written and read by: text -> constant."""
    return {
        text: constant
        for file in sorted(root.glob("src/trace/*_names.h"))
        for constant, text in re.findall(r'\b(k\w+)\[\] = "([^"]+)"', file.read_text())
    }


def check_trace_names(file: str, lines: list[str], names: dict[str, str]) -> list[Finding]:
    """Those who record and those who read use the same constant. Tests write names out, so that constants stay."""
    if file.endswith(("_test.cc", "_example.cc")) or "/testing/" in file:
        return []
    what = (
        r"RONDE_SPAN|\bSpan(?: \w+)?|\btrace::Name|\bcounter|\bset_metadata|\bnames\.find|\bmetadata\.(?:find|contains)"
    )
    return [
        Finding(file, number, f'"{text}" has a constant in src/trace: {names[text]}')
        for number, line in enumerate(lines, 1)
        for text in re.findall(rf'(?:{what})\("([^"]+)"', line.split("//", 1)[0])
        if text in names
    ]


def check_named_files(file: str, lines: list[str], names: set[str]) -> list[Finding]:
    """Comments that name a source file: it must be there."""
    return [
        Finding(file, number, f"the comment names {name}, and there is no such file")
        for number, line in enumerate(lines, 1)
        if "//" in line
        for name in re.findall(r"(?<![<\w/])[\w/]+\.(?:h|cc)\b(?!>)", line.split("//", 1)[1])
        if pathlib.PurePosixPath(name).name not in names | OTHERS_FILES
    ]


def blank_out(text: str) -> str:
    """Comments, strings and preprocessor lines become blanks, so that braces in them do not count."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL | re.MULTILINE)


def functions_of(text: str) -> list[tuple[int, int]]:
    """(first line, number of lines) of every function body, members included; lambdas belong to their function.

    Relies on the format that clang-format gives: a body's brace has a blank before it, that of a value has none.
    """
    found, scopes, head_start, line, parentheses = [], [], 0, 1, 0
    code = blank_out(text)
    for at, letter in enumerate(code):
        if letter == "\n":
            line += 1
        elif letter in "()":
            parentheses += 1 if letter == "(" else -1
        elif letter == "{" and (parentheses or not code[at - 1].isspace()):
            scopes.append(("value", line))
        elif letter == "{":
            head = code[head_start:at]
            is_container = re.search(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$", head)
            outside = all(kind == "container" for kind, _ in scopes)
            kind = "container" if is_container else "function" if outside and "(" in head else "inner"
            scopes.append((kind, line - head.lstrip().count("\n")))
            head_start = at + 1
        elif letter == "}" and scopes:
            kind, start = scopes.pop()
            if kind == "function":
                found.append((start, line - start + 1))
            if kind != "value":
                head_start = at + 1
        elif letter == ";" and not parentheses:
            head_start = at + 1
    return found


def check_lengths(file: str, text: str) -> list[Finding]:
    findings = []
    if (lines := text.count("\n")) > MAX_FILE_LINES:
        findings.append(Finding(file, 1, f"{lines} lines, more than {MAX_FILE_LINES}: is this one idea?"))
    functions = python_functions(text) if file.endswith(".py") else functions_of(text)
    return findings + [
        Finding(file, start, f"a function of {length} lines, more than {MAX_FUNCTION_LINES}")
        for start, length in functions
        if length > MAX_FUNCTION_LINES
    ]


def python_functions(text: str) -> list[tuple[int, int]]:
    return [
        (node.lineno, node.end_lineno - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def check_build(root: pathlib.Path) -> list[Finding]:
    """What is built must run on other processors than that of the machine that builds it."""
    files = [root / "CMakeLists.txt", root / "CMakePresets.json"]
    for pattern in ("cmake/**/*", "src/**/CMakeLists.txt", "python/**/CMakeLists.txt", "examples/CMakeLists.txt"):
        files += sorted(path for path in root.glob(pattern) if path.is_file())
    return [
        Finding(path.relative_to(root).as_posix(), number, f"{words[0]}: instructions are chosen when a program runs")
        for path in files
        if path.exists()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (words := re.search(r"-(march|mtune|mcpu)=[\w.+-]*|-x[Hh]ost", line))
    ]


def check(root: pathlib.Path) -> list[Finding]:
    arrows = read_arrows(root)
    headers, rooms = read_headers(root), read_rooms(root)
    findings = check_cycles(arrows) + check_architecture(root, arrows) + check_build(root)
    trace_names = read_trace_names(root)
    names = {
        path.name
        for folder in ("src", "python", "tests", "examples", "cmake")
        for path in root.glob(f"{folder}/**/*")
        if path.suffix in SOURCE_SUFFIXES
    }
    for path in sorted(p for p in root.glob("src/**/*") if p.suffix in SOURCE_SUFFIXES):
        file, text = path.relative_to(root).as_posix(), path.read_text()
        module, lines = path.relative_to(root / "src").parts[0], text.splitlines()
        findings += check_includes(module, file, lines, arrows)
        findings += check_public(module, file, lines, headers)
        findings += check_rooms(module, file, lines, rooms)
        findings += check_words(module, file, lines)
        findings += check_mutexes(file, lines)
        findings += check_trace_names(file, lines, trace_names)
        findings += check_named_files(file, lines, names)
        findings += check_lengths(file, text)
    for path in sorted(p for p in root.glob("python/src/**/*") if p.suffix in SOURCE_SUFFIXES):
        findings += check_mutexes(path.relative_to(root).as_posix(), path.read_text().splitlines())
    for path in sorted(
        p for folder in ("tests", "tools", "python", "examples") for p in root.glob(f"{folder}/**/*.py")
    ):
        findings += check_lengths(path.relative_to(root).as_posix(), path.read_text())
    return findings


def main() -> int:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    findings = check(root)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
