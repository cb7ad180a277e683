"""What ranks do together with tensors. Those without `async` or `_` are functions for autograd."""

import torch

from ronde import _core
from ronde._core import allreduce_async_, synchronize
from ronde.common.process_sets import global_process_set
from ronde.common.util import get_average_backwards_compatibility_fun
from ronde.torch.compression import Compression

Average, Sum, Adasum, Min, Max, Product = range(6)


class _Ops:
    Average, Sum = Average, Sum


handle_average_backwards_compatibility = get_average_backwards_compatibility_fun(_Ops)


def _number(process_set):
    if process_set is None:
        return 0
    if process_set.process_set_id is None:
        raise ValueError(f"the process set was not added, or has been removed: {process_set}")
    return process_set.process_set_id


def _room_for(tensor):
    return torch.empty_like(tensor, memory_format=torch.contiguous_format, requires_grad=False)


# --- allreduce --------------------------------------------------------------------------------------------------------


def allreduce_async(
    tensor,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Starts to reduce a tensor over all ranks into a new one. Returns a handle for poll() and synchronize().

    >>> handle = hvd.allreduce_async(torch.ones(3), name="ones", op=hvd.Sum)
    >>> hvd.synchronize(handle)
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
    tensor,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Reduces a tensor over all ranks: their mean, or what `op` says. Gradients flow through it.

    >>> hvd.allreduce(loss.detach(), name="loss")
    """
    op = handle_average_backwards_compatibility(op, average)
    narrow, context = compression.compress(tensor)
    reduced = HorovodAllreduce.apply(narrow, name, op, prescale_factor, postscale_factor, process_set)
    return compression.decompress(reduced, context)


def allreduce_(
    tensor,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Reduces a tensor over all ranks, in place.

    >>> hvd.allreduce_(counts, op=hvd.Sum)
    """
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set))


