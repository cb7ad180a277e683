"""Runs a program that says `from ray import tune`, as it is, on Ronde.

    python -m ronde.ray search.py --samples 100
    python -m ronde.ray -m package.search

takes whatever `python` takes. docs/tune.md says which part of Ray this is; the rest is refused by name.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping

USAGE = "usage: python -m ronde.ray SCRIPT [ARGUMENTS], or -m MODULE [ARGUMENTS], as python itself takes them"


def with_shim(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which Python finds Ray's name, and Ronde."""
    package = pathlib.Path(__file__).parent
    before = environment.get("PYTHONPATH", "")
    folders = [str(package / "shim" / "ray_names"), str(package.parent), *before.split(os.pathsep)]
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))}


def main() -> None:
    words = sys.argv[1:]
    if not words:
        sys.exit(USAGE)
    if sys.flags.ignore_environment:
        sys.exit("ronde.ray: python ignores PYTHONPATH (-E or -I), but programs need it to find the shim")
    flags = subprocess._args_from_interpreter_flags()  # -u, -O, -X ...: the program gets them too
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *flags, *words], with_shim(os.environ))


if __name__ == "__main__":
    main()
