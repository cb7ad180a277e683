"""Samples for this rank that were not yet seen in this epoch."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sized
from typing import Any

import torch.utils.data

from ronde.torch.mpi_ops import rank, size


class ElasticSampler(torch.utils.data.Sampler):
    """Shares the samples of an epoch out among the ranks, as DistributedSampler does, and knows how many were used:
    after a restart in the middle of an epoch the rest is shared out anew.

    Give it to the TorchState, call ``record_batch`` after each batch, and ``set_epoch`` at the end of each epoch.

    >>> dataset = torch.utils.data.TensorDataset(torch.arange(6))
    >>> sampler = hvd.elastic.ElasticSampler(dataset)
    >>> loader = torch.utils.data.DataLoader(dataset, batch_size=2, sampler=sampler)
    >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, sampler=sampler, epoch=0)
    >>> for number, batch in enumerate(loader):
    ...     sampler.record_batch(number, batch_size=2)
    >>> sampler.set_epoch(1)
    """

    def __init__(self, dataset: Sized, shuffle: bool = True, seed: int = 0) -> None:
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.processed_num = 0
        self.processed_indices: set[int] = set()  # Horovod has it too, and fills it no more
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """Another epoch: another order, and nothing of it used. Called at the end of an epoch, not at the beginning,
        which would forget what was used before a restart.

        >>> sampler = hvd.elastic.ElasticSampler(range(6))
        >>> sampler.set_epoch(1)
        >>> sorted(sampler)
        [0, 1, 2, 3, 4, 5]
        """
        self.epoch = epoch
        self.processed_num = 0
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Each rank has used a batch of this size.

        >>> sampler = hvd.elastic.ElasticSampler(range(6), shuffle=False)
        >>> sampler.record_batch(0, batch_size=4)
        >>> sampler.processed_num
        4
        """
        self.processed_num += batch_size * self.num_replicas

    def state_dict(self) -> dict[str, Any]:
        """How far the epoch has come: what a TorchState saves.

        >>> hvd.elastic.ElasticSampler(range(6)).state_dict()
        {'epoch': 0, 'processed_num': 0}
        """
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from there.

        >>> sampler = hvd.elastic.ElasticSampler(range(6), shuffle=False)
        >>> sampler.load_state_dict({"epoch": 0, "processed_num": 4})
        >>> list(sampler)
        [4, 5]
        """
        self.epoch = state_dict["epoch"]
        self.processed_num = state_dict["processed_num"]
        self.reset()

    def reset(self) -> None:
        """Shares out anew what is left of the epoch, among the ranks that there are now.

        >>> sampler = hvd.elastic.ElasticSampler(range(6), shuffle=False)
        >>> sampler.record_batch(0, batch_size=4)
        >>> sampler.reset()
        >>> list(sampler)
        [4, 5]
        """
        self.num_replicas = size()
        self.rank = rank()
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(indices)
        self.remaining_indices = indices[self.processed_num :]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        # The first ones come again at the end, so that all ranks have equally many.
        padded = list(itertools.islice(itertools.cycle(self.remaining_indices), self.total_size))
        self.indices = padded[self.rank :: self.num_replicas]
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples
