"""DistributedDataParallel for programs that are written for torch's own, and the backend "ronde" of torch.distributed.

>>> import ronde.torch.distributed
>>> torch.distributed.init_process_group("ronde")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ronde import _core, process_groups
from ronde.common.process_sets import ProcessSet, global_process_set
from ronde.torch.collectives import Average, Sum, _number, allreduce_async_, broadcast_async_, join, synchronize

process_groups.register()

_WITHOUT_MEANING = (
    "delay_all_reduce_named_params",
    "param_to_hook_all_reduce",
    "mixed_precision",
    "device_mesh",
    "skip_all_reduce_unused_params",
)


class DistributedDataParallel(torch.nn.Module):
    """A model that is trained by many ranks: after backward() every rank has the mean of all gradients.

    The optimizer stays as it is. Gradients are reduced while the backward pass computes others.

    broadcast_buffers: running means and the like are rank 0's at every forward pass in training.
    static_graph: every pass computes the same; needed when a parameter gets its gradient in several pieces in one pass
    (activation checkpoints that begin passes of their own). find_unused_parameters is not needed: parameters without a
    gradient on some ranks count as zero there, those without any are left alone.
    Other arguments of torch's are accepted where they change only how torch does it.

    >>> model = hvd.DistributedDataParallel(torch.nn.Linear(3, 2))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> for batch, target in [(torch.ones(4, 3), torch.zeros(4, 2))]:
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.mse_loss(model(batch), target).backward()
    ...     optimizer.step()
    """

    def __init__(
        self,
        module: torch.nn.Module,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: int | torch.device | None = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        process_set: ProcessSet = global_process_set,
        **others: Any,
    ) -> None:
        super().__init__()
        for name, value in others.items():
            if name not in _WITHOUT_MEANING:
                raise TypeError(f"DistributedDataParallel has no argument '{name}'")
            if value:
                raise ValueError(f"'{name}' is not supported: ronde does not use torch's reducer")
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError("DistributedDataParallel needs a model with a parameter that requires a gradient")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids must have at most one entry: a rank trains on one device")
        if process_group is not None:
            raise ValueError("process_group belongs to torch.distributed: use process_set, a ronde.torch.ProcessSet")
        self.module = module
        self.process_set = process_set
        self.broadcast_buffers = broadcast_buffers
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self._gradients = None
        self._join = None
        if init_sync:
            self._send_from(process_set.ranks[0] if process_set.ranks else 0)

    # Copies and pickles are of the model; hooks are made when it is used.
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_gradients": None, "_join": None}

    @property
    def _alone(self) -> bool:
        return not self.process_set.included() or self.process_set.size() == 1

    def _attach(self) -> _core.Gradients:
        if self._gradients is None or not self._gradients.running():
            named = [pair for pair in self.module.named_parameters() if pair[1].requires_grad]
            options = {"in_backward": True, "same_graph": self.static_graph, "prefix": "allreduce."}
            self._gradients = _core.Gradients(named, _number(self.process_set), Average, options)
        self._gradients.follow(list(self.module.parameters()))
        return self._gradients

    # --- forward ------------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Calls the model; the backward pass of what comes out reduces the gradients.

        >>> hvd.DistributedDataParallel(torch.nn.Linear(3, 2))(torch.ones(4, 3)).shape
        torch.Size([4, 2])
        """
        if self._alone:
            return self.module(*inputs, **kwargs)
        gradients = self._attach()
        learning = torch.is_grad_enabled() and self.require_backward_grad_sync
        gradients.pause(not self.require_backward_grad_sync)
        if learning and self._join is not None:
            self._join.meet(self)
        elif learning and self.training and self.broadcast_buffers:
            self._send_buffers_from(self.process_set.ranks[0])
        if torch._C._current_graph_task_id() == -1:
            gradients.no_pass()  # one that failed is over
        gradients.enter()
        output = self.module(*inputs, **kwargs)
        return self._watched(output) if learning else output

    def _watched(self, output: Any) -> Any:
        """The same output, whose backward pass says when it begins."""
        tensors = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        self._gradients.pass_begins_at(tensors)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients add up on this rank and stay there; the first backward pass after it sends the sums.

        >>> model = hvd.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> with model.no_sync():
        ...     model(torch.ones(4, 3)).sum().backward()
        >>> model(torch.ones(4, 3)).sum().backward()
        >>> model.module.bias.grad
        tensor([8., 8.])
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before
            if self._gradients is not None and self._gradients.running():
                self._gradients.pause(not before)

    # --- what all ranks have alike ------------------------------------------------------------------------------------

    def _buffers_to_send(self) -> list[tuple[str, torch.Tensor]]:
        return [(f"{name}.buffer", buffer) for name, buffer in self.module.named_buffers() if buffer.numel()]

    def _send(self, named: Iterable[tuple[str, torch.Tensor]], root: int) -> None:
        with torch.no_grad():
            handles = [(one, *_sent(one, root, name, self.process_set)) for name, one in named]
            for tensor, travelling, handle in handles:
                synchronize(handle)
                if travelling is not tensor:
                    tensor.copy_(travelling)

    def _send_buffers_from(self, root: int) -> None:
        self._send(self._buffers_to_send(), root)

    def _send_from(self, root: int) -> None:
        if not self._alone:
            self._send([*self.module.named_parameters(), *self._buffers_to_send()], root)

    # --- ranks with less data than others -----------------------------------------------------------------------------

    @contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Iterator[None]:
        """For ranks with different numbers of batches: who has run out takes part with zeros until all have.

        divide_by_initial_world_size: means divide by all ranks; False: by those that still have data.
        throw_on_early_termination: all ranks stop with an error when the first has run out.

        >>> model = hvd.DistributedDataParallel(torch.nn.Linear(3, 2))
        >>> with model.join():
        ...     for batch in [torch.ones(4, 3)] * (1 + hvd.rank()):
        ...         model(batch).sum().backward()
        """
        if not enable or self._alone:
            yield
            return
        if self.process_set is not global_process_set:
            raise ValueError("join() works over all ranks, but the model has its own process set")
        self._join = _Join(divide_by_initial_world_size, throw_on_early_termination)
        try:
            yield
            self._join.has_run_out(self)
        finally:
            self._join = None
            if self._gradients is not None and self._gradients.running():
                self._gradients.set_factor(1.0)


