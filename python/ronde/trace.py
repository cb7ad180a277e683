"""Spans, counters and steps of your own in the trace of a run, and spans of Python calls.

    import ronde.trace

    for number, batch in enumerate(batches):
        ronde.trace.step(number)
        with ronde.trace.span("mixup"):
            batch = mixup(batch)

A job records when it is given ``trace.dir`` (RONDE_TRACE_DIR, or ``ronde run --trace-dir``); a program without a job
by ``record()``. Otherwise these functions do nothing. ``ronde report FOLDER`` or ``ronde.report`` tell what came of it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar, Union

import torch  # noqa: F401  (before the engine, which is linked to it)

from . import _core
from .common.exceptions import one_line

Function = TypeVar("Function", bound=Callable[..., Any])
Path = Union[str, "os.PathLike[str]"]

if TYPE_CHECKING:

    class span(contextlib.ContextDecorator):
        def __init__(self, name: str, category: str = "", /, **arguments: int | float | str) -> None: ...
        def __enter__(self) -> span: ...
        def __exit__(self, *error: object) -> None: ...

else:
    span = _core.trace.span

__all__ = [
    "calls",
    "counter",
    "end_step",
    "file",
    "flush",
    "instant",
    "merge",
    "metadata",
    "record",
    "recording",
    "span",
    "step",
]


def _decorate(function: Function, name: str, category: str | None, arguments: dict[str, Any] | None) -> Function:
    """What a span makes of the function that it decorates."""
    category, arguments = category or "", arguments or {}

    @functools.wraps(function)
    def spanned(*given: Any, **named: Any) -> Any:
        with span(name, category, **arguments):
            return function(*given, **named)

    return spanned  # type: ignore[return-value]


_core.trace.set_decorator(_decorate)


def counter(name: str, value: float) -> None:
    """The value that ``name`` has from now on: a row of the timeline.

    >>> import ronde.trace
    >>> ronde.trace.counter("loss", 0.25)
    """
    _core.trace.counter(name, value if isinstance(value, int) else float(value))


def instant(name: str, category: str = "", /, **arguments: int | float | str) -> None:
    """A moment of this thread, with up to four arguments.

    >>> import ronde.trace
    >>> ronde.trace.instant("learning rate changed", rate=0.01)
    """
    _core.trace.instant(name, category, arguments)


def step(number: int) -> None:
    """Step ``number`` begins, and the one before ends: what the report counts in. Call it once a batch.

    >>> import ronde.trace
    >>> ronde.trace.step(0)
    """
    if "ronde.traced" in sys.modules:  # which would count them otherwise
        sys.modules["ronde.traced.recording"].program_counts_steps()
    _core.trace.step(number)


def end_step() -> None:
    """The last step ends, and no other begins.

    >>> import ronde.trace
    >>> ronde.trace.end_step()
    """
    _core.trace.end_step()


def metadata(key: str, value: str) -> None:
    """Something about the run that tools may want to know.

    >>> import ronde.trace
    >>> ronde.trace.metadata("model", "resnet50")
    """
    _core.trace.metadata(key, value)


def recording() -> bool:
    """Whether anything is recorded now.

    >>> import ronde.trace
    >>> ronde.trace.recording()
    False
    """
    return _core.trace.recording()


def file() -> pathlib.Path | None:
    """The file of this rank; None: nothing is recorded.

    >>> import ronde.trace
    >>> ronde.trace.file() is None
    True
    """
    return _core.trace.file()


def flush() -> None:
    """Waits until all that was recorded is in the file.

    >>> import ronde.trace
    >>> ronde.trace.flush()
    """
    _core.trace.flush()


@contextlib.contextmanager
def record(folder: Path) -> Iterator[pathlib.Path]:
    """Records what happens inside, as a run of one rank, for programs without ``init()``. Gives the file. An exception
    that ends the block is recorded too: the report then says so instead of a grade.

    >>> import ronde.trace, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, ronde.trace.record(folder) as file:
    ...     with ronde.trace.span("load"):
    ...         pass
    ...     file.name
    'trace-00000.perfetto-trace'
    """
    if "ronde.traced" in sys.modules:
        sys.modules["ronde.traced.recording"].program_records()
    _core.trace.begin(os.fspath(folder))
    try:
        yield _core.trace.file()
    except Exception as error:
        _core.trace.failed(one_line(type(error), error))
        raise
    finally:
        _core.trace.end()


@contextlib.contextmanager
def calls(filter: str = "*") -> Iterator[None]:
    """Records a span for each call of Python functions, on this thread and on those that begin inside.

    ``filter`` names functions as "module.function" or "module.Class.method", with ``*`` for anything; several with
    commas between; a minus in front leaves out: ``"model.*,-model.helpers.*"``. Every call costs something, also
    of what is not recorded: see docs/report.md. Generators and coroutines are left out, since they stop halfway.

    >>> import ronde.trace
    >>> with ronde.trace.calls("mymodel.*"):
    ...     pass
    """
    if sys.getprofile() is not None:
        raise ValueError("another profiler is active on this thread: calls() cannot run at the same time")
    _core.trace.calls_begin(_decision(filter))
    threading.setprofile(_core.trace.calls_thread)
    try:
        yield
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
        _core.trace.calls_end()


def _decision(filter: str) -> Callable[[str, str], str | None]:
    """Whether calls of a function are recorded, and by which name."""
    patterns = [pattern.strip() for pattern in filter.split(",") if pattern.strip()]
    without = [pattern[1:] for pattern in patterns if pattern.startswith("-")] + ["ronde.trace.*", "contextlib.*"]
    wanted = [pattern for pattern in patterns if not pattern.startswith("-")] or ["*"]

    def decide(module: str, function: str) -> str | None:
        name = f"{module}.{function}"
        matches = functools.partial(fnmatchcase, name)
        return name if any(map(matches, wanted)) and not any(map(matches, without)) else None

    return decide


def merge(source: Path, output: Path = "", *, format: str = "perfetto", steps: str = "") -> dict[str, Any]:
    """One file of all ranks on one clock: "perfetto", "chrome" (Horovod's event names) or "otf2" (Vampir).

    Returns "output", "bytes", "ranks", "events", and "problems": what is wrong with the traces, a sentence each.

    >>> import ronde.trace, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ronde.trace.record(folder), ronde.trace.span("load"):
    ...         pass
    ...     ronde.trace.merge(folder, format="chrome")["ranks"]
    1
    """
    return _core.trace.merge(os.fspath(source), os.fspath(output), format, steps)
