"""Checkpoints in Ronde's format: safetensors files and a manifest with checksums, whole or not there at all."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from ronde import _core
from ronde.torch.functions import broadcast_object, broadcast_parameters

_NUMBERS = "numbers of the optimizer"  # the key of those that are no tensors, in a checkpoint's extra
_OBJECTS = "objects"  # and of the states of further objects


@dataclass
class Progress:
    """Where a training stood.

    >>> import ronde.train
    >>> ronde.train.Progress(step=120, epoch=2).epoch
    2
    """

    step: int
    epoch: int = 0
    samples: int = 0  # of this epoch, over all ranks
    extra: dict[str, Any] = field(default_factory=dict)  # what save() was given


class Checkpointer:
    """Writes checkpoints of a network and its optimizer while training goes on, and finds the one to go on from.

    >>> import tempfile, torch, ronde.train
    >>> network = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(network.parameters())
    >>> folder = tempfile.TemporaryDirectory()
    >>> with ronde.train.Checkpointer(folder.name, network, optimizer, every="500") as checkpointer:
    ...     progress = checkpointer.resume()
    ...     for step in range(progress.step if progress else 0, 1000):
    ...         written = checkpointer.step(step + 1)           # when one is due
    >>> checkpointer.resume().step
    1000

    folder: checkpoints go into folder/checkpoints, as those of `ronde train`; every: steps ("500") or a time ("10min"),
    "0" only by save(); keep: older ones are removed; objects: what else has state_dict() and load_state_dict(), such as
    an EMA, by name; settings: those of the training, which a later one must share in what weights depend on.
    On several ranks all make the same calls; rank 0 writes and reads.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        network: torch.nn.Module,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        every: str = "10min",
        keep: int = 3,
        objects: dict[str, Any] | None = None,
        background: bool = True,
        settings: _core.train.Settings | None = None,
        seed: int = 0,
    ) -> None:
        self.folder = pathlib.Path(folder) / "checkpoints"
        self._network, self._optimizer, self._objects = network, optimizer, objects or {}
        self._every_steps, self._every_seconds, automatic = _core.train.every(every)
        if automatic:
            raise ValueError("every='auto' is for `ronde train`: give steps ('500') or a time ('10min')")
        self._settings, self._seed = settings, seed
        self._kept_at, self._kept_step = time.monotonic(), -1
        is_writer = _rank() == 0
        self._writer = _core.train.CheckpointWriter(self.folder, keep, background) if is_writer else None

    def __enter__(self) -> Checkpointer:
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()

    # --- going on

    def resume(self, source: str | os.PathLike[str] = "auto", *, accept_differences: bool = False) -> Progress | None:
        """Puts the newest checkpoint into network, optimizer and objects, on all ranks; None: there is none. `source`:
        "auto", the path of a checkpoint or a training, or "none".

        >>> import tempfile, torch, ronde.train
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpointer = ronde.train.Checkpointer(folder.name, torch.nn.Linear(2, 1), every="10")
        >>> checkpointer.resume() is None
        True
        """
        found: dict[str, Any] | None = None
        failure: Exception | None = None
        if _rank() == 0:
            try:
                found = self._find(os.fspath(source), accept_differences)
                if found:
                    self._load(found)
            except Exception as error:  # the others wait to hear of it
                failure = error
        told = (bool(found), str(failure) if failure else "", found and _facts(found))
        is_there, why, facts = _shared(told, "checkpoint")
        if failure:
            raise failure
        if why:
            raise ValueError(f"rank 0 cannot resume from the checkpoint: {why}")
        if not is_there:
            return None
        self._share()
        self._kept_step = facts["step"]
        return Progress(facts["step"], facts["epoch"], facts["samples"], json.loads(facts["extra"].get("python", "{}")))

    def _find(self, source: str, accept_differences: bool) -> dict[str, Any] | None:
        if source in ("none", "never"):
            return None
        if source == "auto":
            found = _core.train.newest_checkpoint(self.folder, lambda text: print(f"warning: {text}", file=sys.stderr))
        else:
            found = _core.train.load_checkpoint(source)
        if found is None:
            return None
        path, fields = found
        if self._settings is not None and fields["settings"]:
            refused, _ = _core.train.differences(path, self._settings, _size())
            if refused and not accept_differences:
                raise ValueError(refused)
        fields["path"] = path
        return fields

    def _load(self, fields: dict[str, Any]) -> None:
        self._network.load_state_dict(fields["model"])
        tensors: dict[str, torch.Tensor] = fields["optimizer"]
        numbers = json.loads(fields["extra"].get(_NUMBERS, "{}"))
        if self._optimizer is not None:
            _restore(self._optimizer, _names(self._network, self._optimizer), tensors, numbers, fields["path"])
        plain = json.loads(fields["extra"].get(_OBJECTS, "{}"))
        for name, thing in self._objects.items():
            mark = f"{name}//"
            state = {key[len(mark) :]: value for key, value in tensors.items() if key.startswith(mark)}
            if not state and name not in plain:
                raise ValueError(f"checkpoint {fields['path']} has no '{name}': it was written without one")
            thing.load_state_dict(state | plain.get(name, {}))

    def _share(self) -> None:
        if _size() == 1:
            return
        broadcast_parameters(self._network.state_dict(), root_rank=0)
        things = dict(self._objects)
        if self._optimizer is not None:
            things["optimizer"] = self._optimizer
        for name, thing in sorted(things.items()):
            state = broadcast_object(thing.state_dict() if _rank() == 0 else None, root_rank=0, name=f"resume.{name}")
            if _rank() != 0:
                thing.load_state_dict(state)

    # --- writing

    @property
    def goes_by_steps(self) -> bool:
        """Whether `every` counts steps."""
        return self._every_steps > 0

    def due(self, step: int) -> bool:
        """Whether it is time for one. By time, ranks may differ: rank 0's answer counts.

        >>> import tempfile, torch, ronde.train
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpointer = ronde.train.Checkpointer(folder.name, torch.nn.Linear(2, 1), every="10")
        >>> checkpointer.due(15), checkpointer.due(20)
        (False, True)
        """
        if self._every_steps > 0:
            return step % self._every_steps == 0
        if self._every_seconds <= 0 or (self._writer is not None and self._writer.busy()):
            return False
        return time.monotonic() - self._kept_at >= self._every_seconds

    def step(self, step: int, *, epoch: int = 0, samples: int = 0, extra: dict[str, Any] | None = None) -> bool:
        """After each step, on all ranks: writes a checkpoint if one is due.

        >>> import tempfile, torch, ronde.train
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpointer = ronde.train.Checkpointer(folder.name, torch.nn.Linear(2, 1), every="10")
        >>> checkpointer.step(10)
        True
        """
        is_due = self.due(step)
        if is_due:
            self.save(step, epoch=epoch, samples=samples, extra=extra)
        return is_due

    def save(self, step: int, *, epoch: int = 0, samples: int = 0, extra: dict[str, Any] | None = None) -> None:
        """Copies everything and writes it in the background. A full disk is a warning, and older checkpoints stay.

        >>> import tempfile, torch, ronde.train
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpointer = ronde.train.Checkpointer(folder.name, torch.nn.Linear(2, 1), every="10")
        >>> checkpointer.save(7, extra={"note": "before the change"})
        >>> checkpointer.finish()
        >>> checkpointer.resume().extra
        {'note': 'before the change'}
        """
        self._kept_at = time.monotonic()
        if self._writer is None or step == self._kept_step:
            return
        self._kept_step = step
        tensors, numbers = (
            _state(self._optimizer, _names(self._network, self._optimizer)) if self._optimizer else ({}, {})
        )
        plain: dict[str, dict[str, Any]] = {}
        for name, thing in self._objects.items():
            state = thing.state_dict()
            tensors |= {f"{name}//{key}": one for key, one in state.items() if isinstance(one, torch.Tensor)}
            plain[name] = {key: one for key, one in state.items() if not isinstance(one, torch.Tensor)}
        more = {_NUMBERS: json.dumps(numbers), _OBJECTS: json.dumps(plain), "python": json.dumps(extra or {})}
        if self._settings is not None:
            more[_core.train.GIVEN_SETTINGS] = self._settings.given()
        self._writer.save(
            {
                "step": step,
                "epoch": epoch,
                "samples": samples,
                "seed": self._seed,
                "ranks": _size(),
                "settings": self._settings.texts() if self._settings is not None else {},
                "extra": more,
                "model": {name: one.detach() for name, one in self._network.state_dict().items()},
                "optimizer": tensors,
            }
        )
        self._warn(self._writer.take_error())

    def finish(self) -> None:
        """Waits until the last one is safely written.

        >>> import tempfile, torch, ronde.train
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpointer = ronde.train.Checkpointer(folder.name, torch.nn.Linear(2, 1), every="10")
        >>> checkpointer.finish()
        """
        if self._writer is not None:
            self._warn(self._writer.wait())

    @property
    def seconds(self) -> float:
        """How long the last one took until it was safely written."""
        return self._writer.seconds() if self._writer is not None else 0.0

    def _warn(self, error: str | None) -> None:
        if error:
            print(f"warning: a checkpoint cannot be written; older ones are unchanged: {error}", file=sys.stderr)


