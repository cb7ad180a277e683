"""What travels when a training begins: parameters, the state of optimizers, and any Python object."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import cloudpickle
import torch

from ronde.torch.mpi_ops import (
    ProcessSet,
    allgather,
    broadcast_,
    broadcast_async_,
    global_process_set,
    rank,
    synchronize,
)
from ronde.torch.optimizer_state import apply_state, describe_state

__all__ = ["allgather_object", "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters"]


def broadcast_parameters(params: Any, root_rank: int) -> None:
    """Gives every rank the values that ``root_rank`` has, in place.

    ``params`` is a dict such as ``model.state_dict()``, or anything that gives tensors or pairs of a name and a tensor:
    ``model.named_parameters()``, ``model.parameters()``, a list. All ranks must give the same ones.

    >>> hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    """
    handles = []
    # A tensor whose values do not lie in order (channels last) travels as a copy that does.
    copies = []
    for name, tensor in _named(params):
        travels = tensor.detach()
        if not travels.is_contiguous():
            travels = travels.contiguous()
            copies.append((tensor, travels))
        handles.append(broadcast_async_(travels, root_rank, name))
    for handle in handles:
        synchronize(handle)
    with torch.no_grad():
        for tensor, copy in copies:
            tensor.copy_(copy)


def _named(params: Any) -> list[tuple[str | None, torch.Tensor]]:
    if isinstance(params, Mapping):
        pairs = sorted(params.items())
    elif isinstance(params, Iterable) and not isinstance(params, (str, bytes, torch.Tensor)):
        pairs = [each if isinstance(each, tuple) else (None, each) for each in params]
    else:
        raise ValueError(f"invalid params of type: {type(params)}: give a dict or a list of tensors")
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[1], torch.Tensor):
            raise ValueError(f"invalid params: {pair[0]!r} comes with {type(pair[-1])}, not with one tensor")
    return pairs


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, root_rank: int, model: torch.nn.Module | None = None
) -> None:
    """Gives every rank's optimizer the options and the state that ``root_rank``'s has.

    Ranks may differ in what they have: typically one has read a checkpoint and the others are fresh. Neither weights
    nor gradients change; an optimizer that has made no step has no state, and none is made up. ``model`` is not
    needed; it is there for programs that give it.

    >>> hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("cannot broadcast torch.optim.LBFGS state: its history differs in shape between steps")
    _same_parameters(optimizer)
    here = rank() == root_rank
    plain, tensors = describe_state(optimizer) if here else (None, [])
    plain = broadcast_object(plain, root_rank, "optimizer_state")
    if not here:
        tensors = apply_state(optimizer, plain)
    broadcast_parameters([(f"optimizer_state.{i}", tensor) for i, tensor in enumerate(tensors)], root_rank)


def _same_parameters(optimizer: torch.optim.Optimizer) -> None:
    counts = allgather_object([len(group["params"]) for group in optimizer.param_groups], "optimizer_state.groups")
    others = [r for r, count in enumerate(counts) if count != counts[0]]
    if others:
        raise ValueError(
            f"broadcast_optimizer_state: the optimizer of rank 0 has groups of {counts[0]} parameters, "
            f"but that of rank {others[0]} has {counts[others[0]]}: all ranks must pass the same parameters"
        )


def _to_bytes(obj: Any) -> torch.Tensor:
    stream = io.BytesIO()
    cloudpickle.dump(obj, stream)
    return torch.frombuffer(stream.getbuffer(), dtype=torch.uint8)


def broadcast_object(
    obj: Any, root_rank: int = 0, name: str | None = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Returns ``root_rank``'s ``obj`` on every rank; what other ranks give does not matter.

    Anything that cloudpickle takes may travel, functions and classes too. ``root_rank`` is a rank of the job, also
    with a process set.

    >>> hvd.broadcast_object({"epoch": 3} if hvd.rank() == 0 else None)
    {'epoch': 3}
    """
    name = name or "broadcast_object"  # not the type of the object, as Horovod has it: others may give None
    here = rank() == root_rank
    content = _to_bytes(obj) if here else None
    size = torch.tensor([content.numel() if here else 0], dtype=torch.int64)
    broadcast_(size, root_rank, f"{name}.sz", process_set)
    if not here:
        content = torch.empty(int(size), dtype=torch.uint8)
    broadcast_(content, root_rank, f"{name}.t", process_set)
    return obj if here else cloudpickle.loads(content.numpy().data)


def allgather_object(obj: Any, name: str | None = None, process_set: ProcessSet = global_process_set) -> list[Any]:
    """Returns the objects of all ranks, in the order of ranks.

    >>> hvd.allgather_object({"rank": hvd.rank(), "loss": 0.5})
    [{'rank': 0, 'loss': 0.5}]
    """
    name = name or "allgather_object"
    content = _to_bytes(obj)
    sizes = allgather(torch.tensor([content.numel()], dtype=torch.int64), name=f"{name}.sz", process_set=process_set)
    all_content = allgather(content, name=f"{name}.t", process_set=process_set)
    return [cloudpickle.loads(part.numpy().data) for part in all_content.split(sizes.tolist())]
