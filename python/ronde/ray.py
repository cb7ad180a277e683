"""Runs a program that says `from ray import tune`, as it is, on Ronde.

    python -m ronde.ray search.py --samples 100
    python -m ronde.ray -m package.search

takes whatever `python` takes. docs/tune.md says which part of Ray this is; the rest is refused by name.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from ronde.program import on_path, run_python

USAGE = "usage: python -m ronde.ray SCRIPT [ARGUMENTS], or -m MODULE [ARGUMENTS], as python itself takes them"


def with_shim(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which Python finds Ray's name, and Ronde."""
    path = on_path(environment, pathlib.Path(__file__).parent / "shim" / "ray_names")
    return {**environment, "PYTHONPATH": path}


def main() -> None:
    run_python("ronde.ray", USAGE, with_shim)


if __name__ == "__main__":
    main()
