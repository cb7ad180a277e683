"""Reductions over ranks, of one tensor or of many that travel together."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ronde import _core
from ronde._core import allreduce_async_, synchronize
from ronde.common.process_sets import ProcessSet, global_process_set
from ronde.common.util import get_average_backwards_compatibility_fun
from ronde.torch.compression import Compression, Compressor

Average, Sum, Adasum, Min, Max, Product = range(6)


class _Ops:
    Average, Sum = Average, Sum


handle_average_backwards_compatibility = get_average_backwards_compatibility_fun(_Ops)


def _number(process_set: ProcessSet | None) -> int:
    if process_set is None:
        return 0
    if process_set.process_set_id is None:
        raise ValueError(f"the process set was not added, or has been removed: {process_set}")
    return process_set.process_set_id


def _room_for(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format, requires_grad=False)


def allreduce_async(
    tensor: torch.Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Starts to reduce a tensor over all ranks into a new one. Returns a handle for poll() and synchronize().

    >>> handle = hvd.allreduce_async(torch.ones(3), name="ones", op=hvd.Sum)
    >>> hvd.synchronize(handle)
    tensor([1., 1., 1.])
    """
    op = handle_average_backwards_compatibility(op, average)
    output = _room_for(tensor)
    return _core.allreduce([tensor], [output], name, op, prescale_factor, postscale_factor, _number(process_set), False)


class HorovodAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, op, prescale, postscale, process_set):
        ctx.options = {"op": op, "prescale_factor": prescale, "postscale_factor": postscale, "process_set": process_set}
        return synchronize(allreduce_async(tensor, None, name, op, prescale, postscale, process_set))

    @staticmethod
    def backward(ctx, gradient):
        return allreduce(gradient.contiguous(), **ctx.options), None, None, None, None, None


def allreduce(
    tensor: torch.Tensor,
    average: bool | None = None,
    name: str | None = None,
    compression: type[Compressor] = Compression.none,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Reduces a tensor over all ranks: their mean, or what `op` says. Gradients flow through it.

    >>> hvd.allreduce(torch.tensor([0.5, 2.0]), name="losses")
    tensor([0.5000, 2.0000])
    """
    op = handle_average_backwards_compatibility(op, average)
    narrow, context = compression.compress(tensor)
    reduced = HorovodAllreduce.apply(narrow, name, op, prescale_factor, postscale_factor, process_set)
    return compression.decompress(reduced, context)


def allreduce_(
    tensor: torch.Tensor,
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Reduces a tensor over all ranks, in place.

    >>> counts = torch.tensor([3, 1])
    >>> hvd.allreduce_(counts, op=hvd.Sum) is counts
    True
    """
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set))


def grouped_allreduce_async(
    tensors: Sequence[torch.Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """As allreduce_async(), for tensors that travel together: all or none. One handle for all of them.

    >>> handle = hvd.grouped_allreduce_async([torch.ones(2), torch.zeros(1)], op=hvd.Sum)
    >>> hvd.synchronize(handle)
    (tensor([1., 1.]), tensor([0.]))
    """
    op = handle_average_backwards_compatibility(op, average)
    outputs = [_room_for(tensor) for tensor in tensors]
    return _core.allreduce(
        list(tensors), outputs, name, op, prescale_factor, postscale_factor, _number(process_set), True
    )


def grouped_allreduce_async_(
    tensors: Sequence[torch.Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """As allreduce_async_(), for tensors that travel together.

    >>> weight, bias = torch.ones(2), torch.zeros(1)
    >>> reduced = hvd.synchronize(hvd.grouped_allreduce_async_([weight, bias], name="layer"))
    >>> reduced[0] is weight
    True
    """
    op = handle_average_backwards_compatibility(op, average)
    tensors = list(tensors)
    return _core.allreduce(tensors, tensors, name, op, prescale_factor, postscale_factor, _number(process_set), True)


class HorovodGroupedAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, prescale, postscale, process_set, *tensors):
        ctx.options = {"op": op, "prescale_factor": prescale, "postscale_factor": postscale, "process_set": process_set}
        return synchronize(grouped_allreduce_async(tensors, None, name, op, prescale, postscale, process_set))

    @staticmethod
    def backward(ctx, *gradients):
        reduced = grouped_allreduce([gradient.contiguous() for gradient in gradients], **ctx.options)
        return None, None, None, None, None, *reduced


def grouped_allreduce(
    tensors: Sequence[torch.Tensor],
    average: bool | None = None,
    name: str | None = None,
    compression: type[Compressor] = Compression.none,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[torch.Tensor]:
    """As allreduce(), for a list of tensors that travel together. Returns a list.

    >>> hvd.grouped_allreduce([torch.tensor(0.5), torch.tensor(0.75)], name="metrics")
    [tensor(0.5000), tensor(0.7500)]
    """
    op = handle_average_backwards_compatibility(op, average)
    narrow, contexts = zip(*[compression.compress(tensor) for tensor in tensors], strict=True)
    reduced = HorovodGroupedAllreduce.apply(name, op, prescale_factor, postscale_factor, process_set, *narrow)
    return [compression.decompress(one, context) for one, context in zip(reduced, contexts, strict=True)]


def grouped_allreduce_(
    tensors: Sequence[torch.Tensor],
    average: bool | None = None,
    name: str | None = None,
    op: int | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> list[torch.Tensor]:
    """As allreduce_(), for a list of tensors that travel together.

    >>> right, seen = torch.tensor(7), torch.tensor(10)
    >>> totals = hvd.grouped_allreduce_([right, seen], op=hvd.Sum)
    >>> int(right), int(seen)
    (7, 10)
    """
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set)
    )
