"""The loop around steps: epochs, evaluations, checkpoints, deadlines, logs."""

from __future__ import annotations

import copy
import difflib
import math
import os
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ronde import _core
from ronde.torch.functions import broadcast_optimizer_state, broadcast_parameters
from ronde.torch.mpi_ops import Sum, allreduce, init
from ronde.train import feed, rate_finder, schedules
from ronde.train.callbacks import Callback
from ronde.train.checkpointer import Checkpointer
from ronde.train.deadline import Deadline
from ronde.train.ema import EMA
from ronde.train.loop import Run
from ronde.train.rate_finder import FoundRate
from ronde.train.steps import Steps, make_optimizer

Measure = Callable[[Any, Any], Any]


@dataclass
class Result:
    """What a training came to.

    >>> import ronde.train
    >>> ronde.train.Result(steps=80, stopped="finished").exit_code
    0
    """

    steps: int
    stopped: str  # "finished", "target reached", "no improvement", "stopped", "interrupted", "time is over"
    values: dict[str, float] = field(default_factory=dict)  # of the last evaluation, or the training's loss
    noise_scale: float | None = None
    folder: pathlib.Path | None = None
    exit_code: int = 0


class Trainer:
    """Trains a network of one's own with the loop of `ronde train`.

    network: any module; data: samples (a dataset of ronde.data or torch), or batches of this rank (a DataLoader, a
    list); loss: of outputs and targets, the mean over samples; optimizer: made of the network's parameters, or None for
    what the settings say; recipe: a recipe's name or file, of which settings are taken; settings: over those
    ("train.epochs": 3); held_out: data to evaluate with after each epoch; measures: functions of outputs and targets,
    the first decides about the target, patience and what is printed; schedule: learning rate by step, instead of
    schedule.*; callbacks; ema: decay of an average of the weights, for evaluations; unpack: from a batch
    to inputs and targets; steps_per_epoch: where the data does not say; quiet: prints nothing.

    >>> import tempfile, torch, ronde.train
    >>> x = torch.linspace(-1, 1, 64).reshape(-1, 1)
    >>> samples = torch.utils.data.TensorDataset(x, 3 * x)
    >>> network = torch.nn.Linear(1, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = ronde.train.Trainer(
    ...         network, samples, torch.nn.functional.mse_loss, quiet=True,
    ...         settings={"train.epochs": 20, "train.batch": 16, "output.dir": folder},
    ...     ).fit()
    >>> result.stopped, result.steps, round(network.weight.item())
    ('finished', 80, 3)
    """

    def __init__(
        self,
        network: torch.nn.Module,
        data: Any,
        loss: Callable[[Any, Any], torch.Tensor],
        optimizer: torch.optim.Optimizer | None = None,
        *,
        recipe: str = "",
        settings: Mapping[str, Any] | None = None,
        held_out: Any = None,
        measures: Mapping[str, Measure] | None = None,
        schedule: schedules.Schedule | None = None,
        callbacks: Sequence[Callback] = (),
        ema: float = 0,
        unpack: Callable[[Any], tuple[Any, Any]] = feed.unpack,
        steps_per_epoch: int | None = None,
        shuffle: bool = True,
        quiet: bool = False,
    ) -> None:
        if not _core.running():
            init()
        self.rank, self.size = _core.rank(), _core.size()
        given = {key: _text(value) for key, value in (settings or {}).items()}
        _refuse_unread(given)
        self.settings = _core.train.Settings(recipe, given)
        self.device = _device(self.settings["train.device"])
        self.network = network.to(self.device)
        self._loss, self._measures, self._held_out = loss, dict(measures or {}), held_out
        self._unpack, self._callbacks, self._quiet = unpack, list(callbacks), quiet or self.rank != 0
        self._batch, seed = self.settings["train.batch"], self.settings["train.seed"]
        self._feed = feed.Feed(
            data, batch=self._batch, rank=self.rank, size=self.size, seed=seed, steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
        )  # fmt: skip
        made = optimizer or make_optimizer(self.settings, self.network)
        self._steps = Steps(self.network, loss, made, self.settings, self.device, self.size, self.rank)
        self.optimizer = self._steps.optimizer
        self._schedule = schedule or self._schedule_of(optimizer)
        decay = ema or self.settings["train.ema"]
        self.ema = EMA(self.network, decay) if decay else None
        self.folder = pathlib.Path(self.settings.output())
        objects = {"ema": self.ema, "loss scale": self._steps}
        self.checkpointer = Checkpointer(
            self.folder, self.network, self.optimizer,
            every=_every(self.settings), keep=self.settings["checkpoint.keep"], settings=self.settings, seed=seed,
            background=self.settings["checkpoint.background"],
            objects={name: one for name, one in objects.items() if one is not None},
        )  # fmt: skip
        self.step = 0
        self._best, self._since_best = math.nan, 0
        self._evaluated_at = 0  # the step
        self._stopping = False

    # The optimizer's own rates where the program brings one, and nothing says how they should change.
    def _schedule_of(self, optimizer: torch.optim.Optimizer | None) -> schedules.Schedule | None:
        given = self.settings.given().split(",")
        if optimizer is not None and not any(key.strip().startswith(("schedule.", "optimizer.lr")) for key in given):
            return None
        return self.settings.schedule(self._feed.steps).at

    @property
    def epoch(self) -> int:
        """Epochs that are over."""
        return self.step // self._feed.steps

    def stop(self) -> None:
        """For callbacks: training ends after this step, with a checkpoint; one rank's wish is enough.

        >>> import tempfile, torch, ronde.train
        >>> samples = torch.utils.data.TensorDataset(torch.ones(8, 2), torch.ones(8, 1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     settings = {"train.batch": 4, "output.dir": folder}
        ...     trainer = ronde.train.Trainer(
        ...         torch.nn.Linear(2, 1), samples, torch.nn.functional.mse_loss, settings=settings, quiet=True)
        ...     trainer.stop()
        ...     trainer.fit().stopped
        'stopped'
        """
        self._stopping = True

    def fit(self, *, exit: bool = True) -> Result:
        """Trains to the end, or goes on from the newest checkpoint in output.dir. Ctrl-C, a signal or a deadline end it
        with a checkpoint, and the program with exit code 130 or 75; exit=False returns instead.

        >>> import tempfile, torch, ronde.train
        >>> samples = torch.utils.data.TensorDataset(torch.ones(8, 2), torch.ones(8, 1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     settings = {"train.batch": 4, "output.dir": folder}
        ...     trainer = ronde.train.Trainer(
        ...         torch.nn.Linear(2, 1), samples, torch.nn.functional.mse_loss, settings=settings, quiet=True)
        ...     trainer.fit().steps
        2
        """
        resume = self.settings["checkpoint.resume"]
        progress = self.checkpointer.resume(resume, accept_differences=self.settings["checkpoint.accept_differences"])
        if progress is None:
            broadcast_parameters(self.network.state_dict(), root_rank=0)
            broadcast_optimizer_state(self.optimizer, root_rank=0)
        else:
            self.step = progress.step
            self._best = _number(progress.extra.get("best"))
            self._since_best = progress.extra.get("since_best", 0)
            self._evaluated_at = progress.extra.get("evaluated_at", 0)
            self._say(f"training continues after step {self.step}")
        logs = _core.train.Logs(self.folder, self.step or None) if self.rank == 0 else None
        with Deadline(settings=_texts_of(self.settings, "train.deadline", "launch.deadline")) as deadline:
            stopped, values, code = Run(self, deadline, logs).go()
        self.checkpointer.finish()
        result = Result(self.step, stopped, values, self._steps.noise.value, self.folder, code)
        if exit and result.exit_code:
            self._say(f"{result.stopped}: a checkpoint was written; start the program again to go on")
            sys.exit(result.exit_code)
        return result

    def evaluate(self, data: Any = None) -> dict[str, float]:
        """The mean loss and the measures over held-out data, on all ranks together; with the averaged weights if there
        are any.

        >>> import tempfile, torch, ronde.train
        >>> samples = torch.utils.data.TensorDataset(torch.ones(8, 2), torch.ones(8, 1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     settings = {"train.batch": 4, "output.dir": folder}
        ...     trainer = ronde.train.Trainer(
        ...         torch.nn.Linear(2, 1), samples, torch.nn.functional.mse_loss, settings=settings, quiet=True)
        ...     sorted(trainer.evaluate(samples))
        ['loss']
        """
        data = self._held_out if data is None else data
        if data is None:
            raise ValueError("nothing to evaluate with: give held_out=")
        self._steps.meet()
        if self.size > 1 and (buffers := dict(self.network.named_buffers())):
            broadcast_parameters(buffers, root_rank=0)  # running means are each rank's own
        if self.ema:
            with self.ema.applied():
                return self._evaluate(data)
        return self._evaluate(data)

    @torch.no_grad()
    def _evaluate(self, data: Any) -> dict[str, float]:
        names = ["loss", *self._measures]
        sums = torch.zeros(len(names) + 1, dtype=torch.float64)
        self.network.eval()
        for batch in feed.held_out_batches(data, batch=self._batch, rank=self.rank, size=self.size):
            inputs, targets = feed.to_device(self._unpack(batch), self.device)
            count = feed.samples_in(inputs)
            if count == 0:
                continue
            outputs = self.network(inputs)
            found = [self._loss(outputs, targets), *(one(outputs, targets) for one in self._measures.values())]
            sums += torch.tensor([count, *(count * float(value) for value in found)], dtype=torch.float64)
        self.network.train()
        sums = allreduce(sums, name="evaluation", op=Sum)
        if sums[0] == 0:
            raise ValueError("the held-out data has no samples")
        return dict(zip(names, (sums[1:] / sums[0]).tolist(), strict=True))

    def find_lr(self, lowest: float = 1e-6, highest: float = 10.0, steps: int = 100) -> FoundRate:
        """Trains some steps with growing learning rates, puts weights and optimizer back, and says at which rate the
        loss fell fastest. TensorBoard has the curve ("loss/find_lr"). On all ranks, before fit().

        >>> import tempfile, torch, ronde.train
        >>> x = torch.linspace(-1, 1, 64).reshape(-1, 1)
        >>> samples = torch.utils.data.TensorDataset(x, 3 * x)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     settings = {"train.batch": 16, "output.dir": folder}
        ...     trainer = ronde.train.Trainer(
        ...         torch.nn.Linear(1, 1), samples, torch.nn.functional.mse_loss, settings=settings, quiet=True)
        ...     0.001 < trainer.find_lr().rate < 10
        True
        """
        broadcast_parameters(self.network.state_dict(), root_rank=0)
        before = copy.deepcopy([self.network.state_dict(), self.optimizer.state_dict()])
        logs = _core.train.Logs(self.folder, self.step or None) if self.rank == 0 else None
        found = FoundRate(None, rate_finder.rates_between(lowest, highest, steps))
        batches = self._feed.begin(0)
        self._steps.measures_noise = False
        for number, rate in enumerate(found.rates):
            inputs, targets = feed.to_device(self._unpack(next(batches)), self.device)
            schedules.set_rate(self.optimizer, rate)
            loss, count = self._steps(number, inputs, targets, self._feed.batch)
            sums = allreduce(torch.tensor([loss.item() * count, count], dtype=torch.float64), name="find_lr", op=Sum)
            found.losses.append((sums[0] / sums[1]).item())
            if logs:
                logs.write(number, "find_lr", {"lr": rate, "loss": found.losses[-1]})
            if not math.isfinite(found.losses[-1]):
                break
        self._steps.measures_noise = True
        if hasattr(batches, "close"):
            batches.close()
        self.network.load_state_dict(before[0])
        self.optimizer.load_state_dict(before[1])
        found.rate = rate_finder.best_rate(found.rates, found.losses)
        self._say(found.sentence)
        return found

    def predict(self, inputs: Any) -> Any:
        """The network's outputs, without gradients; with the averaged weights if there are any.

        >>> import tempfile, torch, ronde.train
        >>> samples = torch.utils.data.TensorDataset(torch.ones(8, 2), torch.ones(8, 1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     settings = {"train.batch": 4, "output.dir": folder}
        ...     trainer = ronde.train.Trainer(
        ...         torch.nn.Linear(2, 1), samples, torch.nn.functional.mse_loss, settings=settings, quiet=True)
        ...     trainer.predict(torch.ones(3, 2)).shape
        torch.Size([3, 1])
        """
        self.network.eval()
        try:
            with torch.no_grad(), self.ema.applied() if self.ema else torch.no_grad():
                return self.network(feed.to_device(inputs, self.device))
        finally:
            self.network.train()

    def _tell(self, event: str, *arguments: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, event)(self, *arguments)

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(text, flush=True)


