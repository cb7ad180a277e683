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


def ConcurrencyLimiter(searcher: Searcher, max_concurrent: int, batch: bool = False) -> Searcher:  # noqa: N802
    """The same searcher with at most so many trials at once."""
    if batch:
        raise ValueError("ConcurrencyLimiter: batch=True is not supported")
    searcher.max_concurrent = max_concurrent
    return searcher


_NAMES = {"variant_generator": BasicVariantGenerator, "random": BasicVariantGenerator}


def create_searcher(search_alg: str, **options: Any) -> Searcher:
    """A searcher by name. FAILS WITH: ValueError for another name, with those that there are."""
    if search_alg not in _NAMES:
        raise ValueError(f"there is no searcher {search_alg!r}; there are {', '.join(sorted(_NAMES))}")
    return _NAMES[search_alg](**options)
