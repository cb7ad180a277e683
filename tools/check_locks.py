#!/usr/bin/env python3
"""Checks with clang that what a mutex guards is touched with that mutex held: every source but tests that sees
src/base/system/mutex.h, directly or through other headers, is compiled with -Wthread-safety, and nothing is written.

usage: check_locks.py CLANG BUILD      BUILD: a configured folder; its compile_commands.json has the flags
                                       prints what clang says, and ends with exit code 1, if there is any error
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTEX_HEADER = "src/base/system/mutex.h"
FOLDERS = ("src", "python/src")
WARNINGS = ["-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
# Clang 14 refuses names of processor features that GCC knows. Which there are makes no difference here.
ANY_PROCESSOR = "-D__builtin_cpu_supports(name)=true"


def included_by(file: pathlib.Path, root: pathlib.Path) -> list[pathlib.Path]:
    """Our own headers that a file includes: "ronde/MODULE/FILE", or beside it."""
    names = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(), re.MULTILINE)
    return [
        root / "src" / name.removeprefix("ronde/") if name.startswith("ronde/") else file.parent / name
        for name in names
    ]


def is_test(file: pathlib.Path) -> bool:
    return file.name.endswith("_test.cc") or file.parent.name == "tests"


def sources_with_mutexes(root: pathlib.Path) -> list[pathlib.Path]:
    users: dict[pathlib.Path, list[pathlib.Path]] = {}
    for folder in FOLDERS:
        for file in sorted(root.glob(f"{folder}/**/*")):
            if file.suffix in (".h", ".cc"):
                for header in included_by(file, root):
                    users.setdefault(header, []).append(file)
    seen, waiting = set(), [root / MUTEX_HEADER]
    while waiting:
        fresh = set(users.get(waiting.pop(), [])) - seen
        seen |= fresh
        waiting += fresh
    return sorted(file for file in seen if file.suffix == ".cc" and not is_test(file))


def portable_flags(command: str) -> list[str]:
    """Of the flags of a GCC command those that say what the source means, which clang understands too."""
    words, kept = shlex.split(command), []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if re.match(r"-(D|I|std=)", word):
            kept.append(word)
        elif word == "-isystem":
            kept += [word, after]
    return kept


def flags_by_source(build: pathlib.Path) -> dict[pathlib.Path, list[str]]:
    """A source that a unity build compiles together with others is named in a file that the build has made."""
    flags: dict[pathlib.Path, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file, found = pathlib.Path(entry["file"]), portable_flags(entry["command"])
        members = [file]
        if file.parent.name == "Unity":
            members = [pathlib.Path(name) for name in re.findall(r'#include "([^"]+)"', file.read_text())]
        for member in members:
            flags.setdefault(member.resolve(), found)
    return flags


def complaints(clang: str, source: pathlib.Path, flags: list[str]) -> str:
    """What clang says about a source; empty: nothing is wrong."""
    command = [clang, "-fsyntax-only", *flags, ANY_PROCESSOR, *WARNINGS, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr or f"{source}: clang ended with code {done.returncode}\n"


def main() -> int:
    clang, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    flags = flags_by_source(build)
    sources = sources_with_mutexes(ROOT)
    here = [source for source in sources if source in flags]
    if not here:
        print(f"{build} compiles no source that sees {MUTEX_HEADER}")
        return 1
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(lambda source: complaints(clang, source, flags[source]), here) if text]
    print("".join(found), end="")
    if found:
        print(f"{len(found)} of {len(here)} sources have errors")
        return 1
    left_out = [source.relative_to(ROOT).as_posix() for source in sources if source not in flags]
    unchecked = f" (not in this build: {', '.join(left_out)})" if left_out else ""
    print(f"{len(here)} sources touch what a mutex guards only with that mutex held{unchecked}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
