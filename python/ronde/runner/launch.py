"""`python -m horovod.runner.launch -np 2 python train.py`: horovodrun, by `ronde run --horovod`."""

from __future__ import annotations

import os
import sys

from ronde.program import program

__all__ = ["run_commandline"]


def run_commandline() -> None:
    """Becomes `ronde run --horovod` with this process's arguments.

    >>> sys.argv = ["horovodrun", "-np", "2", "python", "train.py"]
    >>> run_commandline()
    """
    path = program()
    os.execv(path, [path, "run", "--horovod", *sys.argv[1:]])


if __name__ == "__main__":
    run_commandline()
