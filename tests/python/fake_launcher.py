"""A launcher for tests: answers to --version as the real one would, writes down how it was called, and on demand really
starts the ranks, all of them here, with the variables that the real one sets.

Installed under a launcher's name by launcher_fixtures.py. FAKE_LOG names the file for {"argv": ..., "env": ...};
FAKE_RUN=1 starts the ranks. The words for each rank begin with the program `ronde`.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

VERSIONS = {
    "mpirun": "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/",
    "mpiexec": "HYDRA build details:\n    Version:                                 4.0.2",
    "srun": "slurm 22.05.8",
    "jsrun": "jsrun 10.4.0",
}


def layout_of(words: list[str]) -> list[int]:
    counts = []
    for piece in words[words.index("--layout") + 1].split(","):
        count, times = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", piece).groups()
        counts += [int(count)] * int(times or 1)
    return counts


def variables(name: str, rank: int, layout: list[int]) -> dict[str, str]:
    node = next(n for n in range(len(layout)) if rank < sum(layout[: n + 1]))
    local, here, size = rank - sum(layout[:node]), layout[node], sum(layout)
    names = {
        "mpirun": (
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
        ),
        "mpiexec": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        "srun": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "FAKE_UNUSED"),
        "jsrun": ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE"),
    }[name]
    return {key: str(value) for key, value in zip(names, (rank, size, local, here), strict=True)}


def main() -> int:
    name = pathlib.Path(sys.argv[0]).name
    words = sys.argv[1:]
    if words == ["--version"]:
        print(VERSIONS[name])
        return 0
    if words == ["--mpi=list"]:
        print(os.environ.get("FAKE_MPI_TYPES", "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix"))
        return 0
    with open(os.environ["FAKE_LOG"], "w") as log:
        json.dump({"argv": words, "env": dict(os.environ)}, log)
    if os.environ.get("FAKE_RUN") != "1":
        return 0
    start = next(i for i, word in enumerate(words) if word == "start-rank") - 1
    layout = layout_of(words)
    print("a word of the launcher itself", file=sys.stderr, flush=True)
    ranks = [
        subprocess.Popen(words[start:], env=os.environ | variables(name, rank, layout)) for rank in range(sum(layout))
    ]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
