"""Which trials go on: Ray Tune's schedulers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ronde.tune.space import Domain, Space


class Scheduler:
    """A scheduler of the search, by its name and options."""

    name = "fifo"

    def __init__(
        self, time_attr: str | None = None, metric: str | None = None, mode: str | None = None, **options: Any
    ) -> None:
        self.time_attr, self.metric, self.mode = time_attr, metric, mode
        self.options = {key: value for key, value in options.items() if value is not None}


class FIFOScheduler(Scheduler):
    """Every trial runs until its stop criteria."""


class AsyncHyperBandScheduler(Scheduler):
    """ASHA, the stopping variant: a trial ends at a rung where it is not among the best so far."""

    name = "asha"

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: float = 100,
        grace_period: float = 1,
        reduction_factor: float = 4,
        brackets: int = 1,
        stop_last_trials: bool = True,
    ) -> None:
        super().__init__(
            time_attr,
            metric,
            mode,
            max_t=max_t,
            grace_period=grace_period,
            reduction_factor=reduction_factor,
            brackets=brackets,
            stop_last_trials=stop_last_trials,
        )


ASHAScheduler = AsyncHyperBandScheduler


class ASHAPromotionScheduler(Scheduler):
    """ASHA, the variant of the paper: trials pause at each rung, and the best of a rung go on."""

    name = "asha_promotion"

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: float = 100,
        grace_period: float = 1,
        reduction_factor: float = 4,
    ) -> None:
        super().__init__(
            time_attr, metric, mode, max_t=max_t, grace_period=grace_period, reduction_factor=reduction_factor
        )


class HyperBandScheduler(Scheduler):
    """Brackets of trials that pause at milestones, of which the best part goes on."""

    name = "hyperband"

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: float = 81,
        reduction_factor: float = 3,
        stop_last_trials: bool = True,
    ) -> None:
        super().__init__(
            time_attr, metric, mode, max_t=max_t, reduction_factor=reduction_factor, stop_last_trials=stop_last_trials
        )


class HyperBandForBOHB(HyperBandScheduler):
    """HyperBand with the bracket first that halves most."""

    name = "bohb"


class MedianStoppingRule(Scheduler):
    """Ends a trial whose best result is worse than the median of the others' means at that time."""

    name = "median_stopping_rule"

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        grace_period: float = 60.0,
        min_samples_required: int = 3,
        min_time_slice: float = 0,
        hard_stop: bool = True,
    ) -> None:
        super().__init__(
            time_attr,
            metric,
            mode,
            grace_period=grace_period,
            min_samples_required=min_samples_required,
            min_time_slice=min_time_slice,
            hard_stop=hard_stop,
        )


class PopulationBasedTraining(Scheduler):
    """The worst trials take over weights and, changed a little, configurations of the best."""

    name = "pbt"

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        perturbation_interval: float = 60.0,
        burn_in_period: float = 0.0,
        hyperparam_mutations: Mapping[str, Any] | None = None,
        quantile_fraction: float = 0.25,
        resample_probability: float = 0.25,
        perturbation_factors: tuple[float, ...] = (1.2, 0.8),
        custom_explore_fn: Callable[..., Any] | None = None,
        synch: bool = False,
    ) -> None:
        if custom_explore_fn is not None:
            raise ValueError("PopulationBasedTraining: custom_explore_fn is not supported; use hyperparam_mutations")
        super().__init__(
            time_attr,
            metric,
            mode,
            perturbation_interval=perturbation_interval,
            burn_in_period=burn_in_period,
            hyperparam_mutations=Space(_mutations(hyperparam_mutations or {})).json,
            quantile_fraction=quantile_fraction,
            resample_probability=resample_probability,
            perturbation_factors=list(perturbation_factors),
            synch=synch,
        )


class PB2(Scheduler):
    """Population-based bandits: as PopulationBasedTraining, with settings that a model of all results so far proposes,
    inside of {"lr": [0.0001, 0.1]}."""

    name = "pb2"

    def __init__(
        self,
        time_attr: str = "time_total_s",
        metric: str | None = None,
        mode: str | None = None,
        perturbation_interval: float = 60.0,
        hyperparam_bounds: Mapping[str, Any] | None = None,
        quantile_fraction: float = 0.25,
        burn_in_period: float = 0.0,
        synch: bool = False,
    ) -> None:
        super().__init__(
            time_attr,
            metric,
            mode,
            perturbation_interval=perturbation_interval,
            hyperparam_bounds={key: list(bounds) for key, bounds in (hyperparam_bounds or {}).items()},
            quantile_fraction=quantile_fraction,
            burn_in_period=burn_in_period,
            synch=synch,
        )


def _mutations(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Refuses functions, which the search cannot call."""
    for key, value in tree.items():
        if callable(value) and not isinstance(value, Domain):
            raise ValueError(
                f"hyperparam_mutations: {key} is a function; give a distribution such as tune.uniform(0, 1), or a list"
            )
    return {key: _mutations(value) if isinstance(value, dict) else value for key, value in tree.items()}


_NAMES = {
    "fifo": FIFOScheduler,
    "async_hyperband": AsyncHyperBandScheduler,
    "asynchyperband": AsyncHyperBandScheduler,
    "asha": AsyncHyperBandScheduler,
    "asha_promotion": ASHAPromotionScheduler,
    "median_stopping_rule": MedianStoppingRule,
    "medianstopping": MedianStoppingRule,
    "hyperband": HyperBandScheduler,
    "hb_bohb": HyperBandForBOHB,
    "bohb": HyperBandForBOHB,
    "pbt": PopulationBasedTraining,
    "pb2": PB2,
}


def create_scheduler(scheduler: str, **options: Any) -> Scheduler:
    """A scheduler by Ray Tune's name for it. FAILS WITH: ValueError for another name, with those that there are."""
    if scheduler not in _NAMES:
        raise ValueError(f"there is no scheduler {scheduler!r}; there are {', '.join(sorted(_NAMES))}")
    return _NAMES[scheduler](**options)
