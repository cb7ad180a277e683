"""What a trial runs: a class or a function."""

from __future__ import annotations

import contextlib
import inspect
import pathlib
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from ronde.tune import session


class Trainable:
    """A network that is trained, in steps. Override setup(), step(), save_checkpoint() and load_checkpoint().

    reset_config(), which may return True, lets one object run many trials: nothing is set up anew for each.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config: dict[str, Any] = dict(config or {})
        self.iteration = 0
        self.setup(self.config)

    @property
    def training_iteration(self) -> int:
        return self.iteration

    @property
    def logdir(self) -> str:
        return session.get_context().get_trial_dir()

    @property
    def trial_id(self) -> str:
        return session.get_context().get_trial_id()

    @property
    def trial_name(self) -> str:
        return session.get_context().get_trial_name()

    def setup(self, config: dict[str, Any]) -> None:
        """Builds what the trial needs."""

    def step(self) -> dict[str, Any]:
        """One iteration; {"done": True} ends the trial, {"should_checkpoint": True} saves one."""
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any] | None:
        """Writes into the folder, or returns a dict, which is written for it."""
        raise NotImplementedError(f"{type(self).__name__} has no save_checkpoint(), which this scheduler needs")

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Gets the dict that save_checkpoint() returned, or the folder."""
        raise NotImplementedError(f"{type(self).__name__} has no load_checkpoint(), which this scheduler needs")

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Makes this object one of another configuration. False: a new one is made."""
        return False

    def cleanup(self) -> None:
        """Called when the trial has ended."""


_DICT = "ronde_dict.pkl"  # what save_checkpoint() returned


def save(trainable: Trainable, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    state = trainable.save_checkpoint(str(folder))
    if isinstance(state, dict):
        (folder / _DICT).write_bytes(pickle.dumps(state))


def load(trainable: Trainable, folder: pathlib.Path) -> None:
    file = folder / _DICT
    trainable.load_checkpoint(pickle.loads(file.read_bytes()) if file.exists() else str(folder))


def can_save(target: Any) -> bool:
    """Whether trials of it have checkpoints: a class that writes them, or any function, which reports them."""
    if inspect.isclass(target) and issubclass(target, Trainable):
        return target.save_checkpoint is not Trainable.save_checkpoint
    return True


_registered: dict[str, Any] = {}


def register_trainable(name: str, trainable: Any) -> None:
    """Gives a trainable a name by which tune.run() finds it."""
    _registered[name] = trainable


def find_trainable(trainable: Any) -> Any:
    """The class or function that is meant. FAILS WITH: ValueError for a name that nothing has."""
    if isinstance(trainable, str):
        if trainable not in _registered:
            known = ", ".join(sorted(_registered)) or "none"
            raise ValueError(f"no trainable is registered as '{trainable}'; there are: {known}")
        trainable = _registered[trainable]
    if not callable(trainable):
        raise ValueError(f"a trainable must be a function or a subclass of Trainable, got {trainable!r}")
    return trainable


class WithParameters:
    """A function with arguments besides its configuration, which all trials share."""

    def __init__(self, function: Callable[..., Any], parameters: dict[str, Any]) -> None:
        self.function = function
        self.parameters = parameters
        self.__name__ = getattr(function, "__name__", "trainable")
        # A `reporter` or a `checkpoint_dir` that the function asks for is looked for there.
        with contextlib.suppress(TypeError, ValueError):
            whole = inspect.signature(function)
            rest = [one for name, one in whole.parameters.items() if name not in parameters]
            self.__signature__ = whole.replace(parameters=rest)

    def __call__(self, config: dict[str, Any], **more: Any) -> Any:
        return self.function(config, **self.parameters, **more)


def with_parameters(trainable: Any, **parameters: Any) -> Any:
    """A trainable that gets `parameters` too: large data, say, of which there is one copy for all trials."""
    if inspect.isclass(trainable):

        class Parametrized(trainable):  # type: ignore[misc,valid-type]
            def setup(self, config: dict[str, Any]) -> None:
                super().setup(config, **parameters)

        Parametrized.__name__ = trainable.__name__
        return Parametrized
    return WithParameters(trainable, parameters)


def with_resources(trainable: Any, resources: Mapping[str, float]) -> Any:
    """A trainable that needs {"cpu": 2}: fewer of them run at once."""
    if inspect.isclass(trainable):
        made: Any = type(trainable.__name__, (trainable,), {})
    else:
        made = WithParameters(trainable, {})
    made.ronde_resources = dict(resources)
    return made
