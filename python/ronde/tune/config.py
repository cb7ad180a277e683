"""How a search runs: Ray Tune's TuneConfig and RunConfig."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class TuneConfig:
    """What is searched for, and how."""

    metric: str | None = None
    mode: str | None = None
    search_alg: Any = None
    scheduler: Any = None
    num_samples: int = 1
    max_concurrent_trials: int | None = None
    time_budget_s: float | None = None
    reuse_actors: bool = True  # processes always are
    seed: int = 0
    trial_timeout_s: float | None = None


@dataclass
class FailureConfig:
    """How often a trial that fails is started again (-1: always), and whether one failure ends the search."""

    max_failures: int = 0
    fail_fast: bool | str = False


@dataclass
class RunConfig:
    """Where a search writes, and when its trials end."""

    name: str | None = None
    storage_path: str | None = None
    stop: Mapping[str, Any] | Callable[[str, dict[str, Any]], bool] | Any = None
    failure_config: FailureConfig = field(default_factory=FailureConfig)
    verbose: int = 1
