"""An optimizer's state taken apart: tensors, which travel as such, and everything else, which is pickled.

Works on ``optimizer.state`` and ``optimizer.param_groups`` themselves, so that whoever holds a group or a tensor of the
state keeps what is in use.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import torch

# What the engine moves; tensors of other types are pickled.
_TRAVELS = {
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
}


@dataclasses.dataclass(frozen=True)
class TensorHere:
    """Stands for a tensor in what is pickled."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    with_parameter: bool  # on the parameter's device; else on the host, as Adam's step


def parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def describe_state(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """(what is pickled, the tensors in the order in which it stands for them)"""
    tensors: list[torch.Tensor] = []
    options = [
        {key: _take_apart(value, None, tensors) for key, value in group.items() if key != "params"}
        for group in optimizer.param_groups
    ]
    by_parameter, others = {}, {}
    places = {parameter: place for place, parameter in enumerate(parameters(optimizer))}
    for key, value in optimizer.state.items():
        if isinstance(key, torch.Tensor):
            if key in places:
                by_parameter[places[key]] = _take_apart(value, key, tensors)
        else:
            others[key] = _take_apart(value, None, tensors)
    return {"options": options, "by_parameter": by_parameter, "others": others}, tensors


def _take_apart(value: Any, parameter: torch.Tensor | None, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.dtype not in _TRAVELS:
            return value
        tensors.append(value)
        with_parameter = parameter is not None and value.device == parameter.device
        return TensorHere(tuple(value.shape), value.dtype, with_parameter)
    return _map(value, lambda inner, _: _take_apart(inner, parameter, tensors), None)


def apply_state(optimizer: torch.optim.Optimizer, plain: dict[str, Any]) -> list[torch.Tensor]:
    """Gives the optimizer these options and this state; returns the tensors whose values are yet to come."""
    tensors: list[torch.Tensor] = []
    for group, options in zip(optimizer.param_groups, plain["options"], strict=True):
        for key, value in options.items():
            group[key] = _put_together(value, group.get(key), None, tensors)
    own = parameters(optimizer)
    before = dict(optimizer.state)
    optimizer.state.clear()
    for place, value in plain["by_parameter"].items():
        parameter = own[place]
        optimizer.state[parameter] = _put_together(value, before.get(parameter), parameter, tensors)
    for key, value in plain["others"].items():
        optimizer.state[key] = _put_together(value, before.get(key), None, tensors)
    return tensors


def _put_together(value: Any, before: Any, parameter: torch.Tensor | None, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, TensorHere):
        tensors.append(_room_for(value, before, parameter))
        return tensors[-1]
    return _map(value, lambda inner, old: _put_together(inner, old, parameter, tensors), before)


def _room_for(there: TensorHere, before: Any, parameter: torch.Tensor | None) -> torch.Tensor:
    if isinstance(before, torch.Tensor) and tuple(before.shape) == there.shape and before.dtype == there.dtype:
        return before
    device = parameter.device if there.with_parameter else torch.device("cpu")
    if parameter is not None and tuple(parameter.shape) == there.shape:  # in the parameter's order of values
        return torch.empty_like(parameter, dtype=there.dtype, device=device, requires_grad=False)
    return torch.empty(there.shape, dtype=there.dtype, device=device)


def _map(value: Any, function: Any, before: Any) -> Any:
    """The same containers with ``function(inner, what was in its place before)`` in them."""
    if type(value) in (dict, collections.OrderedDict):
        old = before if isinstance(before, dict) else {}
        return type(value)((key, function(inner, old.get(key))) for key, inner in value.items())
    if type(value) in (list, tuple):
        old = before if isinstance(before, (list, tuple)) and len(before) == len(value) else [None] * len(value)
        return type(value)(function(inner, was) for inner, was in zip(value, old, strict=True))
    return value
