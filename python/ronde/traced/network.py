"""Forward and backward passes, and layers in them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as modules
from torch.nn.parallel import DataParallel, DistributedDataParallel

from .. import _core
from .layers import Count
from .recording import Recording

if TYPE_CHECKING:
    from .loop import Loop

_span = _core.trace.span
_AUTOGRAD = torch.autograd.Variable._execution_engine
_CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict, DistributedDataParallel, DataParallel)


class Passes:
    """A network is whatever module is called from outside of any other.

    Its call is a forward pass, or an evaluation if it is in evaluation mode; a call inside of a backward pass is part
    of that (checkpointing). Modules inside are layers. In the backward pass a layer begins when the gradient of its
    output is there and ends when that of its input is, or when another begins.
    """

    def __init__(self, record: Recording) -> None:
        self._record = record
        self._loop: Any = None
        self.trained = False  # a forward pass for training is part of this step
        self.count: Count | None = None  # of the layers of the first network that was trained
        self._counted = False
        self.distributed = self.compiled = False
        self._names: dict[int, str] = {}  # of modules, by id
        self._open: list[Any] = []  # spans of calls that have not returned, None for those without
        self._backward: Any = None  # the span of the layer whose backward pass is going on
        self._in_backward = 0
        self._keeps_graph = False  # of the outermost call: there will be a backward pass
        self._begins: set[Any] = set()  # functions of autograd before which a layer begins, in this call

    def watch(self, loop: Loop) -> None:
        self._loop = loop
        modules.register_module_forward_pre_hook(self._record.safe(self._call))
        modules.register_module_forward_hook(self._record.safe(self._returned), always_call=True)
        self._go_to = self._record.safe(self._go_to)  # type: ignore[method-assign]
        self._watch_backward()
        self._watch_compile()

    # --- forward
    def _call(self, module: torch.nn.Module, inputs: Any) -> None:
        if not self._record.on():
            return
        if not self._open:
            self._outermost(module, inputs)
            return
        if isinstance(module, _CONTAINERS):
            self._open.append(None)
            return
        if self._keeps_graph and inputs and not module._modules and not self._in_backward:
            self._hook(inputs[0], None)
        if self.count:
            self.count.enter(module, self._name(module))
        span = _span(self._name(module), "module")
        span.__enter__()
        self._open.append(span)

    def _outermost(self, module: torch.nn.Module, inputs: Any) -> None:
        if self._in_backward:
            self._open.append(None)
            return
        if id(module) not in self._names:
            self._name_all(module)
        if not module.training:
            self._loop.evaluates()
            self._keeps_graph = False
            self._push(_span("evaluate"))
            return
        self.trained = True
        self._keeps_graph = torch.is_grad_enabled()
        self._loop.trains(module, inputs)
        self._loop.pause()
        self.distributed = self.distributed or isinstance(module, DistributedDataParallel)
        if not self._counted and any(True for _ in module.parameters()):
            self._counted = True
            self.count = Count.of_first_pass(module, self._names)
        self._push(_span("forward"))
        if not isinstance(module, _CONTAINERS) and not any(True for _ in module.children()):
            self._push_layer(module)

    def _push(self, span: Any) -> None:
        span.__enter__()
        self._open.append(span)

    def _push_layer(self, module: torch.nn.Module) -> None:
        """A network of one layer, or a loss, is its own layer: they share a call."""
        layer = _span(self._name(module), "module")
        layer.__enter__()
        outer = self._open.pop()
        self._open.append(_Both(outer, layer))
        if self.count:
            self.count.enter(module, self._name(module))

    def _returned(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if not self._open or not self._record.on():
            return
        span = self._open.pop()
        if span is not None:
            span.__exit__(None, None, None)
        if self.count:
            self.count.leave(module, last=not self._open)
        if span is not None and self._keeps_graph and not module._modules and not self._in_backward:
            self._hook(output, self._name(module))
        if not self._open:
            self._begins.clear()

    # --- names
    def _name_all(self, network: torch.nn.Module) -> None:
        for name, module in network.named_modules():
            self._names[id(module)] = _plain(name) or type(module).__name__

    def _name(self, module: torch.nn.Module) -> str:
        name = self._names.get(id(module))
        if name is None:
            name = self._names[id(module)] = type(module).__name__
        return name

    # --- backward
    def _hook(self, value: Any, name: str | None) -> None:
        """When the gradient of `value` is there, the layer `name` begins; None: the one that is going on ends."""
        if type(value) is torch.Tensor:  # nearly always
            function = value.grad_fn
        else:
            function = next((tensor.grad_fn for tensor in _tensors(value) if tensor.grad_fn is not None), None)
        if function is None or function in self._begins:
            return
        if name is not None:
            self._begins.add(function)
        function.register_prehook(functools.partial(self._go_to, name))

    def _go_to(self, name: str | None, gradients: Any) -> None:
        if not self._in_backward or not self._record.on():
            return
        self._leave_layer()
        if name is not None:
            self._backward = _span(name, "module")
            self._backward.__enter__()

    def _leave_layer(self) -> None:
        if self._backward is not None:
            self._backward.__exit__(None, None, None)
            self._backward = None

    def _watch_backward(self) -> None:
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def recorded(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if self._in_backward or not self._record.on():
                return backward(tensors, *args, **kwargs)
            self._loop.pause()
            waiting: list[Any] = []
            root = self._watch_end(tensors, waiting) if self.distributed else None
            self._in_backward = 1
            try:
                with _span("backward"):
                    try:
                        return backward(tensors, *args, **kwargs)
                    finally:
                        self._leave_layer()
                        for span in waiting:
                            span.__exit__(None, None, None)
            finally:
                self._in_backward = 0
                self._loop.resume()
                if root is not None:
                    root.remove()

        torch.autograd.backward = recorded

    def _watch_end(self, tensors: Any, waiting: list[Any]) -> Any:
        """What DistributedDataParallel does when all gradients are there is to wait for the other ranks: autograd calls
        it after what is queued here, for it is queued later. Gives what takes the hook away."""
        function = next((tensor.grad_fn for tensor in _tensors(tensors) if tensor.grad_fn is not None), None)
        if function is None:
            return None

        def all_there() -> None:
            if self._record.on():
                self._leave_layer()
                waiting.append(_span("wait for communication"))
                waiting[-1].__enter__()

        return function.register_prehook(lambda gradients: _AUTOGRAD.queue_callback(all_there))

    # --- compiled networks
    def _watch_compile(self) -> None:
        compile = torch.compile

        @functools.wraps(compile)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.compiled = True
            return compile(*args, **kwargs)

        torch.compile = noted


class _Both:
    """Two spans that end together."""

    def __init__(self, outer: Any, inner: Any) -> None:
        self._outer, self._inner = outer, inner

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)
        self._outer.__exit__(*error)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Those of a value that networks take or give, a few levels deep."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _plain(name: str) -> str:
    """Without what wrappers put in front: "module.", "_orig_mod."."""
    return ".".join(part for part in name.split(".") if part not in ("module", "_orig_mod"))
