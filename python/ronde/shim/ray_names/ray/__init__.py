"""Answers to the name of Ray: `ray.tune` has the words of Ray Tune, and runs on `ronde.tune`.

This folder's parent goes on the path by `python -m ronde.ray`; nothing else sees it. What Ronde has not is refused by
name when it is looked for.
"""

import importlib.abc
import importlib.util
import os
import pathlib
import sys
import types

if importlib.util.find_spec("ronde") is None:  # only this shim is on the path
    sys.path.append(str(pathlib.Path(__file__).parents[5]))

from ray import _arguments
from ronde import tune as _tune

__version__ = "2.57.0"  # whose words these are

_WHAT_THERE_IS = "Ronde runs the part of Ray Tune that docs/tune.md lists"


class _Names(types.ModuleType):
    """A module with some names, which says of others that they are not there."""

    def __init__(self, name, names):
        super().__init__(name, f"What Ronde has of {name}.")
        self.__path__ = []  # so that parts can be looked for
        self.__dict__.update(names)
        self.__all__ = sorted(names)

    def __getattr__(self, name):
        if name.startswith("_") or f"{self.__name__}.{name}" in _MODULES:
            raise AttributeError(name)
        raise ImportError(f"{self.__name__}.{name} is not available: {_WHAT_THERE_IS}", name=self.__name__)


def _public(module):
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    return {name: getattr(module, name) for name in names}


def _log(**results):
    _tune.report(results)


_REPORTS = {
    "report": _tune.report,
    "get_checkpoint": _tune.get_checkpoint,
    "get_context": _tune.get_context,
    "Checkpoint": _tune.Checkpoint,
}
_CONFIGS = {
    "RunConfig": _arguments.RunConfig,
    "FailureConfig": _tune.FailureConfig,
    "CheckpointConfig": _arguments.CheckpointConfig,
}
_OWN = {name: getattr(_arguments, name) for name in ("TuneConfig", "run", "CLIReporter")}
_TUNE = _public(_tune) | _CONFIGS | _OWN | {"JupyterNotebookReporter": _arguments.CLIReporter}
_SCHEDULERS, _SEARCH, _STOPPER = _public(_tune.schedulers), _public(_tune.search), _public(_tune.stopper)
_GENERATOR = {"BasicVariantGenerator": _tune.search.BasicVariantGenerator}
_OPTUNA = {"OptunaSearch": _tune.search.OptunaSearch}
_MODULES = {
    "ray.tune": _TUNE | {"track": types.SimpleNamespace(log=_log)},
    "ray.tune.schedulers": _SCHEDULERS,
    "ray.tune.schedulers.async_hyperband": _SCHEDULERS,
    "ray.tune.schedulers.pbt": _SCHEDULERS,
    "ray.tune.search": _SEARCH,
    "ray.tune.search.basic_variant": _GENERATOR,
    "ray.tune.search.optuna": _OPTUNA,
    "ray.tune.suggest": _SEARCH,
    "ray.tune.suggest.basic_variant": _GENERATOR,
    "ray.tune.suggest.optuna": _OPTUNA,
    "ray.tune.stopper": _STOPPER,
    "ray.tune.result_grid": {"ResultGrid": _tune.ResultGrid},
    "ray.tune.registry": {"register_trainable": _tune.register_trainable},
    "ray.tune.tuner": {"Tuner": _tune.Tuner},
    "ray.tune.trainable": {"Trainable": _tune.Trainable},
    "ray.train": _REPORTS | _CONFIGS,
    "ray.air": _CONFIGS | {"Checkpoint": _tune.Checkpoint},
    "ray.air.session": _REPORTS,
    "ray.air.config": _CONFIGS,
}


class _Loader(importlib.abc.Loader):
    def create_module(self, spec):
        if spec.name not in _MODULES:
            raise ModuleNotFoundError(f"{spec.name} is not available: {_WHAT_THERE_IS}", name=spec.name)
        return _Names(spec.name, _MODULES[spec.name])

    def exec_module(self, module):
        pass


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("ray.") or fullname == "ray._arguments":
            return None
        return importlib.util.spec_from_loader(fullname, _Loader(), is_package=True)


sys.meta_path.insert(0, _Finder())

# Ray's own words, which programs for Tune begin and end with: there is no cluster to reach.
_running = False


def init(*_addresses, **options):
    """Does nothing: trials run in processes of this program."""
    global _running
    _arguments.warn_about("ray.init", {name: value for name, value in options.items() if name in ("num_gpus",)})
    _running = True


def shutdown(*_none, **_options):
    """Does nothing."""
    global _running
    _running = False


def is_initialized():
    """Whether init() was called."""
    return _running


def cluster_resources():
    """The cores that this process may use."""
    return {"CPU": float(len(os.sched_getaffinity(0)))}


available_resources = cluster_resources


def __getattr__(name):
    if name.startswith("_") or f"ray.{name}" in _MODULES:
        raise AttributeError(name)
    raise ImportError(f"ray.{name} is not available: {_WHAT_THERE_IS}", name="ray")
