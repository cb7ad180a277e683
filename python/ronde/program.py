"""The program `ronde` that comes with the package."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys


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


def main() -> None:
    path = program()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
