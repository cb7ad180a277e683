"""Batches for a training from whatever a user has: a dataset of ronde.data or torch, a DataLoader, or a list."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ronde.data import Dataset, State

_INPUTS = ("image", "input", "inputs", "x", "features", "text")
_TARGETS = ("labels", "class", "label", "target", "targets", "y", "mask", "values")


def unpack(batch: Any) -> tuple[Any, Any]:
    """The inputs and the targets of a batch: a pair, or tensors by the usual names."""
    if isinstance(batch, dict):
        inputs = next((batch[name] for name in _INPUTS if name in batch), None)
        targets = next((batch[name] for name in _TARGETS if name in batch), None)
        if inputs is None or targets is None:
            names = ", ".join(map(repr, batch))
            raise ValueError(
                f"which of {names} are inputs and which targets? Say it by unpack=lambda batch: (..., ...)"
            )
        return inputs, targets
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        return batch[0], batch[1]
    raise ValueError(
        f"a batch is a {type(batch).__name__}: make it a pair of inputs and targets, or give unpack=lambda batch: ..."
    )


def to_device(value: Any, device: torch.device) -> Any:
    """Tensors in it, copied there."""
    if isinstance(value, torch.Tensor):
        return value.to(device, non_blocking=True)
    if isinstance(value, (tuple, list)):
        return type(value)(to_device(one, device) for one in value)
    if isinstance(value, dict):
        return {key: to_device(one, device) for key, one in value.items()}
    return value


def samples_in(value: Any) -> int:
    """How many samples a batch of inputs has."""
    if isinstance(value, torch.Tensor):
        return len(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)) and value:
        return samples_in(value[0])
    raise ValueError(f"a batch holds a {type(value).__name__}, which is no tensor")


class Feed:
    """The batches of a training on one rank, epoch after epoch, from any step on.

    `steps`: of an epoch; `batch`: samples of a step on all ranks, where that is known; `begin(step)`: an iterator over
    what comes from there.
    """

    def __init__(
        self, data: Any, *, batch: int, rank: int, size: int, seed: int, steps_per_epoch: int | None, shuffle: bool
    ) -> None:
        self.batch: int | None = batch
        self._rank, self._size, self._seed = rank, size, seed
        make = self._choose(data, shuffle)
        self.begin: Callable[[int], Iterator[Any]] = make
        if steps_per_epoch:
            self.steps = steps_per_epoch
        if self.steps < 1:
            raise ValueError(f"the data has fewer samples than a batch ({batch}): set train.batch")

    def _choose(self, data: Any, shuffle: bool) -> Callable[[int], Iterator[Any]]:
        if isinstance(data, Dataset):
            return self._ronde(data, shuffle)
        if isinstance(data, torch.utils.data.DataLoader):
            return self._loader(data)
        if isinstance(data, torch.utils.data.IterableDataset):
            raise ValueError("an IterableDataset needs a DataLoader that shares it out between ranks: hand over that")
        if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, (list, tuple)):
            return self._map_style(data, shuffle)
        if isinstance(data, Iterable):
            return self._plain(data)
        raise ValueError(f"data is a {type(data).__name__}: give a dataset, a DataLoader or an iterable of batches")

    # Samples of ronde.data: order, batches and shares are ours, and any step can be begun at.
    def _ronde(self, data: Dataset, shuffle: bool) -> Callable[[int], Iterator[Any]]:
        assert self.batch
        count = data.samples
        self.steps = 0 if count is None else count // self.batch
        if count is None:
            raise ValueError(
                "the dataset does not say how many samples it has: iterate over it by a generator of batches"
            )
        ordered = data.shuffle(self._seed) if shuffle else data
        batches = ordered.global_batch(self.batch, drop_last=True).shard(self._rank, self._size).repeat().prefetch()

        def begin(step: int) -> Iterator[Any]:
            epoch, done = divmod(step, self.steps)
            return batches.open(state=State(epoch, done * (self.batch or 0), self._seed if shuffle else 0))

        return begin

    # torch's samples.
    def _map_style(self, data: Any, shuffle: bool) -> Callable[[int], Iterator[Any]]:
        assert self.batch
        if self.batch % self._size:
            raise ValueError(f"train.batch is {self.batch}, which {self._size} ranks cannot share evenly")
        sampler: Any = torch.utils.data.DistributedSampler(
            data, num_replicas=self._size, rank=self._rank, shuffle=shuffle, seed=self._seed, drop_last=True
        )
        loader = torch.utils.data.DataLoader(data, self.batch // self._size, sampler=sampler, drop_last=True)
        return self._loader(loader)

    # Batches of this rank; an epoch that is gone on in is read from its beginning.
    def _loader(self, loader: Any) -> Callable[[int], Iterator[Any]]:
        sampler = getattr(loader, "sampler", None)
        is_map_style = not isinstance(getattr(loader, "dataset", None), torch.utils.data.IterableDataset)
        if self._size > 1 and not hasattr(sampler, "set_epoch") and is_map_style:
            raise ValueError(
                f"the DataLoader gives each of the {self._size} ranks all samples: give it a "
                "torch.utils.data.DistributedSampler, or hand over its dataset"
            )
        self.batch = None
        return self._plain(loader, sampler)

    def _plain(self, batches: Iterable[Any], sampler: Any = None) -> Callable[[int], Iterator[Any]]:
        self.batch = None
        try:
            self.steps = len(batches)  # type: ignore[arg-type]
        except TypeError:
            self.steps = 1
        limits = self

        def begin(step: int) -> Iterator[Any]:
            epoch, done = divmod(step, limits.steps)
            while True:
                if hasattr(sampler, "set_epoch"):
                    sampler.set_epoch(epoch)
                given = 0
                for batch in itertools.islice(batches, done, limits.steps):
                    given += 1
                    yield batch
                if given == 0:
                    raise ValueError(f"the data has no batch {done} in epoch {epoch}: set steps_per_epoch")
                epoch, done = epoch + 1, 0

        return begin


def held_out_batches(data: Any, *, batch: int, rank: int, size: int) -> Iterable[Any]:
    """Each sample on one rank, as far as that is ours to decide: a DataLoader gives what it gives."""
    if isinstance(data, Dataset):
        return data.global_batch(batch).shard(rank, size).prefetch()
    if isinstance(data, (torch.utils.data.DataLoader, list, tuple)) or not hasattr(data, "__getitem__"):
        return data
    mine = torch.utils.data.Subset(data, range(rank, len(data), size))
    return torch.utils.data.DataLoader(mine, max(1, batch // size))
