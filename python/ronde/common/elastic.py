"""State that survives failures, and the loop that goes back to it. What is torch's is in ronde.torch.elastic."""

from __future__ import annotations

import enum
import functools
import queue
from collections.abc import Callable, Iterable
from typing import Any

from ronde.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt

__all__ = ["HostUpdateResult", "ObjectState", "State", "WorkerNotificationManager", "notification_manager", "run_fn"]


class HostUpdateResult(enum.IntFlag):
    """What has become of the hosts of a job, as messages to a state say it."""

    no_update = 0
    removed = 1
    added = 2
    mixed = removed | added


class WorkerNotificationManager:
    """Passes on to states which hosts come and go. No launcher of Ronde's says so yet; programs may, and tests do."""

    def __init__(self) -> None:
        self._listeners: list[Any] = []

    def init(self, *_: Any, **__: Any) -> None:
        """There is nobody to connect to."""

    def register_listener(self, listener: Any) -> None:
        self._listeners.append(listener)

    def remove_listener(self, listener: Any) -> None:
        self._listeners = [other for other in self._listeners if other is not listener]

    def handle_hosts_updated(self, timestamp: float, update_res: HostUpdateResult) -> None:
        for listener in self._listeners:
            listener.on_hosts_updated(timestamp, update_res)


notification_manager = WorkerNotificationManager()


class State:
    """What a training must not lose. Children say how it is saved, restored and shared.

    ``bcast_object`` returns rank 0's object on every rank, ``get_rank`` this rank's number.
    """

    def __init__(self, bcast_object: Callable[[Any], Any], get_rank: Callable[[], int]) -> None:
        self._bcast_object = bcast_object
        self._rank = get_rank
        self._host_messages: queue.Queue = queue.Queue()
        self._last_updated_timestamp = 0
        self._reset_callbacks: list[Callable[[], Any]] = []

    def register_reset_callbacks(self, callbacks: Iterable[Callable[[], Any]]) -> None:
        """Functions to call after ranks have met again, for example to fit the learning rate to their number.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.register_reset_callbacks([lambda: optimizer.param_groups[0].update(lr=0.01 * hvd.size())])
        """
        self._reset_callbacks.extend(callbacks)

    def on_reset(self) -> None:
        """Called when ranks have met again: what they were told before is old.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.on_reset()
        """
        self._host_messages = queue.Queue()
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp: float, update_res: HostUpdateResult) -> None:
        """A message that hosts have come or gone, which check_host_updates() looks at.

        >>> from ronde.common.elastic import HostUpdateResult
        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.on_hosts_updated(1.0, HostUpdateResult.added)
        """
        self._host_messages.put((timestamp, update_res))

    def commit(self) -> None:
        """Saves the state, then looks whether hosts have come or gone. Saving copies everything: once in many batches
        is a good measure.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> for batch in range(200):
        ...     if batch % 100 == 0:
        ...         state.commit()
        """
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Raises HostsUpdatedInterrupt, on all ranks at once, when rank 0 has been told of hosts that came or went.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.check_host_updates()
        """
        before = latest = self._last_updated_timestamp
        update = HostUpdateResult.no_update
        while not self._host_messages.empty():
            timestamp, what = self._host_messages.get()
            if timestamp > latest:
                latest = timestamp
                update |= what
        before, self._last_updated_timestamp, update = self._bcast_object((before, latest, update))
        if self._last_updated_timestamp > before:
            raise HostsUpdatedInterrupt(update == HostUpdateResult.removed)

    def save(self) -> None:
        """Keeps the state as it is now, in memory.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.save()
        """
        raise NotImplementedError

    def restore(self) -> None:
        """Goes back to what was saved last.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.epoch = 7
        >>> state.restore()
        >>> state.epoch
        0
        """
        raise NotImplementedError

    def sync(self) -> None:
        """Gives all ranks rank 0's state.

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.sync()
        """
        raise NotImplementedError

    def reset(self) -> None:
        """Called after ranks have met again, before sync().

        >>> state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
        >>> state.reset()
        """


def _snapshot(value: Any) -> Any:
    """A copy of what is made to be changed in place; other objects are themselves, since copies of, say, a scheduler
    would have an optimizer of their own."""
    if type(value) is dict:
        return {key: _snapshot(inner) for key, inner in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(_snapshot(inner) for inner in value)
    if type(value).__module__ == "numpy" and hasattr(value, "copy"):
        return value.copy()
    if type(value).__module__ == "torch" and type(value).__name__ == "Tensor":
        return value.detach().clone()
    return value


class ObjectState(State):
    """A state of Python objects: each keyword becomes an attribute.

    >>> from ronde.common.elastic import ObjectState
    >>> state = ObjectState(hvd.broadcast_object, hvd.rank, epoch=0, best=0.0)
    >>> state.epoch += 1
    >>> state.restore()
    >>> state.epoch
    0
    """

    def __init__(self, bcast_object: Callable[[Any], Any], get_rank: Callable[[], int], **kwargs: Any) -> None:
        super().__init__(bcast_object=bcast_object, get_rank=get_rank)
        for name, value in kwargs.items():
            setattr(self, name, value)
        self._saved_state = kwargs
        ObjectState.save(self)  # and not what a child does besides

    def save(self) -> None:
        self._saved_state = {name: _snapshot(getattr(self, name)) for name in self._saved_state}

    def restore(self) -> None:
        self._set_attrs()

    def sync(self) -> None:
        ObjectState.save(self)  # what counts is the state as it is, also where it was not saved since
        if self._saved_state:
            self._saved_state = self._bcast_object(self._saved_state)
            if self._rank() != 0:  # whose objects stay the program's own
                self._set_attrs()

    def _set_attrs(self) -> None:
        for name, value in self._saved_state.items():
            setattr(self, name, _snapshot(value))


NOT_YET = "a changing number of ranks is not supported yet: start the job again, it resumes from its saved files"


def run_fn(func: Callable[..., Any], reset: Callable[[], None]) -> Callable[..., Any]:
    """``func(state, ...)`` that begins with the state of rank 0, and anew from what was committed when a collective
    fails. Ranks must all be there to begin anew: see ronde.torch.elastic.run."""

    @functools.wraps(func)
    def wrapper(state: Any, *args: Any, **kwargs: Any) -> Any:
        notification_manager.init()
        notification_manager.register_listener(state)
        skip_sync = False
        try:
            while True:
                try:
                    if not skip_sync:
                        state.sync()
                    return func(state, *args, **kwargs)
                except HorovodInternalError as error:
                    _refuse_hopeless(error)
                    state.restore()
                    skip_sync, cause = False, error
                except HostsUpdatedInterrupt as interrupt:
                    skip_sync, cause = interrupt.skip_sync, interrupt
                _begin_anew(reset, cause)
                state.on_reset()
        finally:
            notification_manager.remove_listener(state)

    return wrapper


def _refuse_hopeless(error: HorovodInternalError) -> None:
    """A second try is of no use when a rank is gone, nor when ranks have asked for different things: they would
    again."""
    kind = getattr(error, "kind", "")
    if kind == "peer lost":
        raise HorovodInternalError(f"{error}; {NOT_YET}") from error
    if kind == "mismatch":
        raise error


def _begin_anew(reset: Callable[[], None], cause: Exception) -> None:
    try:
        reset()
    except Exception as error:
        raise HorovodInternalError(f"the ranks could not reconnect ({error}); {NOT_YET}") from cause
