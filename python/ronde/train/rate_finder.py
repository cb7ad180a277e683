"""A learning rate to begin with, by a short trial (Smith: arXiv:1506.01186)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

_KEPT = 0.9  # of the smoothed loss, at each step
_BLOWN_UP = 4.0  # times the lowest smoothed loss: higher rates tell nothing more


@dataclass
class FoundRate:
    """What a trial of learning rates came to.

    >>> import ronde.train
    >>> ronde.train.FoundRate(rate=0.1).sentence
    'the loss falls fastest at a learning rate of 0.1'
    """

    rate: float | None  # None: the loss fell at none
    rates: list[float] = field(default_factory=list)  # that were tried, ascending,
    losses: list[float] = field(default_factory=list)  # and the loss of the step with each

    @property
    def sentence(self) -> str:
        """For people."""
        if self.rate is None:
            return "the loss fell at no learning rate that was tried: try lower ones, or look at data and loss"
        return f"the loss falls fastest at a learning rate of {self.rate:.2g}"


def rates_between(lowest: float, highest: float, steps: int) -> list[float]:
    """Each so many times the one before. Pure."""
    if not 0 < lowest < highest or steps < 2:
        raise ValueError(f"rates must ascend from above 0 in at least 2 steps, got {lowest} to {highest} in {steps}")
    return [lowest * (highest / lowest) ** (i / (steps - 1)) for i in range(steps)]


def best_rate(rates: Sequence[float], losses: Sequence[float]) -> float | None:
    """Where the smoothed loss falls fastest as the rate grows, before it is lowest. Pure."""
    smooth: list[float] = []
    mean = 0.0
    for i, loss in enumerate(losses):
        if not math.isfinite(loss):
            break
        mean = _KEPT * mean + (1 - _KEPT) * loss
        smooth.append(mean / (1 - _KEPT ** (i + 1)))
        lowest = min(smooth)
        if i > 0 and smooth[-1] > lowest + (_BLOWN_UP - 1) * abs(lowest):
            break
    # Over a twentieth of the steps to either side: neighbours differ by what their batches happen to hold.
    half, last = max(1, len(rates) // 20), smooth.index(min(smooth)) if smooth else 0
    slopes = [(smooth[min(i + half, len(smooth) - 1)] - smooth[i - half], i) for i in range(half, last + 1)]
    steepest = min(slopes, default=(0.0, 0))
    return rates[steepest[1]] if steepest[0] < 0 else None
