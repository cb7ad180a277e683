"""The program `ronde` that comes with the package, and how programs start under another package's name."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping


def program() -> str:
    """Where it is: in the package, beside the build that the package is part of, or on the path.

    >>> subprocess.run([program(), "info"])
    """
    package = pathlib.Path(__file__).parent
    for candidate in (package / "bin" / "ronde", package.parent.parent / "ronde"):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    found = shutil.which("ronde")
    if found and pathlib.Path(found).read_bytes()[:2] != b"#!":  # not the script that leads here
        return found
    raise FileNotFoundError(f"cannot find the program 'ronde' in {package / 'bin'}, in the build folder or on the PATH")


def run_python(tool: str, usage: str, with_shim: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
    """Becomes Python with the words of the command line, and an environment in which it finds a shim."""
    words = sys.argv[1:]
    if not words:
        sys.exit(usage)
    if sys.flags.ignore_environment:
        sys.exit(f"{tool}: python ignores PYTHONPATH (-E or -I), but programs need it to find the shim")
    flags = subprocess._args_from_interpreter_flags()  # -u, -O, -X ...: the program gets them too
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *flags, *words], with_shim(os.environ))


def on_path(environment: Mapping[str, str], shim: pathlib.Path) -> str:
    """PYTHONPATH with the folder of a shim and the one of this package in front."""
    before = environment.get("PYTHONPATH", "")
    folders = [str(shim), str(pathlib.Path(__file__).parent.parent), *before.split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))


def main() -> None:
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
