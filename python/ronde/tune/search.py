"""How new configurations are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Searcher:
    """A sampler of the search, by its name and options."""

    name = "random"

    def __init__(
        self,
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[dict[str, Any]] | None = None,
        seed: int | None = None,
        max_concurrent: int = 0,
        constant_grid_search: bool = False,
        **options: Any,
    ) -> None:
        self.metric, self.mode, self.seed = metric, mode, seed
        self.points = list(points_to_evaluate or [])
        self.max_concurrent = max_concurrent
        self.constant_grid = constant_grid_search
        self.options = options


class BasicVariantGenerator(Searcher):
    """Random values, and every point of grids."""

    def __init__(
        self,
        points_to_evaluate: Sequence[dict[str, Any]] | None = None,
        max_concurrent: int = 0,
        constant_grid_search: bool = False,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            points_to_evaluate=points_to_evaluate,
            max_concurrent=max_concurrent,
            constant_grid_search=constant_grid_search,
            seed=random_state,
        )


class OptunaSearch(Searcher):
    """Tree-structured Parzen estimators, Optuna's default: draws near the best tenth of the trials so far.

    `sampler` takes its place: OptunaSearch(metric="loss", mode="min", sampler=GPSampler()).
    """

    name = "tpe"

    def __init__(
        self,
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[dict[str, Any]] | None = None,
        seed: int | None = None,
        sampler: Searcher | None = None,
        n_startup_trials: int = 10,
        n_ei_candidates: int = 24,
        multivariate: bool = True,
        constant_liar: bool = True,
    ) -> None:
        super().__init__(
            metric,
            mode,
            points_to_evaluate,
            seed,
            n_startup_trials=n_startup_trials,
            n_ei_candidates=n_ei_candidates,
            multivariate=multivariate,
            constant_liar=constant_liar,
        )
        if sampler is not None:
            self.name, self.options = sampler.name, sampler.options
            self.seed = seed if seed is not None else sampler.seed


class GPSampler(Searcher):
    """A Gaussian process: draws where it expects the most improvement. For up to some hundred trials."""

    name = "gp"

    def __init__(self, n_startup_trials: int = 10, seed: int | None = None, **arguments: Any) -> None:
        super().__init__(seed=seed, n_startup_trials=n_startup_trials, **arguments)


class CmaEsSampler(Searcher):
    """CMA-ES: a normal distribution that moves towards what was good. For numbers, and some hundred trials."""

    name = "cmaes"

    def __init__(
        self, n_startup_trials: int = 1, popsize: int | None = None, seed: int | None = None, **arguments: Any
    ) -> None:
        super().__init__(seed=seed, n_startup_trials=n_startup_trials, popsize=popsize or 0, **arguments)


class QMCSampler(Searcher):
    """Sobol's points, which fill the space evenly. Use 2^m trials."""

    name = "sobol"

    def __init__(
        self, qmc_type: str = "sobol", scramble: bool = False, seed: int | None = None, **arguments: Any
    ) -> None:
        if qmc_type != "sobol":
            raise ValueError(f"QMCSampler: qmc_type must be 'sobol', got {qmc_type!r}")
        super().__init__(seed=seed, scramble=scramble, **arguments)


class RegularizedEvolution(Searcher):
    """The best of a few recent trials has a child that differs in one value. Also for networks' structures."""

    name = "evolution"

    def __init__(
        self, population_size: int = 100, sample_size: int = 25, seed: int | None = None, **arguments: Any
    ) -> None:
        super().__init__(seed=seed, population_size=population_size, sample_size=sample_size, **arguments)


class TuneBOHB(Searcher):
    """BOHB's model, for HyperBandForBOHB: draws near the best trials of the largest budget that enough have reached."""

    name = "bohb"

    def __init__(
        self,
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[dict[str, Any]] | None = None,
        seed: int | None = None,
        max_concurrent: int = 0,
        bohb_config: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(metric, mode, points_to_evaluate, seed, max_concurrent, **(bohb_config or {}))


def ConcurrencyLimiter(searcher: Searcher, max_concurrent: int, batch: bool = False) -> Searcher:  # noqa: N802
    """The same searcher with at most so many trials at once."""
    if batch:
        raise ValueError("ConcurrencyLimiter: batch=True is not supported")
    searcher.max_concurrent = max_concurrent
    return searcher


_NAMES = {
    "variant_generator": BasicVariantGenerator,
    "random": BasicVariantGenerator,
    "optuna": OptunaSearch,
    "tpe": OptunaSearch,
    "gp": GPSampler,
    "bayesopt": GPSampler,
    "cmaes": CmaEsSampler,
    "sobol": QMCSampler,
    "evolution": RegularizedEvolution,
    "bohb": TuneBOHB,
}


def create_searcher(search_alg: str, **options: Any) -> Searcher:
    """A searcher by name. FAILS WITH: ValueError for another name, with those that there are."""
    if search_alg not in _NAMES:
        raise ValueError(f"there is no searcher {search_alg!r}; there are {', '.join(sorted(_NAMES))}")
    return _NAMES[search_alg](**options)
