"""Runs searches: Ray Tune's Tuner."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any

from ronde import _tune
from ronde.tune import trainable as trainables
from ronde.tune import worker
from ronde.tune.config import RunConfig, TuneConfig
from ronde.tune.result import Result, ResultGrid
from ronde.tune.schedulers import Scheduler, create_scheduler
from ronde.tune.search import Searcher, create_searcher
from ronde.tune.space import Space
from ronde.tune.stopper import stopper_of

TO_BE_CONTINUED = 75  # the exit code of a search that a deadline has ended


class TuneError(RuntimeError):
    """A search could not go on, or a trial failed where none may."""


class Tuner:
    """A search over `param_space` with trials of `trainable`, a function or a subclass of Trainable.

    fit() runs it, in processes that are kept from trial to trial. A search of a name that is there already goes on.
    """

    def __init__(
        self,
        trainable: Any,
        *,
        param_space: dict[str, Any] | None = None,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
    ) -> None:
        self._trainable = trainables.find_trainable(trainable)
        self._space = Space(param_space)
        self._tune = tune_config or TuneConfig()
        self._run = run_config or RunConfig()
        self._scheduler = _scheduler_of(self._tune.scheduler)
        self._searcher = _searcher_of(self._tune.search_alg)
        self._metric = self._tune.metric or self._scheduler.metric or self._searcher.metric
        self._mode = self._tune.mode or self._scheduler.mode or self._searcher.mode
        self._limits, self._stopper = stopper_of(self._run.stop)
        name = self._run.name or f"{getattr(self._trainable, '__name__', 'search')}_{_now()}"
        self._folder = pathlib.Path(self._run.storage_path or "ronde-output/tune").expanduser().absolute() / name
        self._results: ResultGrid | None = None

    @classmethod
    def can_restore(cls, path: str | os.PathLike[str]) -> bool:
        """Whether there is a search in this folder."""
        return (pathlib.Path(path).expanduser() / "journal.jsonl").exists()

    @classmethod
    def restore(cls, path: str | os.PathLike[str], trainable: Any, **arguments: Any) -> Tuner:
        """A tuner that goes on with the search in this folder; the arguments are those of Tuner."""
        folder = pathlib.Path(path).expanduser().absolute()
        if not cls.can_restore(folder):
            raise ValueError(f"{folder} holds no search")
        config = arguments.pop("run_config", None) or RunConfig()
        config.storage_path, config.name = str(folder.parent), folder.name
        return cls(trainable, run_config=config, **arguments)

    def fit(self) -> ResultGrid:
        """Runs the search to its end, and gives what it found. Ctrl-C ends it; the next fit() goes on."""
        self._folder.mkdir(parents=True, exist_ok=True)
        slots = self._slots()
        compute = self._space.compute if self._space.functions else None
        search = _tune.Search(str(self._folder), json.dumps(self._options(slots)), compute)
        progress = _Progress(search, self._tune.time_budget_s or 0, self._run.verbose)
        if search.resumed and self._run.verbose:
            print(f"tune: going on with {search.resumed} trials in {self._folder}", file=sys.stderr)
        interrupt = _Interrupt()
        with interrupt:
            end = search.run(
                slots=slots,
                trial_timeout=self._tune.trial_timeout_s or 0,
                time_budget=self._tune.time_budget_s or 0,
                deadline=0,
                start_worker=lambda slot: worker.start(self._trainable, self._space.decode),
                stops=self._stops if self._stopper is not None else None,
                show=progress.show,
                warn=lambda text: print(f"tune: warning: {text}", file=sys.stderr),
                interrupted=lambda: interrupt.signal is not None or self._fails_fast(search),
            )
        self._results = self._collect(search)
        if interrupt.signal == signal.SIGINT:
            raise KeyboardInterrupt(f"the search in {self._folder} goes on when it is started again")
        if interrupt.signal is not None:
            raise SystemExit(TO_BE_CONTINUED)
        if end == "to_continue":
            raise TuneError(f"a trial failed (fail_fast): {self._results.errors[0]}")
        return self._results

    def get_results(self) -> ResultGrid:
        """What fit() gave."""
        if self._results is None:
            raise RuntimeError("fit() has not been called yet")
        return self._results

    def _slots(self) -> int:
        cores = len(os.sched_getaffinity(0))
        each = max(1.0, getattr(self._trainable, "ronde_resources", {}).get("cpu", 1))
        slots = max(1, int(cores // each))
        limits = [self._tune.max_concurrent_trials, self._searcher.max_concurrent]
        return min([slots, *(limit for limit in limits if limit)])

    def _options(self, slots: int) -> dict[str, Any]:
        scheduler, searcher = self._scheduler, self._searcher
        return {
            "space": self._space.json,
            "metric": self._metric or "",
            "mode": self._mode or "max",
            "seed": searcher.seed if searcher.seed is not None else self._tune.seed,
            "samples": self._tune.num_samples,
            "slots": slots,
            "sampler": searcher.name,
            "sampler_options": searcher.options,
            "scheduler": scheduler.name,
            "scheduler_options": scheduler.options,
            "time_attribute": scheduler.time_attr or "",
            "stop": self._limits,
            "points": searcher.points,
            "constant_grid": searcher.constant_grid,
            "max_failures": self._run.failure_config.max_failures,
            "can_save": trainables.can_save(self._trainable),
        }

    def _stops(self, trial: int, result: str) -> bool:
        assert self._stopper is not None
        values = json.loads(result)
        return self._stopper.stop_all() if values is None else self._stopper(f"{trial:05d}", values)

    def _fails_fast(self, search: _tune.Search) -> bool:
        return bool(self._run.failure_config.fail_fast) and search.failed > 0

    def _collect(self, search: _tune.Search) -> ResultGrid:
        results = [
            Result(facts, self._space.decode(facts["config"]), self._folder / f"trial_{facts['number']:05d}")
            for facts in json.loads(search.trials())
        ]
        return ResultGrid(results, self._folder, self._metric, self._mode)


def _now() -> str:
    return datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")


def _scheduler_of(scheduler: Any) -> Scheduler:
    if scheduler is None:
        return Scheduler()
    return create_scheduler(scheduler) if isinstance(scheduler, str) else scheduler


def _searcher_of(searcher: Any) -> Searcher:
    if searcher is None:
        return Searcher()
    return create_searcher(searcher) if isinstance(searcher, str) else searcher


class _Interrupt:
    """Ctrl-C and SIGTERM end a search in order, while it runs."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                self._before[number] = signal.signal(number, self._note)

    def _note(self, number: int, frame: Any) -> None:
        self.signal = number

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class _Progress:
    """One line about the search, on standard error."""

    def __init__(self, search: _tune.Search, time_budget: float, verbose: int) -> None:
        self._search, self._time_budget, self._verbose = search, time_budget, verbose
        self._begin = time.monotonic()
        self._done_before = search.done
        self._is_terminal = sys.stderr.isatty()
        self._last = ""

    def show(self, is_end: bool) -> None:
        if not self._verbose or (not is_end and not self._is_terminal):
            return
        line = self._search.headline(time.monotonic() - self._begin, self._done_before, self._time_budget)
        if line == self._last and not is_end:
            return
        self._last = line
        start, end = ("\r\x1b[K", "") if self._is_terminal else ("", "\n")
        print(f"{start}tune: {line}", end="\n" if is_end else end, file=sys.stderr, flush=True)
