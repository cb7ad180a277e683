"""Training that goes back to the last commit when a collective fails. One process, or ranks that are all still there,
can begin anew; ranks that come and go are not there yet, and the error says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ronde.common.elastic import run_fn
from ronde.torch import mpi_ops
from ronde.torch.elastic.sampler import ElasticSampler
from ronde.torch.elastic.state import TorchState
from ronde.torch.mpi_ops import init, shutdown

__all__ = ["ElasticSampler", "TorchState", "run"]


def run(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates ``train(state, ...)``: it begins with rank 0's state on all ranks; after a HorovodInternalError the
    state goes back to its last commit, the ranks meet anew, and it begins again.

    >>> @hvd.elastic.run
    ... def train(state):
    ...     for state.epoch in range(state.epoch, 3):
    ...         state.commit()
    ...     return state.epoch
    >>> train(hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0))
    2
    """
    return run_fn(func, _reset)


def _reset() -> None:
    again = mpi_ops._Ending.last
    shutdown()
    init(*again)
