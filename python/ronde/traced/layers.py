"""The operations and bytes of layers, counted in one forward pass."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_WIDTH = 4  # bytes of a number; the report scales by the precision
_NORMS = ("norm",)


class Count(TorchDispatchMode):
    """Sees each operation of the pass, and adds it to the layer whose call it is part of.

    As src/models/costs.h counts: a multiply-add is two, norms two for each element, what moves values nothing, all
    else one for each output.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers: dict[str, dict[str, Any]] = {}
        self.done = False
        self._inside: list[tuple[torch.nn.Module, dict[str, Any]]] = []

    @staticmethod
    def of_first_pass(network: torch.nn.Module, names: dict[int, str]) -> Count | None:
        """Counts from here to the end of the network's call. None: of such a network operations are not seen."""
        if any(type(parameter) not in (torch.nn.Parameter, torch.Tensor) for parameter in network.parameters()):
            return None  # sharded, or lazy
        if torch.jit.is_scripting() or isinstance(network, torch.jit.ScriptModule) or hasattr(network, "_orig_mod"):
            return None
        count = Count()
        count._inside.append((network, count._layer(network, names.get(id(network), type(network).__name__))))
        count.__enter__()
        return count

    def enter(self, module: torch.nn.Module, name: str) -> None:
        if not self.done:
            self._inside.append((module, self._layer(module, name)))

    def leave(self, module: torch.nn.Module, last: bool) -> None:
        if self.done:
            return
        while self._inside and not last and self._inside[-1][0] is module:
            self._inside.pop()
        if last:
            self.done = True
            self._inside.clear()
            self.__exit__(None, None, None)

    def facts(self) -> list[dict[str, Any]]:
        return [layer for layer in self.layers.values() if layer["flops"] > 0 or layer["parameters"] > 0]

    def _layer(self, module: torch.nn.Module, name: str) -> dict[str, Any]:
        if name not in self.layers:
            own = sum(parameter.numel() for parameter in module.parameters(recurse=False))
            kind = type(module).__name__.lower()
            self.layers[name] = {"name": name, "operation": kind, "flops": 0, "bytes": 0, "parameters": own}
        return self.layers[name]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        with contextlib.suppress(Exception):  # an operation that cannot be counted must not end the program
            self._add(func, args, kwargs, output)
        return output

    def _add(self, func: Any, args: Any, kwargs: Any, output: Any) -> None:
        if not self._inside or getattr(func, "is_view", False):
            return
        layer = self._inside[-1][1]
        made = sum(tensor.numel() for tensor in _flat(output))
        counted = flop_registry.get(func._overloadpacket)
        if counted is not None:
            layer["flops"] += int(counted(*args, **kwargs, out_val=output))
        elif not _moves_only(func):
            layer["flops"] += made * (2 if any(word in str(func) for word in _NORMS) else 1)
        layer["bytes"] += _WIDTH * (made + sum(tensor.numel() for tensor in _flat(list(args))))


def _moves_only(func: Any) -> bool:
    moves = ("copy", "clone", "cat", "empty", "embedding", "index", "stack", "pad", "_to_", "detach", "zeros", "ones")
    return any(word in str(func) for word in moves)


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in _flat(item)] if isinstance(value, (list, tuple)) else []
