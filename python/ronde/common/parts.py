"""Some ranks of a job as a job of their own: which they are, and how they find each other."""

from __future__ import annotations

import hashlib
import itertools
import os
import pathlib
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ronde.horovod import horovod_variables

# This rank's number, how many there are, and what gives everyone's bytes for one's own.
Meeting = tuple[int, int, Callable[[bytes], list[bytes]]]

# Tell one job from another, on one machine.
_JOB = ("RONDE__BOOTSTRAP", "PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID", "MASTER_PORT")

_meetings: Counter[tuple[int, ...]] = Counter()  # so far, by who meets


def meeting_of(comm: Any, environment: Mapping[str, str] = os.environ) -> Meeting | None:
    """How the ranks of ``comm`` meet, a list of ranks or a communicator of mpi4py. None: they are the whole job.

    >>> meeting_of([0], {"RANK": "0", "WORLD_SIZE": "1"}) is None
    True
    """
    if hasattr(comm, "Get_group"):
        return None if comm.Get_size() == _size(environment) else _by_communicator(comm)
    ranks = list(comm or ())
    if not ranks or ranks == list(range(_size(environment))):
        return None
    rank = _number("RANK", environment)
    if rank not in ranks:
        raise ValueError(f"init() was called for ranks {ranks}, but this is rank {rank} of {_size(environment)}")
    if _number("CROSS_SIZE", environment) > 1:
        return _by_communicator(_communicator(ranks))
    return ranks.index(rank), len(ranks), _by_file(ranks, rank, environment)


def _number(what: str, environment: Mapping[str, str]) -> int:
    return int({**environment, **horovod_variables(environment)}[f"HOROVOD_{what}"])


def _size(environment: Mapping[str, str]) -> int:
    return _number("SIZE", environment)


def _communicator(ranks: Sequence[int]) -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ValueError(
            f"init() of a subset of ranks ({ranks}) on several machines needs mpi4py, which is not installed"
        ) from error
    return MPI.COMM_WORLD.Create_group(MPI.COMM_WORLD.Get_group().Incl(ranks))


def _by_communicator(comm: Any) -> Meeting:
    own = comm.Dup()  # what the program sends meanwhile does not come between
    return own.Get_rank(), own.Get_size(), own.allgather


def _by_file(ranks: list[int], rank: int, environment: Mapping[str, str]) -> Callable[[bytes], list[bytes]]:
    from torch.distributed import FileStore

    _meetings[tuple(ranks)] += 1
    job = [f"{name}={environment.get(name)}" for name in _JOB]
    name = f"{os.getuid()} {job} {ranks} {_meetings[tuple(ranks)]}"
    path = pathlib.Path(tempfile.gettempdir()) / f"ronde-{hashlib.sha256(name.encode()).hexdigest()[:24]}"
    store = FileStore(str(path), len(ranks))  # the last one to let go of it removes the file
    turns = itertools.count()

    def exchange(mine: bytes) -> list[bytes]:
        turn = next(turns)
        store.set(f"{turn} {rank}", mine)
        return [store.get(f"{turn} {other}") for other in ranks]

    return exchange
