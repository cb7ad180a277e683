"""Process sets: ranks that run collectives together, apart from the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ronde import _core
from ronde.common.util import is_iterable


class ProcessSet:
    """Ranks that run collectives together. Every rank of the job adds the same sets in the same order.

    >>> evens = hvd.ProcessSet(range(0, hvd.size(), 2))
    >>> evens.ranks, evens.included()
    ([0], True)
    >>> if hvd.size() > 1:  # there is a set of all ranks already
    ...     hvd.add_process_set(evens)
    """

    process_set_id: int | None = None
    ranks: list[int] | None = None
    mpi_comm: Any = None

    def __init__(self, ranks_or_comm: Any) -> None:
        if is_iterable(ranks_or_comm):
            ranks = sorted(ranks_or_comm)
            if any(not isinstance(rank, int) for rank in ranks):
                raise ValueError("a ProcessSet needs a list of ranks or an mpi4py communicator")
            self.ranks = ranks
        elif hasattr(ranks_or_comm, "Get_group"):
            self.mpi_comm = ranks_or_comm
            self.ranks = _ranks_of(ranks_or_comm)
        else:
            raise ValueError("a ProcessSet needs a list of ranks or an mpi4py communicator")

    def _invalidate(self) -> None:
        self.process_set_id = None

    def size(self) -> int | None:
        """How many ranks it has; None before it is added.

        >>> hvd.global_process_set.size()
        1
        """
        return None if self.process_set_id is None else _core.group_size(self.process_set_id)

    def rank(self) -> int | None:
        """This rank's number in it; None before it is added.

        >>> hvd.global_process_set.rank()
        0
        """
        if self.process_set_id is None:
            return None
        rank = _core.group_rank(self.process_set_id)
        if rank < 0:
            raise ValueError(f"rank {_core.rank()} is not in the process set of ranks {self.ranks}")
        return rank

    def included(self) -> bool | None:
        """Whether this rank is in it, and so may run collectives with it.

        >>> hvd.ProcessSet([1, 2]).included()
        False
        """
        return None if self.ranks is None else _core.rank() in self.ranks

    # There is one of each in a process, in copies of what refers to it too.
    def __copy__(self) -> ProcessSet:
        return self

    def __deepcopy__(self, memo: Any) -> ProcessSet:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "global_process_set" if self is global_process_set else (ProcessSet, (self.ranks,))

    def __str__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks}, mpi_comm={self.mpi_comm})"


# Ranks of a communicator as ranks of the job, which mpirun numbers as MPI's world does.
def _ranks_of(comm: Any) -> list[int]:
    from mpi4py import MPI

    group = comm.Get_group()
    return sorted(group.Translate_ranks(list(range(group.Get_size())), MPI.COMM_WORLD.Get_group()))


global_process_set = ProcessSet([])
global_process_set.process_set_id = 0

_known: list[ProcessSet] = []  # that were added: shutdown() makes them invalid


def _add(process_set: ProcessSet) -> ProcessSet | None:
    if process_set.ranks in _core.groups().values():
        return None
    process_set.process_set_id = _core.add_group(process_set.ranks)
    _known.append(process_set)
    return process_set


def _init_process_sets(process_sets: Iterable[ProcessSet]) -> None:
    """After the ranks have met: the world's ranks, and the sets that init() was given."""
    global_process_set.ranks = _core.groups()[0]
    for place, process_set in enumerate(process_sets):
        if _add(process_set) is None:
            raise ValueError(f"process set {place} has the same ranks as another one: {process_set}")


def add_process_set(process_set: ProcessSet | Iterable[int]) -> ProcessSet:
    """Makes a set of ranks that run collectives together. Every rank of the job calls it, members or not.

    >>> if hvd.size() > 2:
    ...     first_two = hvd.add_process_set([0, 1])
    """
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    if _add(process_set) is None:
        raise ValueError(f"a process set with these ranks already exists: {process_set}")
    return process_set


def remove_process_set(process_set: ProcessSet) -> bool:
    """Removes a set; every rank of the job calls it. Returns whether there was one; the world stays.

    >>> hvd.remove_process_set(hvd.ProcessSet([1, 2]))  # was never added
    False
    """
    number = process_set.process_set_id
    if number is None or number == 0:
        return False
    process_set._invalidate()
    return _core.drop_group(number)
