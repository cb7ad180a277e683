"""Runs a program that says `import horovod.torch`, as it is, on Ronde.

    python -m ronde.horovod train.py --epochs 3
    python -m ronde.horovod -m package.train --epochs 3

takes whatever `python` takes. The processes that the program starts see the same Horovod.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping

from ronde.program import on_path, run_python

USAGE = "usage: python -m ronde.horovod SCRIPT [ARGUMENTS], or -m MODULE [ARGUMENTS], as python itself takes them"

# What launchers call rank, number of ranks, rank on this machine and number of ranks on it.
LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),  # ronde run, torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)


def _slurm(environment: Mapping[str, str]) -> dict[str, str]:
    """Slurm's words in torchrun's, for what srun has started; a batch script has them too, and is one process."""
    if "PMI_RANK" not in environment and "PMIX_RANK" not in environment:
        return {}
    counts: list[int] = []  # "2(x3),1": three nodes with two ranks, one with one
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", environment.get("SLURM_STEP_TASKS_PER_NODE", "")):
        counts += [int(count)] * int(times or 1)
    node = int(environment.get("SLURM_NODEID", "0"))
    if "SLURM_PROCID" not in environment or node >= len(counts):
        return {}
    return {
        "RANK": environment["SLURM_PROCID"],
        "WORLD_SIZE": str(sum(counts)),
        "LOCAL_RANK": environment.get("SLURM_LOCALID", "0"),
        "LOCAL_WORLD_SIZE": str(counts[node]),
        "GROUP_RANK": str(node),
        "GROUP_WORLD_SIZE": str(len(counts)),
    }


def horovod_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """What Horovod's launcher tells its ranks, from what this launcher has told this one.

    >>> told = horovod_variables({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"})
    >>> told["HOROVOD_CROSS_RANK"]
    '1'
    """
    if "HOROVOD_RANK" in environment:
        return {}
    rank, size, local_rank, local_size, node, nodes = 0, 1, 0, 1, None, None
    for names in LAUNCHERS:
        told = {**_slurm(environment), **environment} if names[0] == "RANK" else environment
        if all(told.get(name, "").isdigit() for name in names):
            rank, size, local_rank, local_size = (int(told[name]) for name in names)
            node, nodes = told.get("GROUP_RANK"), told.get("GROUP_WORLD_SIZE")
            break
    return {
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(size),
        "HOROVOD_LOCAL_RANK": str(local_rank),
        "HOROVOD_LOCAL_SIZE": str(local_size),
        "HOROVOD_CROSS_RANK": node or str(rank // max(local_size, 1)),
        "HOROVOD_CROSS_SIZE": nodes or str(-(-size // max(local_size, 1))),
    }


def with_shim(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which Python finds Horovod's name, and Ronde."""
    path = on_path(environment, pathlib.Path(__file__).parent / "shim")
    return {**environment, **horovod_variables(environment), "PYTHONPATH": path}


def main() -> None:
    run_python("ronde.horovod", USAGE, with_shim)


if __name__ == "__main__":
    main()
