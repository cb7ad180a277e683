"""Where samples come from and what is done to them, in tf.data's words."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Union

import torch

from .batch import Draw
from .decoders import Decoder
from .pipeline import Pipeline, State

Sample = dict[str, torch.Tensor]
Path = Union[str, "os.PathLike[str]"]


class Dataset:
    """A source and steps. A value: each step gives a new one, and nothing is read before a sample is asked for.

    Which samples a batch holds, and what they look like, depends on (seed, epoch, position) alone: not on threads, not
    on ranks.

    >>> import ronde.data
    >>> numbers = ronde.data.function(10, lambda index: {"number": index})
    >>> batches = numbers.shuffle(seed=1).global_batch(4).shard(rank=0, size=2)
    >>> [len(batch["number"]) for batch in batches]
    [2, 2, 1]
    """

    def __init__(self, core: Any) -> None:
        self._core = core

    def __repr__(self) -> str:
        return " | ".join([self._core.source, *self._core.steps])

    @property
    def samples(self) -> int | None:
        """How many the source has; None: it does not say.

        >>> import ronde.data
        >>> ronde.data.function(10, lambda index: {"number": index}).samples
        10
        """
        return self._core.samples

    @property
    def classes(self) -> list[str]:
        """The names of the classes, where the source says so.

        >>> import ronde.data
        >>> ronde.data.function(10, lambda index: {"number": index}).classes
        []
        """
        return self._core.classes

    # --- order

    def shuffle(self, seed: int) -> Dataset:
        """Any sample may come anywhere, each exactly once an epoch, in another order every epoch. Takes no memory.

        >>> import ronde.data
        >>> numbers = ronde.data.function(5, lambda index: {"number": index})
        >>> sorted(sample["number"].item() for sample in numbers.shuffle(seed=1))
        [0, 1, 2, 3, 4]
        """
        return Dataset(self._core.shuffle(seed))

    def shuffle_chunks(self, seed: int, window: int = 16) -> Dataset:
        """For packs and for disks that dislike jumping: chunks in random order, mixed inside a window of them.

        >>> import ronde.data
        >>> len(list(ronde.data.pack(folder / "packed").shuffle_chunks(seed=1)))
        3
        """
        return Dataset(self._core.shuffle_chunks(seed, window))

    def shuffle_buffer(self, samples: int, seed: int) -> Dataset:
        """For streams: draws from the next ``samples`` samples.

        >>> import ronde.data
        >>> stream = ronde.data.generator(lambda: ({"number": number} for number in range(5)))
        >>> sorted(sample["number"].item() for sample in stream.shuffle_buffer(3, seed=1))
        [0, 1, 2, 3, 4]
        """
        return Dataset(self._core.shuffle_buffer(samples, seed))

    def shard(self, rank: int, size: int) -> Dataset:
        """Before batches: every size-th sample. After: this rank's part of each of them.

        >>> import ronde.data
        >>> numbers = ronde.data.function(6, lambda index: {"number": index})
        >>> [sample["number"].item() for sample in numbers.shard(1, 2)]
        [1, 3, 5]
        """
        return Dataset(self._core.shard(rank, size))

    def take(self, samples: int) -> Dataset:
        """The first so many of each epoch.

        >>> import ronde.data
        >>> len(list(ronde.data.function(6, lambda index: {"number": index}).take(2)))
        2
        """
        return Dataset(self._core.take(samples))

    def skip(self, samples: int) -> Dataset:
        """All but the first so many of each epoch.

        >>> import ronde.data
        >>> len(list(ronde.data.function(6, lambda index: {"number": index}).skip(2)))
        4
        """
        return Dataset(self._core.skip(samples))

    def repeat(self, epochs: int = 0) -> Dataset:
        """So many epochs; 0: for ever.

        >>> import ronde.data
        >>> len(list(ronde.data.function(6, lambda index: {"number": index}).repeat(2)))
        12
        """
        return Dataset(self._core.repeat(epochs))

    def split(self, begin: float, end: float, seed: int = 0) -> Dataset:
        """Samples whose key falls between two percentages. Which ones does not change when others are added.

        >>> import ronde.data
        >>> numbers = ronde.data.function(100, lambda index: {"number": index})
        >>> train, test = numbers.split(0, 80), numbers.split(80, 100)
        >>> len(list(train)) + len(list(test))
        100
        """
        return Dataset(self._core.split(begin, end, seed))

    # --- samples

    def map(
        self,
        function: Decoder | Callable[..., Any],
        *,
        name: str = "",
        threads: int = 0,
        ordered: bool = True,
        random: bool = False,
    ) -> Dataset:
        """Makes a sample of each sample: by a decoder, or by a Python function of a dict of tensors.

        Python functions run one at a time, whatever the threads, except where they let go of Python's lock (torch and
        NumPy do while they compute). ``random``: it draws, and is called with a ``Draw`` too. Do not write into the
        tensors that it is given: others may have them as well.

        >>> import ronde.data
        >>> numbers = ronde.data.function(3, lambda index: {"number": index})
        >>> [sample["twice"].item() for sample in numbers.map(lambda sample: {"twice": 2 * sample["number"]})]
        [0, 2, 4]
        >>> noisy = numbers.map(lambda sample, draw: sample | {"noise": draw.numpy().random(2)}, random=True)
        >>> next(iter(noisy))["noise"].shape
        torch.Size([2])
        """
        if isinstance(function, Decoder):
            return Dataset(self._core.decode(function, name or "decode", threads))
        called = (lambda sample, draw: function(sample, Draw(*draw))) if random else function
        return Dataset(self._core.map(called, name or _name_of(function), threads, ordered, random))

    def filter(self, keep: Callable[[Sample], Any]) -> Dataset:
        """Only samples for which ``keep`` is true. From here on samples are a stream.

        >>> import ronde.data
        >>> numbers = ronde.data.function(6, lambda index: {"number": index})
        >>> [sample["number"].item() for sample in numbers.filter(lambda sample: sample["number"] % 2 == 0)]
        [0, 2, 4]
        """
        return Dataset(self._core.filter(keep))

    def flat_map(self, function: Callable[[Sample], Dataset]) -> Dataset:
        """All samples of the dataset that ``function`` makes of each sample, one dataset after the other.

        >>> import ronde.data
        >>> def copies(sample):
        ...     return ronde.data.function(2, lambda index: sample)
        >>> numbers = ronde.data.function(2, lambda index: {"number": index})
        >>> [sample["number"].item() for sample in numbers.flat_map(copies)]
        [0, 0, 1, 1]
        """
        return Dataset(self._core.flat_map(lambda sample: function(sample)._core))

    def interleave(self, function: Callable[[Sample], Dataset], cycle: int = 4) -> Dataset:
        """As ``flat_map()``, with ``cycle`` datasets open at a time, which give a sample in turn.

        >>> import ronde.data
        >>> def copies(sample):
        ...     return ronde.data.function(2, lambda index: sample)
        >>> numbers = ronde.data.function(2, lambda index: {"number": index})
        >>> [sample["number"].item() for sample in numbers.interleave(copies)]
        [0, 1, 0, 1]
        """
        return Dataset(self._core.interleave(lambda sample: function(sample)._core, cycle))

    def cache(self, folder: Path = "", bytes: int = 0) -> Dataset:
        """Keeps samples as they are here, in memory or in a folder of a local disk that the ranks of a node share.

        >>> import ronde.data
        >>> numbers = ronde.data.function(3, lambda index: {"number": index}).cache().repeat(2)
        >>> len(list(numbers))
        6
        """
        return Dataset(self._core.cache(os.fspath(folder), bytes))

    # --- batches

    def batch(self, samples: int, *, drop_last: bool = False, pad: bool = False) -> Dataset:
        """Stacks samples: f32[3,4] becomes f32[n,3,4]. ``pad``: arrays of different lengths are filled up with zeros.

        >>> import ronde.data
        >>> words = ronde.data.function(2, lambda index: {"letters": "ab" * (index + 1)}).batch(2, pad=True)
        >>> next(iter(words))["letters"].shape
        torch.Size([2, 4])
        """
        return Dataset(self._core.batch(samples, drop_last, pad))

    def global_batch(self, samples: int, *, drop_last: bool = False) -> Dataset:
        """The same, by the name that says what it is when ``shard()`` follows: batches of all ranks together.

        >>> import ronde.data
        >>> numbers = ronde.data.function(8, lambda index: {"number": index})
        >>> [batch["number"].tolist() for batch in numbers.global_batch(4).shard(1, 2)]
        [[2, 3], [6, 7]]
        """
        return self.batch(samples, drop_last=drop_last)

    def map_batch(self, function: Callable[[Sample], Any], *, name: str = "", threads: int = 0) -> Dataset:
        """Once for a batch rather than for each of its samples.

        >>> import ronde.data
        >>> numbers = ronde.data.function(4, lambda index: {"number": index}).batch(4)
        >>> [batch["sum"].item() for batch in numbers.map_batch(lambda batch: {"sum": batch["number"].sum()})]
        [6]
        """
        return Dataset(self._core.map_batch(function, name or _name_of(function), threads))

    def unbatch(self) -> Dataset:
        """Samples of batches, one after the other.

        >>> import ronde.data
        >>> len(list(ronde.data.function(4, lambda index: {"number": index}).batch(2).unbatch()))
        4
        """
        return Dataset(self._core.unbatch())

    def prefetch(self, batches: int = 0) -> Dataset:
        """Prepares batches while others are being used; 0: as many as measuring shows. Should come last.

        >>> import ronde.data
        >>> len(list(ronde.data.known("glyphs", samples=8).batch(4).prefetch()))
        2
        """
        return Dataset(self._core.prefetch(batches))

    def to_device(self, device: int | str | torch.device) -> Dataset:
        """Copies batches to a GPU by a stream of its own, one ahead; "cpu" leaves them where they are.

        >>> import ronde.data
        >>> next(iter(ronde.data.known("glyphs", samples=8).batch(4).to_device("cpu"))).images.device
        device(type='cpu')
        """
        if not isinstance(device, int):
            named = torch.device(device)
            device = -1 if named.type == "cpu" else (named.index or 0)
        return Dataset(self._core.to_device(device))

    # --- at work

    def open(self, *, state: State | None = None, **settings: Any) -> Pipeline:
        """Starts to prepare samples, from ``state`` on, if there is one.

        Further arguments are settings ``data.*`` by their short names: ``threads``, ``memory`` ("2GiB"), ``prefetch``,
        ``on_error`` ("stop" or "skip"). What is not given is as the environment (RONDE_DATA_THREADS ...) says.

        >>> import ronde.data
        >>> with ronde.data.known("glyphs", samples=8).batch(4).open(threads=1, memory="64MiB") as batches:
        ...     len(list(batches))
        2
        """
        return Pipeline(self, {f"data.{key}": str(value) for key, value in settings.items()}, state)

    def __iter__(self) -> Pipeline:
        return self.open()

    def advice(self) -> list[str]:
        """What is unwise about the steps and about where the samples lie, a sentence each, before anything runs.

        >>> import ronde.data
        >>> numbers = ronde.data.function(4, lambda index: {"number": index})
        >>> numbers.map(lambda sample, draw: sample, random=True, name="crop").cache().advice()[0][:24]
        "cache comes after 'crop'"
        """
        return self._core.advice()


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "map" if name == "<lambda>" else name
