"""What one step of a training does: forward and backward passes, gradients of all ranks, the optimizer's step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch

from ronde.torch.compression import Compression
from ronde.torch.mpi_ops import Adasum, Average, Sum, grouped_allreduce_
from ronde.torch.optimizer import DistributedOptimizer
from ronde.train.feed import samples_in
from ronde.train.noise_scale import NoiseScale
from ronde.train.optimizers import LAMB, LARS

_PRECISIONS = {"bf16": torch.bfloat16, "f16": torch.float16}
_COMPRESSIONS = {"none": Compression.none, "f16": Compression.fp16, "fp16": Compression.fp16, "bf16": Compression.bf16}


def make_optimizer(settings: Any, network: torch.nn.Module) -> torch.optim.Optimizer:
    """What optimizer.* asks for."""
    name, lr = settings["optimizer.name"], settings["optimizer.lr"]
    decay, momentum = settings["optimizer.weight_decay"], settings["optimizer.momentum"]
    nesterov, betas = settings["optimizer.nesterov"], (momentum, settings["optimizer.beta2"])
    parameters = [one for one in network.parameters() if one.requires_grad]
    makers: dict[str, Callable[[], torch.optim.Optimizer]] = {
        "sgd": lambda: torch.optim.SGD(parameters, lr, momentum, weight_decay=decay, nesterov=nesterov),
        "adam": lambda: torch.optim.Adam(parameters, lr, betas, weight_decay=decay),
        "adamw": lambda: torch.optim.AdamW(parameters, lr, betas, weight_decay=decay),
        "adagrad": lambda: torch.optim.Adagrad(parameters, lr, weight_decay=decay),
        "rmsprop": lambda: torch.optim.RMSprop(parameters, lr, weight_decay=decay, momentum=momentum),
        "lars": lambda: LARS(parameters, lr, momentum, decay, settings["optimizer.trust"], nesterov),
        "lamb": lambda: LAMB(parameters, lr, betas, weight_decay=decay),
    }
    if name not in makers:
        raise ValueError(f"optimizer.name is '{name}': there is no such optimizer; there are {', '.join(makers)}")
    return makers[name]()


class Steps:
    """One of these makes all steps of a training."""

    def __init__(
        self,
        network: torch.nn.Module,
        loss: Callable[[Any, Any], torch.Tensor],
        optimizer: torch.optim.Optimizer,
        settings: Any,
        device: torch.device,
        size: int,
        rank: int,
    ) -> None:
        self._network, self._loss, self._device, self._size, self._rank = network, loss, device, size, rank
        self._passes, self._seed = settings["train.accumulate"], settings["train.seed"]
        self._clip_norm, self._clip_value = settings["train.clip_norm"], settings["train.clip_value"]
        self._sync_every = settings["train.sync_every"]
        self._noise_every = settings["train.noise_scale"] if size > 1 or self._passes > 1 else 0
        self.measures_noise = True
        self.noise = NoiseScale(network.parameters())
        self._type = _PRECISIONS.get(settings["train.precision"])
        f16_on_gpu = self._type == torch.float16 and device.type == "cuda"
        if self._type == torch.float16 and not f16_on_gpu:
            raise ValueError("train.precision is f16, which trains on GPUs alone here: choose bf16 or f32")
        self._apart = False  # ranks have stepped alone
        self._scaler = torch.amp.GradScaler("cuda") if f16_on_gpu else None
        self.optimizer = optimizer
        if size > 1 and self._sync_every <= 1:
            self.optimizer = DistributedOptimizer(
                optimizer,
                named_parameters=[one for one in network.named_parameters() if one[1].requires_grad],
                compression=_COMPRESSIONS[settings["train.compression"]],
                backward_passes_per_step=self._passes,
                op={"average": Average, "sum": Sum, "adasum": Adasum}[settings["train.reduce"]],
            )

    def __call__(self, number: int, inputs: Any, targets: Any, whole: int | None) -> tuple[torch.Tensor, int]:
        """Step `number`, counted from 0, of this rank's share of `whole` samples (None: shares are equal). Returns the
        mean loss of the share, on the device, and how many samples it has."""
        torch.manual_seed(
            hash((self._seed, number, self._rank)) % 2**63
        )  # whatever is random depends on nothing before
        count = samples_in(inputs)
        weight = count * self._size / whole if whole else 1.0
        measured = self.measures_noise and self._noise_every > 0 and number % self._noise_every == 0
        self.optimizer.zero_grad()
        total = torch.zeros((), dtype=torch.float64, device=self._device)
        for some_inputs, some_targets, some in _parts(inputs, targets, count, self._passes):
            share = weight * some / count if count else 0.0
            total += self._pass(some_inputs, some_targets, share, some if measured else 0) * (some / max(count, 1))
        self._finish(measured, int(whole or count * self._size))
        self._apart = self._sync_every > 1 and self._size > 1
        if self._apart and (number + 1) % self._sync_every == 0:
            self.meet()
        return total, count

    def _pass(self, inputs: Any, targets: Any, share: float, measured: int) -> torch.Tensor:
        cast = torch.autocast(self._device.type, self._type) if self._type else nullcontext()
        with cast:
            outputs = self._network(inputs)
            loss = self._loss(outputs, targets)
        scale = self._scaler.get_scale() if self._scaler and measured else 1.0
        watched = self.noise.measured(measured, share * scale) if measured else nullcontext()
        scaled = loss * share if samples_in(inputs) else outputs.sum() * 0  # a share may be empty; gradients travel
        with watched:
            (self._scaler.scale(scaled) if self._scaler else scaled).backward()
        return loss.detach().double() if samples_in(inputs) else torch.zeros_like(loss, dtype=torch.float64)

    def _finish(self, measured: bool, whole: int) -> None:
        optimizer = self.optimizer
        has_exchange = hasattr(optimizer, "synchronize")
        if has_exchange:
            optimizer.synchronize()
        if self._scaler:
            self._scaler.unscale_(optimizer)
        if measured and self._sync_every <= 1:
            self.noise.add(whole)
        if self._clip_value > 0:
            torch.nn.utils.clip_grad_value_(self._network.parameters(), self._clip_value)
        if self._clip_norm > 0:
            torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._clip_norm)
        with optimizer.skip_synchronize() if has_exchange else nullcontext():
            if self._scaler:
                self._scaler.step(optimizer)
                self._scaler.update()
            else:
                optimizer.step()

    @torch.no_grad()
    def meet(self) -> None:
        """Where ranks step alone (train.sync_every), makes their networks one again. All ranks call it."""
        if self._apart:
            grouped_allreduce_([one.data for one in self._network.parameters()], name="local_sgd", op=Average)
            self._apart = False

    def state_dict(self) -> dict[str, Any]:
        """Of f16's loss scale."""
        return self._scaler.state_dict() if self._scaler else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on with it."""
        if self._scaler and state:
            self._scaler.load_state_dict(state)


def _parts(inputs: Any, targets: Any, count: int, passes: int) -> Iterator[tuple[Any, Any, int]]:
    for i in range(passes):
        begin, end = count * i // passes, count * (i + 1) // passes
        yield _slice(inputs, begin, end), _slice(targets, begin, end), end - begin


def _slice(value: Any, begin: int, end: int) -> Any:
    if isinstance(value, torch.Tensor):
        return value[begin:end]
    if isinstance(value, (tuple, list)):
        return type(value)(_slice(one, begin, end) for one in value)
    if isinstance(value, dict):
        return {key: _slice(one, begin, end) for key, one in value.items()}
    return value
