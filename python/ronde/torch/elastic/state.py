"""The state of a training in torch: models, optimizers, samplers, and any other objects."""

from __future__ import annotations

import copy
from typing import Any

import torch

from ronde.common.elastic import ObjectState
from ronde.torch.elastic.sampler import ElasticSampler
from ronde.torch.functions import (
    allgather_object,  # noqa: F401 - programs find it here
    broadcast_object,
    broadcast_optimizer_state,
    broadcast_parameters,
)
from ronde.torch.mpi_ops import rank


class TorchState(ObjectState):
    """Each keyword becomes an attribute. Models, optimizers, schedulers, scalers and samplers are saved by their
    ``state_dict()``; everything else as a Python object.

    >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
    >>> state.epoch = 1
    >>> state.commit()  # from here on, a failure brings us back to here
    >>> state.epoch = 2
    >>> state.restore()
    >>> state.epoch
    1
    """

    def __init__(self, model: torch.nn.Module | None = None, optimizer: Any = None, **kwargs: Any) -> None:
        given = {**kwargs, "model": model, "optimizer": optimizer}
        self._handlers, others = _get_handlers(given)
        for name, handler in self._handlers.items():
            setattr(self, name, handler.value)
        super().__init__(bcast_object=broadcast_object, get_rank=rank, **others)

    def save(self) -> None:
        for handler in self._handlers.values():
            handler.save()
        super().save()

    def restore(self) -> None:
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def sync(self) -> None:
        for handler in self._handlers.values():
            handler.sync()
            handler.save()  # a failure before the first commit goes back to what all ranks have had
        super().sync()

    def reset(self) -> None:
        for handler in self._handlers.values():
            handler.reset()

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name) and name in self._handlers:
            self._handlers[name].set_value(value)
        super().__setattr__(name, value)


class StateHandler:
    """How one kind of object is saved, restored and given to all ranks."""

    def __init__(self, value: Any):
        self.value = value

    def save(self) -> None:
        raise NotImplementedError

    def restore(self) -> None:
        raise NotImplementedError

    def sync(self) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        """The number of ranks may have changed."""

    def set_value(self, value: Any) -> None:
        self.value = value
        self.save()


class StateDictHandler(StateHandler):
    """For whatever has state_dict() and load_state_dict(): schedulers, scalers."""

    def __init__(self, value: Any):
        super().__init__(value)
        self.save()

    def save(self) -> None:
        self._saved = copy.deepcopy(self.value.state_dict())

    def restore(self) -> None:
        self.value.load_state_dict(copy.deepcopy(self._saved))

    def sync(self) -> None:
        self.value.load_state_dict(broadcast_object(self.value.state_dict()))


class ModelStateHandler(StateDictHandler):
    def sync(self) -> None:
        broadcast_parameters(self.value.state_dict(), root_rank=0)


class OptimizerStateHandler(StateDictHandler):
    def sync(self) -> None:
        broadcast_optimizer_state(self.value, root_rank=0)


class SamplerStateHandler(StateDictHandler):
    def reset(self) -> None:
        self.value.reset()


_handler_registry: list[tuple[type, type[StateHandler]]] = [
    (torch.nn.Module, ModelStateHandler),
    (torch.optim.Optimizer, OptimizerStateHandler),
    (ElasticSampler, SamplerStateHandler),
    (torch.optim.lr_scheduler.LRScheduler, StateDictHandler),
    (torch.amp.GradScaler, StateDictHandler),
]


def get_handler_registry() -> list[tuple[type, type[StateHandler]]]:
    """Pairs of a type and the handler for its objects; the first that fits is taken."""
    return _handler_registry


def set_handler_registry(registry: list[tuple[type, type[StateHandler]]]) -> None:
    global _handler_registry
    _handler_registry = registry


def _get_handler(value: Any) -> StateHandler | None:
    return next((made(value) for kind, made in _handler_registry if isinstance(value, kind)), None)


def _get_handlers(given: dict[str, Any]) -> tuple[dict[str, StateHandler], dict[str, Any]]:
    handlers, others = {}, {}
    for name, value in given.items():
        handler = _get_handler(value)
        if handler is None:
            others[name] = value
        else:
            handlers[name] = handler
    return handlers, others
