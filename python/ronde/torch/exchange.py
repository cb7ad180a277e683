"""Rows on their way between ranks: from all to all, from one to all, from each to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ronde import _core
from ronde._core import synchronize
from ronde.common.process_sets import ProcessSet, global_process_set
from ronde.torch.reduction import Average, _number, _room_for, allreduce, grouped_allreduce

# --- allgather --------------------------------------------------------------------------------------------------------


def allgather_async(tensor: torch.Tensor, name: str | None = None, process_set: ProcessSet = global_process_set) -> int:
    """Starts to put the rows of all ranks' tensors one after the other; their number may differ by rank.

    >>> hvd.synchronize(hvd.allgather_async(torch.tensor([[1, 2]]), name="rows"))
    tensor([[1, 2]])
    """
    return _core.allgather([tensor], name, _number(process_set), False)


def grouped_allgather_async(
    tensors: Sequence[torch.Tensor], name: str | None = None, process_set: ProcessSet = global_process_set
) -> int:
    """As allgather_async(), for tensors that travel together.

    >>> hvd.synchronize(hvd.grouped_allgather_async([torch.tensor([1]), torch.tensor([2, 3])]))
    (tensor([1]), tensor([2, 3]))
    """
    return _core.allgather(list(tensors), name, _number(process_set), True)


# The gradient of this rank's rows: the mean over ranks, as Horovod has it. Rows may differ by rank, so a
# reduce-scatter, which cuts into equal parts, does not serve.
def _own_rows(gradients: Sequence[torch.Tensor], rows: list[int], process_set: ProcessSet) -> list[torch.Tensor]:
    reduced = grouped_allreduce([one.contiguous() for one in gradients], op=Average, process_set=process_set)
    counts = allgather(torch.tensor([rows], dtype=torch.int64), process_set=process_set)
    before = counts[: process_set.rank()].sum(0).tolist()
    return [one.narrow(0, begin, count) for one, begin, count in zip(reduced, before, rows, strict=True)]


def _rows(tensor: torch.Tensor) -> int:
    return tensor.shape[0] if tensor.dim() else 1


class HorovodAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, process_set, many, *tensors):
        ctx.shapes = [tensor.shape for tensor in tensors]
        ctx.rows = [_rows(tensor) for tensor in tensors]
        ctx.process_set = process_set
        return synchronize(_core.allgather(list(tensors), name, _number(process_set), many))

    @staticmethod
    def backward(ctx, *gradients):
        mine = _own_rows(gradients, ctx.rows, ctx.process_set)
        return None, None, None, *[one.reshape(shape) for one, shape in zip(mine, ctx.shapes, strict=True)]


def allgather(
    tensor: torch.Tensor, name: str | None = None, process_set: ProcessSet = global_process_set
) -> torch.Tensor:
    """Puts the rows of all ranks' tensors one after the other. Gradients flow through it.

    With four ranks, this gives tensor([0, 1, 2, 3]); with one:

    >>> hvd.allgather(torch.tensor([hvd.rank()]))
    tensor([0])
    """
    return HorovodAllgather.apply(name, process_set, False, tensor)


def grouped_allgather(
    tensors: Sequence[torch.Tensor], name: str | None = None, process_set: ProcessSet = global_process_set
) -> tuple[torch.Tensor, ...]:
    """As allgather(), for tensors that travel together. Returns a tuple.

    >>> hvd.grouped_allgather([torch.tensor([1]), torch.tensor([2, 3])])
    (tensor([1]), tensor([2, 3]))
    """
    return HorovodAllgather.apply(name, process_set, True, *tensors)


def sparse_allreduce_async(
    tensor: torch.Tensor, name: str, op: int, process_set: ProcessSet = global_process_set
) -> Callable[[], torch.Tensor]:
    """Starts to reduce a sparse tensor, by gathering its rows. Its handle is a function, which waits and returns the
    sum, or the mean.

    >>> gradient = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,))
    >>> hvd.sparse_allreduce_async(gradient, "embedding", hvd.Average)().to_dense()
    tensor([1., 0., 2.])
    """
    indices_handle = allgather_async(tensor._indices().t().contiguous(), f"{name}.indices", process_set)
    values_handle = allgather_async(tensor._values().contiguous(), f"{name}.values", process_set)

    def finish() -> torch.Tensor:
        values, indices = synchronize(values_handle), synchronize(indices_handle)
        if op == Average:
            values = values / process_set.size()
        return torch.sparse_coo_tensor(indices.t(), values, tensor.size())

    return finish


# --- broadcast --------------------------------------------------------------------------------------------------------


def broadcast_async(
    tensor: torch.Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> int:
    """Starts to send the root's tensor to all, who get it in a new one. root_rank: a rank of the job.

    >>> hvd.synchronize(hvd.broadcast_async(torch.tensor([7]), root_rank=0))
    tensor([7])
    """
    output = _room_for(tensor)
    return _core.broadcast(tensor, output, root_rank, name, _number(process_set))


def broadcast_async_(
    tensor: torch.Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> int:
    """Starts to send the root's tensor to all, in place.

    >>> seed = torch.tensor([7])
    >>> hvd.synchronize(hvd.broadcast_async_(seed, root_rank=0)) is seed
    True
    """
    return _core.broadcast(tensor, tensor, root_rank, name, _number(process_set))


class HorovodBroadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank, ctx.process_set = root_rank, process_set
        return synchronize(broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx, gradient):
        reduced = allreduce(gradient.contiguous(), op=Average, process_set=ctx.process_set)
        return reduced if _core.rank() == ctx.root_rank else reduced * 0, None, None, None


def broadcast(
    tensor: torch.Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> torch.Tensor:
    """Everyone gets the root's tensor. Gradients flow through it.

    >>> hvd.broadcast(torch.tensor([hvd.rank()]), root_rank=0)
    tensor([0])
    """
    return HorovodBroadcast.apply(tensor, root_rank, name, process_set)


def broadcast_(
    tensor: torch.Tensor, root_rank: int, name: str | None = None, process_set: ProcessSet = global_process_set
) -> torch.Tensor:
    """Everyone gets the root's tensor, in place.

    >>> weight = model.weight.detach()
    >>> hvd.broadcast_(weight, root_rank=0) is weight
    True
    """
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


# --- alltoall ---------------------------------------------------------------------------------------------------------


def alltoall_async(
    tensor: torch.Tensor,
    splits: Sequence[int] | torch.Tensor | None = None,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Starts to send rows to every rank: equal shares, or as many as `splits` says for each.

    synchronize() returns what came, and how many rows came from each rank.

    >>> rows, counts = hvd.synchronize(hvd.alltoall_async(torch.tensor([1, 2, 3])))
    >>> rows, counts.tolist()
    (tensor([1, 2, 3]), [3])
    """
    dtype = torch.int32
    if isinstance(splits, torch.Tensor):
        if splits.is_floating_point() or splits.dim() != 1:
            raise ValueError(
                f"splits must be whole numbers, one per rank, got a {splits.dtype} of shape {list(splits.shape)}"
            )
        dtype = splits.dtype
    rows = [] if splits is None else [int(count) for count in splits]
    if rows and min(rows) >= 0 and tensor.dim() > 0:
        tensor = tensor[: sum(rows)]  # more may be there, for which nobody has asked
    return _core.alltoall(tensor, rows, dtype, name, _number(process_set))


class HorovodAlltoall(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        output, received = synchronize(alltoall_async(tensor, splits, name, process_set))
        ctx.received, ctx.process_set, ctx.shape = received, process_set, tensor.shape
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx, gradient, _):
        sent = alltoall(gradient.contiguous(), ctx.received, process_set=ctx.process_set)[0]
        stayed = ctx.shape[0] - sent.shape[0]  # rows that no split has named
        if stayed > 0:
            sent = torch.cat([sent, sent.new_zeros(stayed, *ctx.shape[1:])])
        return sent, None, None, None


def alltoall(
    tensor: torch.Tensor,
    splits: Sequence[int] | torch.Tensor | None = None,
    name: str | None = None,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Sends rows to every rank, and gets rows from every rank. Gradients flow through it.

    Without splits every rank gets an equal share; with them, how many rows came from each rank is returned too.

    >>> hvd.alltoall(torch.tensor([1, 2, 3]))
    tensor([1, 2, 3])
    >>> rows, counts = hvd.alltoall(torch.tensor([1, 2, 3]), splits=[3])
    >>> counts.tolist()
    [3]
    """
    output, received = HorovodAlltoall.apply(tensor, splits, name, process_set)
    return output if splits is None else (output, received)