def grouped_allreduce_async(
    tensors,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """As allreduce_async(), for tensors that travel together: all or none. One handle for all of them."""
    op = handle_average_backwards_compatibility(op, average)
    outputs = [_room_for(tensor) for tensor in tensors]
    return _core.allreduce(
        list(tensors), outputs, name, op, prescale_factor, postscale_factor, _number(process_set), True
    )


def grouped_allreduce_async_(
    tensors,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """As allreduce_async_(), for tensors that travel together."""
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
    tensors,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """As allreduce(), for a list of tensors that travel together. Returns a list.

    >>> loss, accuracy = hvd.grouped_allreduce([loss, accuracy], name="metrics")
    """
    op = handle_average_backwards_compatibility(op, average)
    narrow, contexts = zip(*[compression.compress(tensor) for tensor in tensors], strict=True)
    reduced = HorovodGroupedAllreduce.apply(name, op, prescale_factor, postscale_factor, process_set, *narrow)
    return [compression.decompress(one, context) for one, context in zip(reduced, contexts, strict=True)]


def grouped_allreduce_(
    tensors,
    average=None,
    name=None,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """As allreduce_(), for a list of tensors that travel together."""
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set)
    )


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Starts to reduce a sparse tensor. Its handle is a function, which waits and returns the sum, or the mean.

    >>> reduced = hvd.sparse_allreduce_async(embedding.weight.grad, "embedding", hvd.Average)()
    """
    indices_handle = allgather_async(tensor._indices().t().contiguous(), f"{name}.indices", process_set)
    values_handle = allgather_async(tensor._values().contiguous(), f"{name}.values", process_set)

    def finish():
        values, indices = synchronize(values_handle), synchronize(indices_handle)
        if op == Average:
            values = values / process_set.size()
        return torch.sparse_coo_tensor(indices.t(), values, tensor.size())

    return finish


# --- allgather --------------------------------------------------------------------------------------------------------


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Starts to put the rows of all ranks' tensors one after the other; their number may differ by rank."""
    return _core.allgather([tensor], name, _number(process_set), False)


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """As allgather_async(), for tensors that travel together."""
    return _core.allgather(list(tensors), name, _number(process_set), True)


# The gradient of this rank's rows: the mean over ranks, as Horovod has it. Rows may differ by rank, so a
# reduce-scatter, which cuts into equal parts, does not serve.
def _own_rows(gradients, rows, process_set):
    reduced = grouped_allreduce([one.contiguous() for one in gradients], op=Average, process_set=process_set)
    counts = allgather(torch.tensor([rows], dtype=torch.int64), process_set=process_set)
    before = counts[: process_set.rank()].sum(0).tolist()
    return [one.narrow(0, begin, count) for one, begin, count in zip(reduced, before, rows, strict=True)]


def _rows(tensor):
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


def allgather(tensor, name=None, process_set=global_process_set):
    """Puts the rows of all ranks' tensors one after the other. Gradients flow through it.

    >>> hvd.allgather(torch.tensor([hvd.rank()]))
    tensor([0, 1, 2, 3])
    """
    return HorovodAllgather.apply(name, process_set, False, tensor)


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """As allgather(), for tensors that travel together. Returns a tuple."""
    return HorovodAllgather.apply(name, process_set, True, *tensors)


# --- broadcast --------------------------------------------------------------------------------------------------------


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Starts to send the root's tensor to all, who get it in a new one. root_rank: a rank of the job."""
    output = _room_for(tensor)
    return _core.broadcast(tensor, output, root_rank, name, _number(process_set))


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """Starts to send the root's tensor to all, in place."""
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


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """Everyone gets the root's tensor. Gradients flow through it.

    >>> hvd.broadcast(torch.tensor([hvd.rank()]), root_rank=0)
    tensor([0])
    """
    return HorovodBroadcast.apply(tensor, root_rank, name, process_set)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """Everyone gets the root's tensor, in place.

    >>> hvd.broadcast_(model.weight.data, root_rank=0)
    """
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


# --- alltoall ---------------------------------------------------------------------------------------------------------


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Starts to send rows to every rank: equal shares, or as many as `splits` says for each.

    synchronize() returns what came, and how many rows came from each rank.
    """
    dtype = torch.int32
    if isinstance(splits, torch.Tensor):
        if splits.is_floating_point() or splits.dim() != 1:
            raise ValueError(
                f"splits are whole numbers, one a rank, not a {splits.dtype} of shape {list(splits.shape)}"
            )
        dtype = splits.dtype
        splits = splits.tolist()
    return _core.alltoall(tensor, [] if splits is None else list(splits), dtype, name, _number(process_set))


class HorovodAlltoall(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        output, received = synchronize(alltoall_async(tensor, splits, name, process_set))
        ctx.received, ctx.process_set = received, process_set
        ctx.mark_non_differentiable(received)
        return output, received

    @staticmethod
    def backward(ctx, gradient, _):
        return alltoall(gradient.contiguous(), ctx.received, process_set=ctx.process_set)[0], None, None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """Sends rows to every rank, and gets rows from every rank. Gradients flow through it.

    Without splits every rank gets an equal share; with them, how many rows came from each rank is returned too.

    >>> output, received = hvd.alltoall(rows, splits=[2, 1])
    """
    output, received = HorovodAlltoall.apply(tensor, splits, name, process_set)
    return output if splits is None else (output, received)


# --- reducescatter ----------------------------------------------------------------------------------------------------


def _check_reducescatter(op):
    if op not in (Average, Sum):
        raise ValueError("reducescatter adds or averages: op is hvd.Sum or hvd.Average")


def reducescatter_async(
    tensor, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0
):
    """Starts to reduce a tensor over all ranks, each of which gets its share of the rows."""
    _check_reducescatter(op)
    return _core.reducescatter([tensor], name, op, prescale_factor, postscale_factor, _number(process_set), False)


def grouped_reducescatter_async(
    tensors, name=None, op=Average, process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0
):
    """As reducescatter_async(), for tensors that travel together."""
    _check_reducescatter(op)
    return _core.reducescatter(list(tensors), name, op, prescale_factor, postscale_factor, _number(process_set), True)


class HorovodReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, process_set, prescale, postscale, many, *tensors):
        ctx.scale = prescale * postscale * (process_set.size() if op == Sum else 1)
        ctx.process_set = process_set
        _check_reducescatter(op)
        return synchronize(
            _core.reducescatter(list(tensors), name, op, prescale, postscale, _number(process_set), many)
        )

    @staticmethod
    def backward(ctx, *gradients):
        scaled = [(gradient * ctx.scale).contiguous() for gradient in gradients]
        return None, None, None, None, None, None, *grouped_allgather(scaled, process_set=ctx.process_set)


def reducescatter(
    tensor,
    name=None,
    compression=Compression.none,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """Reduces a tensor over all ranks, each of which gets its share of the rows. Gradients flow through it.

    >>> mine = hvd.reducescatter(torch.ones(4, 2), op=hvd.Sum)
    """
    narrow, context = compression.compress(tensor)
    reduced = HorovodReducescatter.apply(name, op, process_set, prescale_factor, postscale_factor, False, narrow)
    return compression.decompress(reduced, context)


def grouped_reducescatter(
    tensors,
    name=None,
    compression=Compression.none,
    op=Average,
    process_set=global_process_set,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """As reducescatter(), for a list of tensors that travel together. Returns a list."""
    narrow, contexts = zip(*[compression.compress(tensor) for tensor in tensors], strict=True)
    reduced = HorovodReducescatter.apply(name, op, process_set, prescale_factor, postscale_factor, True, *narrow)
    return [compression.decompress(one, context) for one, context in zip(reduced, contexts, strict=True)]


# --- together ---------------------------------------------------------------------------------------------------------


def join(device=-1):
    """Says that this rank has run out of data: until all ranks have, it takes part in reductions with zeros.

    Returns the rank that joined last. `device` is where Horovod makes its zeros; here they cost no memory.

    >>> for batch in my_batches:
    ...     train(batch)
    >>> hvd.join()
    """
    return synchronize(_core.join())


def barrier(process_set=global_process_set):
    """Returns when all ranks have come here.

    >>> hvd.barrier()
    """
    synchronize(_core.barrier(_number(process_set)))
