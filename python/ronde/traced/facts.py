"""What was trained, and where: the metadata "job", "layers" and "rank facts" (src/report/run/job_facts.h)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import sys
import time
from typing import TYPE_CHECKING, Any

import torch

from .. import _core
from .recording import rank_and_size

if TYPE_CHECKING:
    from .network import Passes

_SHORT = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.float64: "f64"}


class Facts:
    """Collected in the first forward pass for training, told with the first step of an optimizer."""

    def __init__(self) -> None:
        self._told = False
        self._network: Any = None  # let go as soon as it has been told about: a program may be done with it any time
        self._loader: Any = None
        self._batch = 0
        self._precision = "f32"

    def see(self, network: torch.nn.Module, inputs: Any, loader: Any) -> None:
        if self._told or self._network is not None:
            return
        parameter = next(network.parameters(), None)
        if parameter is None:
            return  # a loss
        self._network, self._loader = network, loader
        self._batch = _batch_of(loader, inputs)
        self._precision = _precision_of(parameter)

    def tell(self, optimizer: torch.optim.Optimizer, passes: Passes) -> None:
        if self._told:
            return
        self._told = True
        rank, size = rank_and_size()
        _core.trace.metadata("rank facts", json.dumps(_rank_facts()))
        if rank == 0:
            self._tell_job(optimizer, passes, size)
        self._network = self._loader = None

    def _tell_job(self, optimizer: torch.optim.Optimizer, passes: Passes, size: int) -> None:
        layers = passes.count.facts() if passes.count is not None else []
        if layers:
            _core.trace.metadata("layers", json.dumps(layers))
        _core.trace.metadata("job", json.dumps(self._job(optimizer, passes, size)))

    def _job(self, optimizer: torch.optim.Optimizer, passes: Passes, size: int) -> dict[str, Any]:
        network = self._network
        parameters = list(network.parameters()) if network is not None else []
        device = parameters[0].device if parameters else torch.device("cpu")
        job: dict[str, Any] = {
            "network": type(_unwrapped(network)).__name__ if network is not None else "",
            "precision": self._precision,
            "optimizer": type(optimizer).__name__,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
            "processor": _processor(),
            "batch": self._batch * size,
            "parameters": sum(parameter.numel() for parameter in parameters),
            "threads": torch.get_num_threads(),
            "cores": _cores(),
            "not_seen": self._not_seen(device, passes),
        }
        dataset = getattr(self._loader, "dataset", None)
        if dataset is not None:
            job["data"] = type(dataset).__name__
            with contextlib.suppress(TypeError):  # a stream has no length
                job["samples"] = len(dataset)
        job["settings"] = _settings(self._loader, network)
        return job

    def _not_seen(self, device: torch.device, passes: Passes) -> list[str]:
        told = []
        if self._loader is None:
            told.append("where the program takes its batches from (it uses no DataLoader), and waiting for them")
        elif self._loader.num_workers > 0:
            told.append("what the DataLoader's worker processes do: only the waiting for their batches")
        if passes.compiled:
            told.append("layers of what torch.compile has compiled")
        elif passes.count is None:
            told.append("operations of layers: the network's parameters are sharded, or it was scripted")
        if passes.distributed:
            told.append(
                "collectives of DistributedDataParallel that the backward pass hides: only the waiting at its end"
            )
        if device.type == "cuda" and not _core.running():
            told.append("what the GPU does: only what the program does to launch it")
        return told


def count_memory() -> None:
    """The memory that the process has, at most once a second."""
    now = time.monotonic()
    if now < count_memory.next:  # type: ignore[attr-defined]
        return
    count_memory.next = now + 1  # type: ignore[attr-defined]
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    _core.trace.counter("memory in use", int(pages) * os.sysconf("SC_PAGE_SIZE"))


count_memory.next = 0.0  # type: ignore[attr-defined]


def _unwrapped(network: Any) -> Any:
    """Without DistributedDataParallel, torch.compile and the like around it."""
    while True:
        inner = network._modules.get("module") or network._modules.get("_orig_mod")
        if inner is None or len(network._modules) != 1:
            return network
        network = inner


def _batch_of(loader: Any, inputs: Any) -> int:
    """Samples of one pass on this rank."""
    for sized in (loader, getattr(loader, "batch_sampler", None)):
        size = getattr(sized, "batch_size", None)
        if isinstance(size, int):
            return size
    first = next((value for value in inputs if isinstance(value, torch.Tensor) and value.dim() > 0), None)
    return first.shape[0] if first is not None else 0


def _precision_of(parameter: torch.Tensor) -> str:
    kind = parameter.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else parameter.dtype
    return _SHORT.get(dtype, str(dtype).removeprefix("torch."))


def _settings(loader: Any, network: Any) -> dict[str, str]:
    """What the advice is about, under the names that the program gives it."""
    settings = {"program": pathlib.Path(sys.argv[0] or "python").name}
    for name in ("num_workers", "pin_memory", "prefetch_factor", "persistent_workers", "batch_size"):
        if getattr(loader, name, None) is not None:
            settings[f"DataLoader.{name}"] = str(getattr(loader, name))
    if isinstance(network, torch.nn.parallel.DistributedDataParallel):
        settings["parallel"] = "DistributedDataParallel"
        settings["DistributedDataParallel.bucket_cap_mb"] = str(network.bucket_bytes_cap >> 20)
    elif _core.running():
        settings["parallel"] = "DistributedOptimizer"
    return settings


# --- the rank and its node
def _rank_facts() -> dict[str, Any]:
    mine = sorted(os.sched_getaffinity(0))
    online = _text("/sys/devices/system/cpu/online")
    bound = _ranges(mine)
    facts: dict[str, Any] = {"bound": "" if bound == online else bound}
    facts["local_rank"] = int(os.environ.get("LOCAL_RANK", "0") or 0)
    facts["memory_limit_bytes"] = _memory_limit() // max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1") or 1))
    if torch.cuda.is_initialized():
        facts["device_memory_bytes"] = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    return facts


def _text(file: str) -> str:
    try:
        return pathlib.Path(file).read_text().strip()
    except OSError:
        return ""


def _ranges(numbers: list[int]) -> str:
    """ "0-3,8"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _cores() -> int:
    quota, _, period = _text("/sys/fs/cgroup/cpu.max").partition(" ")
    all_of_them = os.cpu_count() or 0
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        return min(all_of_them, math.ceil(int(quota) / int(period)))
    return all_of_them


def _memory_limit() -> int:
    all_of_it = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _text("/sys/fs/cgroup/memory.max")
    return min(all_of_it, int(limit)) if limit.isdigit() else all_of_it


def _processor() -> str:
    for line in _text("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return ""
