"""Reductions whose result is shared out among the ranks, each of which gets its part of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ronde import _core
from ronde._core import synchronize
from ronde.common.process_sets import ProcessSet, global_process_set
from ronde.torch.compression import Compression, Compressor
from ronde.torch.exchange import grouped_allgather
from ronde.torch.reduction import Average, Sum, _number


def _check_reducescatter(op: int, tensors: Sequence[torch.Tensor]) -> None:
    if op not in (Average, Sum):
        raise ValueError("reducescatter supports only op=hvd.Sum and op=hvd.Average")
    for place, tensor in enumerate(tensors):
        if tensor.dim() == 0:
            which = f"tensor {place} of {len(tensors)} is" if len(tensors) > 1 else "the tensor is"
            raise ValueError(f"reducescatter divides rows among the ranks, but {which} a scalar and has no rows")


def reducescatter_async(
    tensor: torch.Tensor,
    name: str | None = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> int:
    """Starts to reduce a tensor over all ranks, each of which gets its share of the rows.

    >>> hvd.synchronize(hvd.reducescatter_async(torch.ones(2), op=hvd.Sum))
    tensor([1., 1.])
    """
    _check_reducescatter(op, [tensor])
    return _core.reducescatter([tensor], name, op, prescale_factor, postscale_factor, _number(process_set), False)


def grouped_reducescatter_async(
    tensors: Sequence[torch.Tensor],
    name: str | None = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> int:
    """As reducescatter_async(), for tensors that travel together.

    >>> hvd.synchronize(hvd.grouped_reducescatter_async([torch.ones(2), torch.zeros(1)]))
    (tensor([1., 1.]), tensor([0.]))
    """
    tensors = list(tensors)
    _check_reducescatter(op, tensors)
    return _core.reducescatter(tensors, name, op, prescale_factor, postscale_factor, _number(process_set), True)


class HorovodReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, process_set, prescale, postscale, many, *tensors):
        ctx.scale = prescale * postscale * (process_set.size() if op == Sum else 1)
        ctx.process_set = process_set
        _check_reducescatter(op, tensors)
        return synchronize(
            _core.reducescatter(list(tensors), name, op, prescale, postscale, _number(process_set), many)
        )

    @staticmethod
    def backward(ctx, *gradients):
        scaled = [(gradient * ctx.scale).contiguous() for gradient in gradients]
        return None, None, None, None, None, None, *grouped_allgather(scaled, process_set=ctx.process_set)


def reducescatter(
    tensor: torch.Tensor,
    name: str | None = None,
    compression: type[Compressor] = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> torch.Tensor:
    """Reduces a tensor over all ranks, each of which gets its share of the rows. Gradients flow through it.

    With two ranks, each gets two of the four rows; with one:

    >>> hvd.reducescatter(torch.ones(4, 2), op=hvd.Sum).shape
    torch.Size([4, 2])
    """
    narrow, context = compression.compress(tensor)
    reduced = HorovodReducescatter.apply(name, op, process_set, prescale_factor, postscale_factor, False, narrow)
    return compression.decompress(reduced, context)


def grouped_reducescatter(
    tensors: Sequence[torch.Tensor],
    name: str | None = None,
    compression: type[Compressor] = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[torch.Tensor]:
    """As reducescatter(), for a list of tensors that travel together. Returns a list.

    >>> hvd.grouped_reducescatter([torch.ones(2), torch.zeros(1)], op=hvd.Sum)
    [tensor([1., 1.]), tensor([0.])]
    """
    narrow, contexts = zip(*[compression.compress(tensor) for tensor in tensors], strict=True)
    reduced = HorovodReducescatter.apply(name, op, process_set, prescale_factor, postscale_factor, True, *narrow)
    return [compression.decompress(one, context) for one, context in zip(reduced, contexts, strict=True)]
