"""What a search found."""

from __future__ import annotations

import json
import math
import pathlib
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from ronde.tune.session import Checkpoint

_LAST = {"last-5-avg": 5, "last-10-avg": 10}
SCOPES = ("last", "all", "avg", *_LAST)


class TrialError(RuntimeError):
    """Why a trial failed."""


class Result:
    """One trial: its configuration and what it reported."""

    def __init__(self, facts: dict[str, Any], config: dict[str, Any], folder: pathlib.Path) -> None:
        self.config = config
        self.path = str(folder)
        self.metrics: dict[str, Any] | None = facts["last_result"]
        self.error = TrialError(facts["error"]) if facts["state"] == "ERROR" else None
        self.checkpoint = Checkpoint(facts["checkpoint"]) if facts["checkpoint"] else None
        self.state: str = facts["state"]
        self.number: int = facts["number"]
        self.stopped_early: bool = facts["stopped_early"]

    def results(self) -> list[dict[str, Any]]:
        """All that it reported, in order."""
        file = pathlib.Path(self.path) / "result.json"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def metrics_dataframe(self) -> Any:
        """All that it reported as a pandas DataFrame."""
        return dataframe([_flat(each) for each in self.results()])

    def score(self, metric: str, mode: str, scope: str) -> float | None:
        """The metric of this trial by `scope`; None: it has none."""
        if scope == "last":
            return _number((self.metrics or {}).get(metric))
        values = [value for each in self.results() if (value := _number(each.get(metric))) is not None]
        if not values:
            return None
        if scope == "all":
            return max(values) if mode == "max" else min(values)
        return statistics.fmean(values if scope == "avg" else values[-_LAST[scope] :])

    def __repr__(self) -> str:
        return f"Result(trial {self.number}, {self.state}, config={self.config}, metrics={self.metrics})"


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not math.isnan(value) and not math.isinf(value) else None


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}/"))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def dataframe(rows: list[dict[str, Any]]) -> Any:
    """A pandas DataFrame of these rows. FAILS WITH: ImportError, where there is no pandas, that says so."""
    try:
        import pandas
    except ImportError:
        raise ImportError("data frames need pandas: pip install pandas") from None
    return pandas.DataFrame(rows)


def best_of(
    results: list[Result], metric: str | None, mode: str | None, scope: str, choose: Callable[[Result], bool]
) -> Result:
    """The trial with the best metric. FAILS WITH: ValueError, RuntimeError where no trial has one."""
    if metric is None or mode is None:
        raise ValueError("name the metric and the mode ('min' or 'max'), here or in TuneConfig")
    if mode not in ("min", "max"):
        raise ValueError(f"mode must be 'min' or 'max', got {mode!r}")
    if scope not in SCOPES:
        raise ValueError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    scored = [
        (score, each) for each in results if choose(each) and (score := each.score(metric, mode, scope)) is not None
    ]
    if not scored:
        raise RuntimeError(f"no trial has reported '{metric}'")
    return (max if mode == "max" else min)(scored, key=lambda pair: pair[0])[1]


class ResultGrid:
    """All trials of a search."""

    def __init__(self, results: list[Result], folder: pathlib.Path, metric: str | None, mode: str | None) -> None:
        self._results, self._metric, self._mode = results, metric, mode
        self.experiment_path = str(folder)

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, number: int) -> Result:
        return self._results[number]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def errors(self) -> list[TrialError]:
        return [each.error for each in self._results if each.error is not None]

    @property
    def num_errors(self) -> int:
        return len(self.errors)

    @property
    def num_terminated(self) -> int:
        return sum(each.state == "TERMINATED" for each in self._results)

    def get_best_result(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> Result:
        """The best trial by its last result, or by `scope`: all, avg, last-5-avg, last-10-avg."""
        return best_of(self._results, metric or self._metric, mode or self._mode, scope, lambda each: True)

    def get_dataframe(self, filter_metric: str | None = None, filter_mode: str | None = None) -> Any:
        """A row per trial: its last result, or the one with the best `filter_metric`."""
        rows = []
        for each in self._results:
            row = each.metrics or {}
            if filter_metric is not None:
                have = [result for result in each.results() if _number(result.get(filter_metric)) is not None]
                best = max if (filter_mode or self._mode) == "max" else min
                row = best(have, key=lambda result: result[filter_metric]) if have else row
            rows.append(
                {
                    **_flat({key: value for key, value in row.items() if key != "config"}),
                    **_flat(each.config, "config/"),
                }
            )
        return dataframe(rows)
