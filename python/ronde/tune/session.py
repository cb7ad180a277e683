"""What a function that is a trial calls: report(), get_checkpoint(), get_context()."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


class Checkpoint:
    """A folder with whatever a trial needs to go on."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Checkpoint:
        return cls(path)

    @contextlib.contextmanager
    def as_directory(self) -> Iterator[str]:
        yield self.path

    def to_directory(self, path: str | os.PathLike[str] | None = None) -> str:
        """A copy, in `path` or in a new folder."""
        target = os.fspath(path) if path is not None else tempfile.mkdtemp(prefix="checkpoint_")
        shutil.copytree(self.path, target, dirs_exist_ok=True)
        return target

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r})"


class TrialEnded(BaseException):
    """Leaves a trial's function when the search has ended the trial. Not an error: do not catch it."""


class ConfigChanged(BaseException):
    """Leaves a trial's function so that it starts again with another configuration and other weights."""

    def __init__(self, config: Mapping[str, Any], checkpoint: str) -> None:
        self.config = config
        self.checkpoint = checkpoint


class Channel:
    """The socket to the search: JSON objects, one per line."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")

    def send(self, **message: Any) -> None:
        self._connection.sendall(json.dumps(message, default=_plain).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        line = self._lines.readline()
        return json.loads(line) if line else None


def _plain(value: Any) -> Any:
    """NumPy's and torch's numbers as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a result must hold numbers, texts, lists and dicts, got {type(value).__name__}")


@dataclass
class Context:
    """The trial that runs in this process."""

    trial: int
    folder: pathlib.Path
    channel: Channel
    checkpoint: str = ""
    iteration: int = 0
    resources: dict[str, float] = field(default_factory=lambda: {"cpu": 1})

    def get_trial_id(self) -> str:
        return f"{self.trial:05d}"

    def get_trial_name(self) -> str:
        return f"trial_{self.trial:05d}"

    def get_trial_dir(self) -> str:
        return str(self.folder)

    def get_trial_resources(self) -> dict[str, float]:
        return self.resources

    def answer(self, result: Mapping[str, Any], checkpoint: str = "") -> dict[str, Any]:
        """Sends a result, and waits for what the search makes of it."""
        self.iteration += 1
        self.channel.send(op="report", result=dict(result), checkpoint=checkpoint)
        answer = self.channel.receive()
        if answer is None:
            raise TrialEnded  # the search is gone, and so is the reason for this process
        return answer


_context: Context | None = None  # the trial of this process; a function knows no other way to it


def set_context(context: Context | None) -> None:
    global _context
    _context = context


def get_context() -> Context:
    """The trial that runs in this process."""
    if _context is None:
        raise RuntimeError("tune.report() and tune.get_context() work inside of a trial only")
    return _context


def report(metrics: Mapping[str, Any] | None = None, *, checkpoint: Checkpoint | None = None, **results: Any) -> None:
    """Reports the results of one iteration. Returns when the trial goes on, and does not return when it ends.

    `checkpoint` is copied into the trial's folder; get_checkpoint() gives it when the trial is started again.
    """
    context = get_context()
    path = ""
    if checkpoint is not None:
        target = context.folder / f"checkpoint_{context.iteration:06d}"
        if pathlib.Path(checkpoint.path) != target:
            shutil.copytree(checkpoint.path, target, dirs_exist_ok=True)
        path = str(target)
    answer = context.answer({**(metrics or {}), **results}, path)
    if answer["op"] == "exploit":
        raise ConfigChanged(answer["config"], answer.get("checkpoint", ""))
    if answer["op"] != "go":
        raise TrialEnded


def get_checkpoint() -> Checkpoint | None:
    """What the trial saved before it was paused or interrupted, or what it takes over from another; None: nothing."""
    path = get_context().checkpoint
    return Checkpoint(path) if path else None


@contextlib.contextmanager
def checkpoint_dir(step: int) -> Iterator[str]:
    """A folder for a checkpoint, as Ray Tune 1.x has it: the next report() keeps it."""
    context = get_context()
    folder = context.folder / f"checkpoint_{step:06d}"
    folder.mkdir(parents=True, exist_ok=True)
    yield str(folder)
    context.channel.send(op="saved", checkpoint=str(folder))
