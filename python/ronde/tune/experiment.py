"""tune.run() and run_experiments(), as programs for Ray Tune 0.6 to 1.x call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ronde.tune.analysis import ExperimentAnalysis
from ronde.tune.config import FailureConfig, RunConfig, TuneConfig
from ronde.tune.result import Result
from ronde.tune.trainable import find_trainable, with_resources
from ronde.tune.tuner import TuneError, Tuner


def run(
    run_or_experiment: Any,
    name: str | None = None,
    metric: str | None = None,
    mode: str | None = None,
    stop: Any = None,
    time_budget_s: float | None = None,
    config: Mapping[str, Any] | None = None,
    resources_per_trial: Mapping[str, float] | None = None,
    num_samples: int = 1,
    storage_path: str | None = None,
    search_alg: Any = None,
    scheduler: Any = None,
    verbose: int = 1,
    max_failures: int = 0,
    fail_fast: bool | str = False,
    resume: Any = False,
    raise_on_failed_trial: bool = True,
    max_concurrent_trials: int | None = None,
    local_dir: str | None = None,
) -> ExperimentAnalysis:
    """Runs a search over `config`, and gives what it found.

    FAILS WITH: TuneError when a trial failed, unless raise_on_failed_trial is False.
    """
    trainable = find_trainable(run_or_experiment)
    if resources_per_trial:
        trainable = with_resources(trainable, resources_per_trial)
    tuner = Tuner(
        trainable,
        param_space=dict(config or {}),
        tune_config=TuneConfig(
            metric=metric,
            mode=mode,
            search_alg=search_alg,
            scheduler=scheduler,
            num_samples=num_samples,
            max_concurrent_trials=max_concurrent_trials,
            time_budget_s=time_budget_s,
        ),
        run_config=RunConfig(
            name=name,
            storage_path=storage_path or local_dir,
            stop=stop,
            failure_config=FailureConfig(max_failures=max_failures, fail_fast=fail_fast),
            verbose=verbose,
        ),
    )
    grid = tuner.fit()
    if grid.num_errors and raise_on_failed_trial:
        failed = [each.number for each in grid if each.error]
        raise TuneError(f"trials {failed} failed, the first with: {grid.errors[0]}")
    return ExperimentAnalysis(grid, metric, mode)


_OLD = {"repeat": "num_samples", "trial_resources": "resources_per_trial"}


def run_experiments(
    experiments: Mapping[str, Mapping[str, Any]], scheduler: Any = None, **options: Any
) -> list[Result]:
    """Runs several searches, one after the other; the list of all their trials."""
    trials: list[Result] = []
    for name, spec in experiments.items():
        arguments = {_OLD.get(key, key): value for key, value in spec.items()}
        target = arguments.pop("run")
        trials += run(target, name=name, scheduler=scheduler, **arguments, **options).trials
    return trials