# What stands behind a training here, besides settings of data, models, ranks, traces and the like.
_READ = {
    *(
        f"schedule.{key}"
        for key in ("name", "warmup", "start", "length", "end", "power", "milestones", "factor", "peak")
    ),
    *(f"optimizer.{key}" for key in ("name", "lr", "lr_scaling", "lr_batch", "weight_decay", "momentum", "nesterov")),
    *(f"optimizer.{key}" for key in ("beta2", "trust")),
    *(f"checkpoint.{key}" for key in ("every", "keep", "resume", "background", "accept_differences")),
    *(
        f"train.{key}"
        for key in ("batch", "epochs", "steps", "seed", "device", "precision", "accumulate", "compression")
    ),
    *(f"train.{key}" for key in ("reduce", "clip_norm", "clip_value", "sync_every", "noise_scale", "target_accuracy")),
    *(f"train.{key}" for key in ("patience", "deadline", "ema", "evaluate_every")),
}


def _refuse_unread(given: Mapping[str, str]) -> None:
    for key in given:
        if key.partition(".")[0] in ("train", "optimizer", "schedule", "checkpoint") and key not in _READ:
            near = difflib.get_close_matches(key, _READ, 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"{key} has no effect on a Trainer in Python: remove it from settings{meant}")


def _texts_of(settings: Any, *keys: str) -> dict[str, str]:
    texts = settings.texts()
    return {key: texts[key] for key in keys}


def _every(settings: Any) -> str:
    text = settings.texts()["checkpoint.every"]
    return "10min" if text == "auto" else text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda":
        return torch.device("cuda", _core.local_rank() % torch.cuda.device_count())
    return torch.device(wanted)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
