"""A dataset at work."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch  # noqa: F401  (before the engine, which is linked to it)

from .. import _core
from .batch import Batch

if TYPE_CHECKING:
    from .dataset import Dataset

# Threads that wait for Python's lock when Python ends would end the process with them.
atexit.register(_core.data.close_all)


class State(NamedTuple):
    """Where a pipeline stands: a few bytes, the same for any number of ranks. A plain tuple: it can be pickled.

    >>> import ronde.data
    >>> ronde.data.State(epoch=3, position=1280, seed=7)
    State(epoch=3, position=1280, seed=7)
    """

    epoch: int
    position: int
    seed: int


class Pipeline(Iterator[Batch]):
    """Prepares batches, by threads of its own, and gives one after the other. ``Dataset.open()`` makes it.

    One thread at a time may take batches. It ends with its last reference, with ``close()`` or at the end of ``with``.

    >>> import ronde.data
    >>> with ronde.data.known("glyphs", samples=6).batch(2).open(threads=1) as batches:
    ...     first = next(batches)
    ...     state = batches.state()
    >>> state
    State(epoch=0, position=2, seed=0)
    """

    def __init__(self, dataset: Dataset, settings: dict[str, str], state: State | None = None) -> None:
        self._dataset = dataset
        self._settings = settings
        self._core = _core.data.open(dataset._core, settings, state and tuple(state))

    def __iter__(self) -> Pipeline:
        return self

    def __next__(self) -> Batch:
        batch = self._core.next()
        if batch is None:
            raise StopIteration
        return Batch(batch)

    def state(self) -> State:
        """Where to go on when the last batch has been used; for a checkpoint.

        >>> import ronde.data
        >>> numbers = ronde.data.function(6, lambda index: {"number": index}).shuffle(seed=1).batch(2)
        >>> batches = numbers.open()
        >>> first = next(batches)
        >>> state = batches.state()
        >>> rest = [batch["number"].tolist() for batch in batches]
        >>> rest == [batch["number"].tolist() for batch in numbers.open(state=state)]
        True
        """
        return State(*self._core.position())

    def restore(self, state: State) -> None:
        """Goes on from a state of a pipeline of the same dataset, on any number of ranks.

        >>> import ronde.data
        >>> batches = ronde.data.function(4, lambda index: {"number": index}).batch(1).open()
        >>> batches.restore(ronde.data.State(epoch=0, position=3, seed=0))
        >>> [batch["number"].item() for batch in batches]
        [3]
        """
        self._core.close()
        self._core = _core.data.open(self._dataset._core, self._settings, tuple(state))

    def stats(self) -> dict[str, Any]:
        """What has been done so far: "stages" (busy, waiting, samples, bytes of each), "limit" (the stage that the
        others wait for, if one is), "skipped", "peak_bytes", "waited_s", "epoch". Times are seconds, sums over
        threads.

        >>> import ronde.data
        >>> batches = ronde.data.known("glyphs", samples=8).batch(4).open()
        >>> done = list(batches)
        >>> [stage["name"] for stage in batches.stats()["stages"]]
        ['make']
        """
        return self._core.stats()

    def advice(self) -> list[str]:
        """What is unwise about this pipeline, a sentence each: known before it ran, said while it did, or measured.

        >>> import ronde.data
        >>> ronde.data.known("glyphs", samples=8).batch(4).prefetch().open().advice()
        []
        """
        return self._core.advice()

    def close(self) -> None:
        """Ends the threads. Batches that were given stay.

        >>> import ronde.data
        >>> ronde.data.known("glyphs", samples=8).batch(4).open().close()
        """
        self._core.close()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
