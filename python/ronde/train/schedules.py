"""Learning rates as functions of the step: those of `ronde train`, for any optimizer.

>>> import torch
>>> from ronde.train import schedules
>>> rates = schedules.cosine(0.1, steps=100, warmup=10)
>>> [round(rates(step), 4) for step in (0, 5, 10, 55, 100)]
[0.0, 0.05, 0.1, 0.05, 0.0]
>>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1)
>>> schedules.set_rate(optimizer, rates(5))
>>> optimizer.param_groups[0]["lr"]
0.05
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ronde import _core

Schedule = Callable[[float], float]


def constant(lr: float, *, warmup: float = 0, start: float = 0) -> Schedule:
    """The same rate all the time. As everywhere here, it grows evenly during `warmup` steps, from `start` times the
    rate."""
    return _made("constant", lr, 1, warmup=warmup, start=start)


def cosine(lr: float, steps: float, *, warmup: float = 0, start: float = 0, end: float = 0) -> Schedule:
    """Half a wave from the rate to `end` times the rate, over `steps` steps."""
    return _made("cosine", lr, steps, warmup=warmup, start=start, end=end)


def step(
    lr: float, milestones: Sequence[float], *, factor: float = 0.1, warmup: float = 0, start: float = 0
) -> Schedule:
    """At each milestone the rate is multiplied by `factor`."""
    if list(milestones) != sorted(set(milestones)):
        raise ValueError(f"milestones must increase, got {list(milestones)}")
    return _made("step", lr, 1, milestones=milestones, factor=factor, warmup=warmup, start=start)


def polynomial(
    lr: float, steps: float, *, power: float = 2, end: float = 0, warmup: float = 0, start: float = 0
) -> Schedule:
    """(1 - done) to this power; 1 is a straight line."""
    return _made("polynomial", lr, steps, power=power, end=end, warmup=warmup, start=start)


def onecycle(lr: float, steps: float, *, peak: float = 0.3, start: float = 0.04, end: float = 0) -> Schedule:
    """Up until `peak` of the steps, then down (Smith: arXiv:1708.07120)."""
    return _made("onecycle", lr, steps, peak=peak, start=start, end=end)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The rate of all groups; a group with an "lr_scale" has so many times that."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("lr_scale", 1)


def _made(
    name: str,
    lr: float,
    steps: float,
    *,
    warmup: float = 0,
    start: float = 0,
    end: float = 0,
    power: float = 2,
    milestones: Sequence[float] = (),
    factor: float = 0.1,
    peak: float = 0.3,
) -> Schedule:
    if lr < 0:
        raise ValueError(f"the learning rate must not be negative, got {lr}")
    if steps <= 0 or warmup > steps > 1:
        raise ValueError(f"a schedule of {steps} steps cannot have a warm-up of {warmup}")
    return _core.train.Schedule(
        name, lr, warmup, start, steps, end, power, [float(one) for one in milestones], factor, peak
    ).at
