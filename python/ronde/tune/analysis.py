"""What tune.run() returns."""

from __future__ import annotations

from typing import Any

from ronde.tune.result import Result, ResultGrid, best_of
from ronde.tune.session import Checkpoint


class ExperimentAnalysis:
    """All trials of a search, with the functions of Ray Tune 1.x."""

    def __init__(self, grid: ResultGrid, metric: str | None, mode: str | None) -> None:
        self._grid, self._metric, self._mode = grid, metric, mode
        self.trials: list[Result] = list(grid)
        self.experiment_path = grid.experiment_path

    def get_best_trial(self, metric: str | None = None, mode: str | None = None, scope: str = "last") -> Result:
        """The best trial by its last result, or by `scope`: all, avg, last-5-avg, last-10-avg."""
        return best_of(self.trials, metric or self._metric, mode or self._mode, scope, lambda each: True)

    def get_best_config(
        self, metric: str | None = None, mode: str | None = None, scope: str = "last"
    ) -> dict[str, Any]:
        """The configuration of the best trial."""
        return self.get_best_trial(metric, mode, scope).config

    def get_best_checkpoint(
        self, trial: Result, metric: str | None = None, mode: str | None = None
    ) -> Checkpoint | None:
        """The newest checkpoint of a trial."""
        return trial.checkpoint

    def get_last_checkpoint(self, trial: Result | None = None) -> Checkpoint | None:
        """The newest checkpoint of a trial, of the best one by default."""
        return (trial or self.get_best_trial()).checkpoint

    def get_all_configs(self) -> dict[str, dict[str, Any]]:
        """Configurations by folder."""
        return {each.path: each.config for each in self.trials}

    def dataframe(self, metric: str | None = None, mode: str | None = None) -> Any:
        """A row per trial: its last result, or the one with the best metric."""
        return self._grid.get_dataframe(metric, mode)

    @property
    def best_trial(self) -> Result:
        return self.get_best_trial()

    @property
    def best_config(self) -> dict[str, Any]:
        return self.get_best_config()

    @property
    def best_result(self) -> dict[str, Any]:
        return self.best_trial.metrics or {}

    @property
    def best_checkpoint(self) -> Checkpoint | None:
        return self.best_trial.checkpoint

    @property
    def best_dataframe(self) -> Any:
        return self.best_trial.metrics_dataframe

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        return {f"{each.number:05d}": each.metrics or {} for each in self.trials}

    @property
    def results_df(self) -> Any:
        return self._grid.get_dataframe()

    @property
    def trial_dataframes(self) -> dict[str, Any]:
        return {each.path: each.metrics_dataframe for each in self.trials}
