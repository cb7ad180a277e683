"""What ranks do together with tensors. Those without `async` or `_` are functions for autograd.

All of them are found here; here too is what ranks do without tensors.
"""

from __future__ import annotations

from ronde import _core
from ronde._core import allreduce_async_, synchronize
from ronde.common.process_sets import ProcessSet, global_process_set
from ronde.torch.exchange import (
    HorovodAllgather,
    HorovodAlltoall,
    HorovodBroadcast,
    allgather,
    allgather_async,
    alltoall,
    alltoall_async,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    grouped_allgather,
    grouped_allgather_async,
    sparse_allreduce_async,
)
from ronde.torch.reduction import (
    Adasum,
    Average,
    HorovodAllreduce,
    HorovodGroupedAllreduce,
    Max,
    Min,
    Product,
    Sum,
    _number,
    allreduce,
    allreduce_,
    allreduce_async,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
    handle_average_backwards_compatibility,
)
from ronde.torch.scatter import (
    HorovodReducescatter,
    grouped_reducescatter,
    grouped_reducescatter_async,
    reducescatter,
    reducescatter_async,
)


def join(device: int = -1) -> int:
    """Says that this rank has run out of data: until all ranks have, it takes part in reductions with zeros.

    Returns the rank that joined last. `device` is where Horovod makes its zeros; here they cost no memory.

    >>> for batch in [torch.ones(2), torch.zeros(2)]:  # others may have more, or fewer
    ...     mean = hvd.allreduce(batch, name="batch")
    >>> hvd.join()
    0
    """
    return synchronize(_core.join())


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Returns when all ranks have come here.

    >>> hvd.barrier()
    """
    synchronize(_core.barrier(_number(process_set)))
