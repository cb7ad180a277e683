"""When trials, or a whole search, end."""

from __future__ import annotations

import collections
import statistics
import time
from collections.abc import Callable
from typing import Any


class Stopper:
    """Asked after each result: whether the trial ends, and (stop_all) whether the search does."""

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        raise NotImplementedError

    def stop_all(self) -> bool:
        return False


class FunctionStopper(Stopper):
    """A function (trial_id, result) -> bool."""

    def __init__(self, function: Callable[[str, dict[str, Any]], bool]) -> None:
        self._function = function

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return bool(self._function(trial_id, result))


class MaximumIterationStopper(Stopper):
    """Ends a trial after so many results."""

    def __init__(self, max_iter: int) -> None:
        self._max_iter = max_iter
        self._count: dict[str, int] = collections.defaultdict(int)

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        self._count[trial_id] += 1
        return self._count[trial_id] >= self._max_iter


class TimeoutStopper(Stopper):
    """Ends the search after so many seconds."""

    def __init__(self, timeout: float) -> None:
        self._timeout = float(timeout)
        self._begin: float | None = None

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        if self._begin is None:
            self._begin = time.monotonic()
        return time.monotonic() - self._begin >= self._timeout


class CombinedStopper(Stopper):
    """Ends what any of several would end."""

    def __init__(self, *stoppers: Stopper) -> None:
        self._stoppers = stoppers

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return any([stopper(trial_id, result) for stopper in self._stoppers])  # each hears of every result

    def stop_all(self) -> bool:
        return any([stopper.stop_all() for stopper in self._stoppers])


class TrialPlateauStopper(Stopper):
    """Ends a trial whose metric has hardly changed over its last results."""

    def __init__(
        self,
        metric: str,
        std: float = 0.01,
        num_results: int = 4,
        grace_period: int = 4,
        metric_threshold: float | None = None,
        mode: str | None = None,
    ) -> None:
        if metric_threshold is not None and mode not in ("min", "max"):
            raise ValueError("TrialPlateauStopper: metric_threshold needs mode='min' or mode='max'")
        self._metric, self._std, self._grace = metric, std, grace_period
        self._threshold, self._mode = metric_threshold, mode
        self._window: dict[str, collections.deque[float]] = collections.defaultdict(
            lambda: collections.deque(maxlen=num_results)
        )
        self._count: dict[str, int] = collections.defaultdict(int)
        self._num_results = num_results

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        value = result.get(self._metric)
        if value is None:
            return False
        self._count[trial_id] += 1
        window = self._window[trial_id]
        window.append(value)
        if self._count[trial_id] < self._grace or len(window) < self._num_results:
            return False
        if self._threshold is not None and (
            value > self._threshold if self._mode == "min" else value < self._threshold
        ):
            return False
        return statistics.pstdev(window) < self._std


class ExperimentPlateauStopper(Stopper):
    """Ends the search when the best values have not changed for `patience` results."""

    def __init__(self, metric: str, std: float = 0.001, top: int = 10, mode: str = "min", patience: int = 0) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', got {mode!r}")
        self._metric, self._std, self._top, self._mode, self._patience = metric, std, top, mode, patience
        self._best: list[float] = []
        self._still = 0

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        if self._metric in result:
            self._best = sorted([*self._best, result[self._metric]], reverse=self._mode == "max")[: self._top]
            flat = len(self._best) == self._top and statistics.pstdev(self._best) <= self._std
            self._still = self._still + 1 if flat else 0
        return self.stop_all()

    def stop_all(self) -> bool:
        return self._still > self._patience


def stopper_of(stop: Any) -> tuple[dict[str, Any], Stopper | None]:
    """Limits by name, which the search knows itself, and criteria in Python."""
    if stop is None:
        return {}, None
    if isinstance(stop, dict):
        return dict(stop), None
    if isinstance(stop, (list, tuple)):
        return {}, CombinedStopper(*(stopper_of(each)[1] or FunctionStopper(each) for each in stop))
    if isinstance(stop, Stopper):
        return {}, stop
    if callable(stop):
        return {}, FunctionStopper(stop)
    raise ValueError(f"stop must be a dict, a function or a Stopper, got {stop!r}")
