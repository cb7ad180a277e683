"""Weights averaged over steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


class EMA:
    """An exponential moving average of a network's weights; buffers are those of the last update.

    >>> import torch, ronde.train
    >>> network = torch.nn.Linear(1, 1, bias=False)
    >>> ema = ronde.train.EMA(network, decay=0.5)
    >>> start = network.weight.item()
    >>> with torch.no_grad():
    ...     _ = network.weight.add_(1)
    >>> ema.update()                        # after each step
    >>> with ema.applied():                 # evaluates with the average
    ...     round(network.weight.item() - start, 3)
    0.5
    """

    def __init__(self, network: torch.nn.Module, decay: float = 0.999) -> None:
        if not 0 < decay < 1:
            raise ValueError(f"decay must be between 0 and 1, got {decay}")
        self.decay = decay
        self._network = network
        self._average = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        self._parameters = {name for name, _ in network.named_parameters()}

    @torch.no_grad()
    def update(self) -> None:
        """Takes in the weights as they are now.

        >>> import torch, ronde.train
        >>> ronde.train.EMA(torch.nn.Linear(2, 1)).update()
        """
        for name, tensor in self._network.state_dict().items():
            if name in self._parameters and tensor.is_floating_point():
                self._average[name].lerp_(tensor, 1 - self.decay)
            else:
                self._average[name].copy_(tensor)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the network has the averaged weights.

        >>> import torch, ronde.train
        >>> network = torch.nn.Linear(2, 1)
        >>> with ronde.train.EMA(network).applied():
        ...     network(torch.ones(1, 2)).shape
        torch.Size([1, 1])
        """
        own = {name: tensor.detach().clone() for name, tensor in self._network.state_dict().items()}
        self._network.load_state_dict(self._average)
        try:
            yield
        finally:
            self._network.load_state_dict(own)

    def state_dict(self) -> dict[str, Any]:
        """The averaged weights by name, as the network's own.

        >>> import torch, ronde.train
        >>> sorted(ronde.train.EMA(torch.nn.Linear(2, 1)).state_dict())
        ['bias', 'weight']
        """
        return dict(self._average)

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from them.

        >>> import torch, ronde.train
        >>> ema = ronde.train.EMA(torch.nn.Linear(2, 1))
        >>> ema.load_state_dict(ema.state_dict())
        """
        for name, tensor in self._average.items():
            tensor.copy_(state[name])