def _sent(tensor: torch.Tensor, root: int, name: str, process_set: ProcessSet) -> tuple[torch.Tensor, int]:
    travelling = tensor.detach() if tensor.is_contiguous() else tensor.detach().contiguous()
    handle = broadcast_async_(travelling, root, name, process_set)
    return (tensor if tensor.is_contiguous() else travelling), handle


class _Join:
    """What ranks agree on before each forward pass while some may have run out of data.

    Ranks that have joined take part in sums with zeros: so everything here is a sum.
    """

    def __init__(self, divide_by_all: bool, throw: bool) -> None:
        self.divide_by_all = divide_by_all
        self.throw = throw

    def meet(self, model: DistributedDataParallel) -> None:
        size = _core.size()
        active = torch.zeros(size, dtype=torch.int32)
        active[_core.rank()] = 1
        synchronize(allreduce_async_(active, name="ddp.join.active", op=Sum))
        if self.throw and int(active.sum()) < size:
            raise RuntimeError(self._who_ran_out(active.tolist()))
        if not self.divide_by_all:
            model._gradients.set_factor(size / int(active.sum()))
        if model.training and model.broadcast_buffers:
            self._send_buffers(model, root=active.tolist().index(1))

    def _send_buffers(self, model: DistributedDataParallel, root: int) -> None:
        with torch.no_grad():
            for name, buffer in model._buffers_to_send():
                travelling = buffer.clone(memory_format=torch.contiguous_format)
                if _core.rank() != root:
                    travelling.zero_()
                buffer.copy_(synchronize(allreduce_async_(travelling, name=f"ddp.join.{name}", op=Sum)))

    def has_run_out(self, model: DistributedDataParallel) -> None:
        if self.throw:
            active = torch.zeros(_core.size(), dtype=torch.int32)
            synchronize(allreduce_async_(active, name="ddp.join.active", op=Sum))
            if int(active.sum()):
                raise RuntimeError(self._who_ran_out(active.tolist()))
            return
        model._send_from(join())

    @staticmethod
    def _who_ran_out(active: list[int]) -> str:
        out = [str(rank) for rank, has in enumerate(active) if not has]
        return f"rank {', '.join(out)} ran out of data before the others (throw_on_early_termination)"
