"""Whether, by whom and where this process is recorded."""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
import torch.utils.data

from .. import _core
from ..common.exceptions import one_line

_NOBODY, _OVER = 0, -1  # instead of a thread

current: Recording | None = None  # of this process; that of a session makes way for no other


def session_begins() -> None:
    """A session is about to record: its trace takes the place of what was recorded before."""
    if current is not None:
        current.make_way(_NOBODY)


def program_records() -> None:
    """The program itself is about to record."""
    if current is not None:
        current.make_way(_OVER)


def program_counts_steps() -> None:
    if current is not None:
        current.counts_steps = False


class Recording:
    """Begins with the first thing to record, on the thread that does it; only that one is recorded.

    A session (ronde.torch) records by itself, and what is found here is added. Otherwise this is a run of its own, with
    the rank that torch.distributed or the launcher gives it.
    """

    def __init__(self) -> None:
        global current
        current = self
        self.thread = _NOBODY
        self.counts_steps = True
        self._own = False
        os.register_at_fork(after_in_child=self._in_child)

    def on(self) -> bool:
        """Whether this thread is recorded, from now on if nobody was so far."""
        thread = self.thread
        return thread == get_ident() if thread != _NOBODY else self._begin()

    def begun(self) -> bool:
        return self.thread not in (_NOBODY, _OVER)

    def _begin(self) -> bool:
        if torch.utils.data.get_worker_info() is not None or _is_helper():
            self.thread = _OVER
            return False
        if not _core.running() and _core.trace.file() is None:
            rank, size = rank_and_size()
            try:
                begun = _core.trace.begin_rank(rank, size, _on_one_node(size))
            except Exception as error:
                print(f"ronde: rank {rank} is not recorded: {error}", file=sys.stderr)
                begun = False
            if not begun:
                self.thread = _OVER
                return False
            self._own = True
            self._watch_end()
        self.thread = get_ident()
        return True

    def _watch_end(self) -> None:
        atexit.register(self._end)
        before = sys.excepthook

        def tell(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if self._own and not issubclass(kind, SystemExit):
                _core.trace.failed(one_line(kind, error))
            before(kind, error, trace)

        sys.excepthook = tell

    def safe(self, hook: Callable[..., None]) -> Callable[..., None]:
        """What is recorded must not end the program: where a hook fails, the recording ends instead."""

        @functools.wraps(hook)
        def safe(*args: Any) -> None:
            try:
                hook(*args)
            except Exception as error:
                print(f"ronde: the rest of this program is not recorded: {error!r}", file=sys.stderr)
                self._end()
                self.thread = _OVER

        return safe

    def make_way(self, thread: int) -> None:
        if self._own:
            _core.trace.end()
        self._own, self.thread = False, thread

    def _end(self) -> None:
        if self._own:
            self._own, self.thread = False, _OVER
            _core.trace.end()

    def _in_child(self) -> None:
        if self.thread != _NOBODY:  # the file is that of the parent
            self._own, self.thread = False, _OVER


def rank_and_size() -> tuple[int, int]:
    """Of this process, as torch.distributed or else the launcher numbers it."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    for rank, size in (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
        if os.environ.get(rank, "").isdigit() and os.environ.get(size, "").isdigit():
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


def _on_one_node(size: int) -> bool:
    return os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")) == str(size)


def _is_helper() -> bool:
    """A process that a rank has started and that is none: its number would be that of the rank."""
    started = multiprocessing.parent_process() is not None
    return started and not (torch.distributed.is_available() and torch.distributed.is_initialized())
