"""Searches over hyperparameters, in Ray Tune's words: trials run in processes that are kept, on this machine.

>>> from ronde import tune
>>> def train(config):
...     for step in range(3):
...         tune.report({"score": config["x"] * step})
>>> tuner = tune.Tuner(train, param_space={"x": tune.grid_search([1, 2])},
...                    tune_config=tune.TuneConfig(metric="score", mode="max"),
...                    run_config=tune.RunConfig(storage_path="/tmp/ronde-tune-doc", verbose=0))
>>> tuner.fit().get_best_result().config
{'x': 2}

`docs/tune.md` is the manual.
"""

from ronde.tune import schedulers, search, stopper
from ronde.tune.analysis import ExperimentAnalysis
from ronde.tune.config import FailureConfig, RunConfig, TuneConfig
from ronde.tune.experiment import run, run_experiments
from ronde.tune.result import Result, ResultGrid
from ronde.tune.session import Checkpoint, checkpoint_dir, get_checkpoint, get_context, report
from ronde.tune.space import (
    choice,
    grid_search,
    lograndint,
    loguniform,
    qlograndint,
    qloguniform,
    qrandint,
    qrandn,
    quniform,
    randint,
    randn,
    sample_from,
    uniform,
)
from ronde.tune.stopper import Stopper
from ronde.tune.trainable import Trainable, register_trainable, with_parameters, with_resources
from ronde.tune.tuner import TuneError, Tuner

__all__ = [
    "Checkpoint",
    "ExperimentAnalysis",
    "FailureConfig",
    "Result",
    "ResultGrid",
    "RunConfig",
    "Stopper",
    "Trainable",
    "TuneConfig",
    "TuneError",
    "Tuner",
    "checkpoint_dir",
    "choice",
    "get_checkpoint",
    "get_context",
    "grid_search",
    "lograndint",
    "loguniform",
    "qlograndint",
    "qloguniform",
    "qrandint",
    "qrandn",
    "quniform",
    "randint",
    "randn",
    "register_trainable",
    "report",
    "run",
    "run_experiments",
    "sample_from",
    "schedulers",
    "search",
    "stopper",
    "uniform",
    "with_parameters",
    "with_resources",
]
