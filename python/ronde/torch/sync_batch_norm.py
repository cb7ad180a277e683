"""Batch norm over the batches of all ranks."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.autograd.function import Function, once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from ronde.torch.mpi_ops import ProcessSet, Sum, allgather_async, allreduce_async, global_process_set, synchronize

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Batch norm that normalises with the mean and the variance of all ranks' batches.

    With n ranks the result is that of one process with the whole batch, also when the ranks' shares differ in size or
    are empty. Channels are dimension 1 of inputs with two dimensions or more, on the host or on a GPU, f16 and bf16
    too. In evaluation the running statistics are used and nothing travels (without them,
    ``track_running_stats=False``, it does in evaluation too). Every forward pass in training, and its backward pass,
    waits for all ranks.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), hvd.SyncBatchNorm(64), torch.nn.ReLU())
    >>> model(torch.ones(4, 3, 8, 8)).shape
    torch.Size([4, 64, 6, 6])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_set: ProcessSet = global_process_set,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        # None stands for all ranks: a copy of the module must not hold a copy of the set.
        self.process_set = None if process_set is global_process_set else process_set

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalises a batch; in training, with the moments of all ranks' batches.

        >>> hvd.SyncBatchNorm(1)(torch.tensor([[-1.0], [1.0]])).sum().item()
        0.0
        """
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or self.running_mean is None
        ranks = self.process_set or global_process_set
        if not by_batch or ranks.size() == 1:
            keeps = self.running_mean if not self.training or self.track_running_stats else None
            varies = self.running_var if keeps is not None else None
            return F.batch_norm(input, keeps, varies, self.weight, self.bias, by_batch, factor, self.eps)
        with torch.no_grad():
            mean, variance, count = _moments(input.detach(), ranks)
            if self.training and self.track_running_stats:
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
                self.running_var.lerp_((variance * (count / (count - 1))).to(self.running_var.dtype), factor)
        return _Normalise.apply(input, self.weight, self.bias, mean, variance, count, self.eps, ranks)

    @classmethod
    def convert_sync_batchnorm(
        cls, module: torch.nn.Module, process_group: ProcessSet | None = None
    ) -> torch.nn.Module:
        """Puts synchronised batch norms in the place of all others (BatchNorm1d, 2d, 3d and torch's SyncBatchNorm),
        with their parameters and statistics; returns the module, or what takes its place.

        >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8))
        >>> type(hvd.SyncBatchNorm.convert_sync_batchnorm(model)[1])
        <class 'ronde.torch.sync_batch_norm.SyncBatchNorm'>
        """
        if process_group is not None and not isinstance(process_group, ProcessSet):
            raise ValueError(
                f"process_group is of type {type(process_group)}: give a ProcessSet, or None for all ranks"
            )
        converted = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            converted = cls._in_place_of(module, process_group or global_process_set)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @classmethod
    def _in_place_of(cls, module: _BatchNorm, process_set: ProcessSet) -> SyncBatchNorm:
        made = cls(
            module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_set
        )
        # The same objects, since an optimizer may hold them.
        made.weight, made.bias = module.weight, module.bias
        made.running_mean, made.running_var = module.running_mean, module.running_var
        made.num_batches_tracked = module.num_batches_tracked
        return made.train(module.training)


def _exact(tensor: torch.Tensor) -> torch.Tensor:
    """Sums over many values do not fit into bf16 or f16."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def _all_but_channels(tensor: torch.Tensor) -> list[int]:
    return [0, *range(2, tensor.dim())]


def _along_channels(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return values.to(like.dtype).view(1, -1, *[1] * (like.dim() - 2))


def _moments(input: torch.Tensor, process_set: ProcessSet) -> tuple[torch.Tensor, torch.Tensor, float]:
    """(mean, variance, count) of all ranks' values a channel, in f64. Counts, means and squared deviations are gathered
    and combined: sums of squares would lose what little variance lies around a large mean."""
    channels = input.size(1)
    count = input.numel() // channels
    mine = torch.zeros(1, 1 + 2 * channels, dtype=torch.float64, device=input.device)
    if count > 0:
        variance, mean = torch.var_mean(_exact(input), _all_but_channels(input), correction=0)
        mine[0, 0] = count
        mine[0, 1 : 1 + channels] = mean
        mine[0, 1 + channels :] = variance.double() * count
    gathered = synchronize(allgather_async(mine, process_set=process_set))
    counts, means, deviations = gathered.split([1, channels, channels], dim=1)
    total = float(counts.sum())
    if total < 2:
        raise ValueError(
            f"expected more than 1 value per channel over all ranks when training, got {total:.0f}; "
            f"this rank's input has shape {tuple(input.shape)}"
        )
    mean = (counts * means).sum(0) / total
    variance = (deviations + counts * (means - mean).square()).sum(0) / total
    return mean, variance, total


class _Normalise(Function):
    @staticmethod
    def forward(ctx: Any, input, weight, bias, mean, variance, count, eps, process_set):
        ctx.save_for_backward(input, weight, mean, (variance + eps).rsqrt())
        ctx.count, ctx.process_set = count, process_set
        dtype = torch.float64 if input.dtype == torch.float64 else torch.float32
        given = [None if values is None else values.to(dtype) for values in (weight, bias)]
        return F.batch_norm(input, mean.to(dtype), variance.to(dtype), *given, training=False, eps=eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient):
        """The gradients of weight and bias are this rank's, as those of every other layer are; the input's knows that
        the moments, and through them the outputs of all ranks, depend on it."""
        input, weight, mean, scale = ctx.saved_tensors
        needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        exact, by_output = _exact(input), _exact(gradient)
        dimensions = _all_but_channels(exact)
        scale = _along_channels(scale, exact)
        normal = (exact - _along_channels(mean, exact)) * scale
        by_bias = by_output.sum(dimensions)
        by_weight = (by_output * normal).sum(dimensions)
        by_input = None
        if needs_input:
            sums = torch.stack([by_bias, by_weight]).double()
            sums = synchronize(allreduce_async(sums, op=Sum, process_set=ctx.process_set)) / ctx.count
            by_input = by_output - _along_channels(sums[0], exact) - normal * _along_channels(sums[1], exact)
            by_input = by_input * (scale if weight is None else scale * _along_channels(weight, exact))
            by_input = by_input.to(input.dtype)
        return (
            by_input,
            by_weight.to(weight.dtype) if needs_weight else None,
            by_bias.to(weight.dtype) if needs_bias else None,
            *[None] * 5,
        )
