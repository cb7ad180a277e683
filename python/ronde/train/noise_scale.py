"""How large a batch may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from ronde import _core
from ronde.torch.mpi_ops import Sum, allreduce


class NoiseScale:
    """The gradient noise scale (McCandlish et al.: arXiv:1812.06162): up to about this batch, more samples per step
    save steps. From gradients of this rank's samples and of all ranks' together; a single rank has to split its batch
    into several backward passes.

    >>> import torch, ronde.train
    >>> weight = torch.nn.Parameter(torch.zeros(1))
    >>> noise = ronde.train.NoiseScale([weight])
    >>> for slopes in torch.tensor([[1.0, 3.0], [0.0, 2.0]]):   # two passes of a step
    ...     with noise.measured(samples=2, weight=0.5):
    ...         ((slopes * weight).mean() / 2).backward()
    >>> noise.add(batch=4)                                      # after optimizer.synchronize()
    >>> noise.value                                             # in samples; None: not known yet
    0.5
    """

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        self._parameters = [one for one in parameters if one.requires_grad]
        self._means = _core.train.NoiseScale()
        self._small = self._inverse = self._parts = 0.0

    @contextmanager
    def measured(self, samples: int, weight: float = 1.0) -> Iterator[None]:
        """Around a backward pass of the mean loss over so many samples, multiplied by `weight`.

        >>> import torch, ronde.train
        >>> weight = torch.nn.Parameter(torch.zeros(1))
        >>> with ronde.train.NoiseScale([weight]).measured(samples=2):
        ...     (torch.tensor([1.0, 3.0]) * weight).mean().backward()
        """
        squares: list[torch.Tensor] = []
        hooks = [
            parameter.register_hook(lambda gradient: squares.append(gradient.detach().double().square().sum()))
            for parameter in self._parameters
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        if samples > 0 and squares:
            self._small += float(sum(squares)) / weight**2
            self._inverse += 1 / samples
            self._parts += 1

    def add(self, batch: int) -> None:
        """After gradients were reduced: what was measured in a step of so many samples on all ranks. All call it.

        >>> import torch, ronde.train
        >>> ronde.train.NoiseScale([torch.nn.Parameter(torch.zeros(1))]).add(batch=4)
        """
        sums = torch.tensor([self._small, self._inverse, self._parts], dtype=torch.float64)
        if _core.running() and _core.size() > 1:
            sums = allreduce(sums, name="noise_scale", op=Sum)
        gradients = [one.grad.detach().double().square().sum() for one in self._parameters if one.grad is not None]
        self._means.add(*sums.tolist(), float(sum(gradients)), batch)
        self._small = self._inverse = self._parts = 0.0

    @property
    def value(self) -> float | None:
        """In samples; None before the first measurement, and while the gradient is lost in its noise."""
        return self._means.value()