# --- The state of an optimizer by name: that of fc.weight is fc.weight/exp_avg, as `ronde train` has it.


def _names(network: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[torch.Tensor, str]:
    names = {parameter: name for name, parameter in network.named_parameters()}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter not in names:
                shape = list(parameter.shape)
                raise ValueError(f"the optimizer has a parameter of shape {shape} that is not one of the network's")
    return names


def _state(
    optimizer: torch.optim.Optimizer, names: dict[torch.Tensor, str]
) -> tuple[dict[str, torch.Tensor], dict[str, float | int | bool]]:
    tensors, numbers = {}, {}
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            name = f"{names[parameter]}/{key}"
            if isinstance(value, torch.Tensor):
                tensors[name] = value.detach()
            elif isinstance(value, (bool, int, float)):
                numbers[name] = value
            elif value is not None:
                raise ValueError(f"the optimizer's {name} is of type {type(value).__name__}, which cannot be stored")
    return tensors, numbers


def _restore(
    optimizer: torch.optim.Optimizer,
    names: dict[torch.Tensor, str],
    tensors: dict[str, torch.Tensor],
    numbers: dict[str, Any],
    path: pathlib.Path,
) -> None:
    by_parameter: dict[str, dict[str, Any]] = {}
    for name, value in [*tensors.items(), *numbers.items()]:
        if "//" not in name:
            parameter, _, key = name.rpartition("/")
            by_parameter.setdefault(parameter, {})[key] = value
    ordered = [names[parameter] for group in optimizer.param_groups for parameter in group["params"]]
    strangers = by_parameter.keys() - set(ordered)
    if strangers:
        raise ValueError(f"checkpoint {path} has the state of {min(strangers)}, which this optimizer does not train")
    whole = optimizer.state_dict()
    whole["state"] = {number: by_parameter[name] for number, name in enumerate(ordered) if name in by_parameter}
    optimizer.load_state_dict(whole)


def _facts(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: fields[key] for key in ("step", "epoch", "samples", "extra")}


def _shared(value: Any, name: str) -> Any:
    return broadcast_object(value, root_rank=0, name=name) if _size() > 1 else value


def _rank() -> int:
    return _core.rank() if _core.running() else 0


def _size() -> int:
    return _core.size() if _core.running() else 1
