"""Waiting for other ranks in torch.distributed."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .. import _core
from .recording import Recording

_WAITING = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
)


def watch(record: Recording) -> None:
    """The functions that return when the other ranks have done their part. Those that return at once, a handle, are
    waited for elsewhere, and not seen."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    for name in _WAITING:
        function = getattr(distributed_c10d, name, None)
        if function is None:
            continue
        waiting = _waiting(record, function)
        setattr(distributed_c10d, name, waiting)
        setattr(torch.distributed, name, waiting)


def _waiting(record: Recording, function: Any) -> Any:
    @functools.wraps(function)
    def waiting(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("async_op") or not record.on():
            return function(*args, **kwargs)
        with _core.trace.span("wait for communication"):
            return function(*args, **kwargs)

    return waiting
