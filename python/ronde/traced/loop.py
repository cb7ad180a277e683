"""Steps, from optimizers; batches, from DataLoader; saving and loading."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import optimizer as optimizers
from torch.utils.data import dataloader

from .. import _core
from . import facts
from .network import Passes
from .recording import Recording

_span = _core.trace.span


def _nothing() -> Any:
    return None


class Loop:
    """The training loop, as far as torch's own parts tell of it.

    A step ends when the optimizer is through; where several take turns (a GAN), the one that was seen last for the
    first time. The next one begins with the next thing that training does: a batch, a pass, a step. What an evaluation
    does in between belongs to none.
    """

    def __init__(self, record: Recording, passes: Passes) -> None:
        self._record, self._passes = record, passes
        self._number = 0  # of the step that is going on, or comes next
        self._open = False
        self._known: list[int] = []  # optimizers, in the order in which they were seen
        self._closing = 0
        self._stepped: set[int] = set()  # optimizers, in this step
        self._stepping = False  # an optimizer is at work
        self._span: Any = None  # of its own work
        self._loader: Callable[[], Any] = _nothing  # that the last batch came from; no longer than the program has it
        self._training: weakref.WeakSet[Any] = weakref.WeakSet()  # loaders that have fed a step
        self._facts = facts.Facts()

    def watch(self) -> None:
        safe = self._record.safe
        optimizers.register_optimizer_step_pre_hook(safe(self._optimizer_begins))
        optimizers.register_optimizer_step_post_hook(safe(self._optimizer_ends))
        self._takes_from = safe(self._takes_from)  # type: ignore[method-assign]
        self._watch_loaders()
        self._watch_files()

    # --- steps
    def begin_step(self) -> None:
        if not self._open and self._record.counts_steps:
            self._open = True
            _core.trace.step(self._number)

    def trains(self, network: torch.nn.Module, inputs: Any) -> None:
        """A forward pass of training begins."""
        self.begin_step()
        loader = self._loader()
        if loader is not None:
            self._training.add(loader)
        self._facts.see(network, inputs, loader)

    def evaluates(self) -> None:
        """A step that only looked like one: its batch was for an evaluation."""
        if self._open and not self._passes.trained:
            self._open = False
            _core.trace.end_step()

    def _optimizer_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._record.on():
            return
        self.begin_step()
        self._stepping = True
        self.resume()

    def _optimizer_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._record.on() or not self._stepping:
            return
        self.pause()
        self._stepping = False
        self._facts.tell(optimizer, self._passes)
        if self._ends_step(id(optimizer)):
            self._passes.trained = False
            self._number += 1
            if self._open:
                self._open = False
                if self._record.counts_steps:
                    _core.trace.end_step()
            facts.count_memory()

    def pause(self) -> None:
        """A pass begins: where the optimizer calls it (a closure), its time is that of the pass."""
        if self._span is not None:
            self._span.__exit__(None, None, None)
            self._span = None

    def resume(self) -> None:
        """The passes that an optimizer has called are through."""
        if self._stepping and self._span is None:
            self._span = _span("optimizer")
            self._span.__enter__()

    def _ends_step(self, optimizer: int) -> bool:
        if optimizer not in self._known:
            self._known.append(optimizer)
            self._closing = optimizer
        elif optimizer in self._stepped:  # the last one to close did not come this time
            self._closing = optimizer
        self._stepped.add(optimizer)
        if optimizer == self._closing:
            self._stepped.clear()
            return True
        return False

    # --- batches
    def _watch_loaders(self) -> None:
        begin, following = dataloader.DataLoader.__iter__, dataloader._BaseDataLoaderIter.__next__

        @functools.wraps(begin)
        def __iter__(loader: Any) -> Any:
            if not self._record.on():
                return begin(loader)
            self._takes_from(loader)
            with _span("wait for input"):
                batches = begin(loader)
            if isinstance(batches, dataloader._BaseDataLoaderIter):
                batches.__dict__["_ronde_loader"] = weakref.ref(loader)
            return batches

        @functools.wraps(following)
        def __next__(batches: Any) -> Any:
            if not self._record.on():
                return following(batches)
            if not _is_through(batches):
                self._takes_from(batches.__dict__.get("_ronde_loader", _nothing)())
            with _span("wait for input"):
                return following(batches)

        dataloader.DataLoader.__iter__ = __iter__  # type: ignore[method-assign]
        dataloader._BaseDataLoaderIter.__next__ = __next__  # type: ignore[method-assign]

    def _takes_from(self, loader: Any) -> None:
        self._loader = weakref.ref(loader) if loader is not None else _nothing
        if loader in self._training:
            self.begin_step()

    # --- files
    def _watch_files(self) -> None:
        for name, label in (("save", "checkpoint copy"), ("load", "load")):
            setattr(torch, name, self._spanned(getattr(torch, name), label))

    def _spanned(self, function: Any, label: str) -> Any:
        @functools.wraps(function)
        def spanned(*args: Any, **kwargs: Any) -> Any:
            # Before a job has met, a program may load files: who it is, is not known then.
            if not self._record.begun() or not self._record.on():
                return function(*args, **kwargs)
            with _span(label):
                return function(*args, **kwargs)

        return spanned


def _is_through(batches: Any) -> bool:
    """Whether it will give no more, as far as that can be told: then what is asked for is no batch of a step."""
    if batches._dataset_kind == dataloader._DatasetKind.Iterable:
        return False
    try:
        return bool(batches._num_yielded >= len(batches))
    except TypeError:  # a sampler without a length
        return False
