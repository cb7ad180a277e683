"""Optimizers for large batches, with the arithmetic of `ronde train`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch


class _Layerwise(torch.optim.Optimizer):
    """Steps parameter by parameter."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes the weights by their gradients.

        >>> import torch, ronde.train
        >>> weight = torch.nn.Parameter(torch.ones(1, 1))
        >>> weight.grad = torch.ones(1, 1)
        >>> ronde.train.LARS([weight], lr=0.5).step()
        >>> bool(weight < 1)
        True
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._step_one(parameter, group)
        return loss

    def _step_one(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        raise NotImplementedError


class LARS(_Layerwise):
    """SGD in which each layer's step is scaled by the norm of its weights over that of its gradient (You, Gitman,
    Ginsburg: arXiv:1708.03888). Parameters of one dimension (biases, norms) step as in plain SGD, without decay, unless
    their group says "scaled": True.

    correct: the momentum keeps no learning rates (Goyal et al.: arXiv:1706.02677, section 3).

    >>> import torch, ronde.train
    >>> network = torch.nn.Linear(4, 2)
    >>> optimizer = ronde.train.LARS(network.parameters(), lr=1.0, weight_decay=1e-4)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        momentum: float = 0.9,
        weight_decay: float = 0,
        trust: float = 0.001,
        nesterov: bool = False,
        correct: bool = True,
    ) -> None:
        _check(lr=lr, momentum=momentum, weight_decay=weight_decay, trust=trust)
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "trust": trust}
        super().__init__(params, {**defaults, "nesterov": nesterov, "correct": correct, "scaled": None})

    def _step_one(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        gradient = _dense(parameter.grad)
        scaled = _is_scaled(parameter, group)
        decay = group["weight_decay"] if scaled else 0
        change = gradient.add(parameter, alpha=decay) if decay else gradient.clone()
        if scaled:
            weights, slope = parameter.norm(), gradient.norm()
            change.mul_(_trusted(weights * group["trust"] / (slope + weights * decay), weights, slope))
        lr, momentum = group["lr"], group["momentum"]
        if momentum == 0:
            parameter.sub_(change, alpha=lr)
            return
        inner, outer = (1.0, lr) if group["correct"] else (lr, 1.0)
        key = "momentum_buffer" if group["correct"] else "velocity"
        state = self.state[parameter]
        if key not in state:
            state[key] = torch.zeros_like(parameter)
        state[key].mul_(momentum).add_(change, alpha=inner)
        parameter.sub_(state[key], alpha=momentum * outer if group["nesterov"] else outer)
        if group["nesterov"]:
            parameter.sub_(change, alpha=lr)


class LAMB(_Layerwise):
    """Adam in which each layer's step is scaled by the norm of its weights over that of the step (You et al.:
    arXiv:1904.00962). Parameters of one dimension step as in Adam, without decay, unless their group says
    "scaled": True.

    >>> import torch, ronde.train
    >>> network = torch.nn.Linear(4, 2)
    >>> optimizer = ronde.train.LAMB(network.parameters(), lr=1e-3, weight_decay=0.01)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0,
    ) -> None:
        _check(lr=lr, eps=eps, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "scaled": None})

    def _step_one(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        gradient = _dense(parameter.grad)
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        state["exp_avg"].mul_(beta1).add_(gradient, alpha=1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        first, second = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        change = state["exp_avg_sq"].div(second).sqrt_().add_(group["eps"]).reciprocal_()
        change.mul_(state["exp_avg"]).div_(first)
        scaled = _is_scaled(parameter, group)
        if scaled and group["weight_decay"]:
            change.add_(parameter, alpha=group["weight_decay"])
        if scaled:
            weights, size = parameter.norm(), change.norm()
            change.mul_(_trusted(weights / size, weights, size))
        parameter.sub_(change, alpha=group["lr"])


def _trusted(ratio: torch.Tensor, norm: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    # As a tensor: a GPU need not be waited for. 1 where a norm is zero: a layer that begins at zero would never move.
    return torch.where((norm > 0) & (other > 0), ratio, torch.ones_like(ratio))


def _is_scaled(parameter: torch.Tensor, group: dict[str, Any]) -> bool:
    return parameter.dim() > 1 if group["scaled"] is None else bool(group["scaled"])


def _dense(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.to_dense() if gradient.is_sparse else gradient


def _check(**numbers: float) -> None:
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name} must not be negative, got {number}")
