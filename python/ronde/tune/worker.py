"""What runs in the processes of a search: one trial after the other. src/tune/run/worker.h lists the messages."""

from __future__ import annotations

import gc
import inspect
import os
import pathlib
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ronde.tune import session, trainable
from ronde.tune.session import ConfigChanged, TrialEnded


def start(target: Any, decode: Callable[[Any], Any]) -> tuple[int, int]:
    """Forks a process that runs trials of `target`; its number, and the descriptor of the socket that leads to it."""
    mine, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, mine.detach()
    code = 1
    try:
        mine.close()
        _die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search, which ends its processes
        gc.freeze()  # what the parent made need not be looked at again, nor copied
        serve(session.Channel(theirs), target, decode)
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_with_parent() -> None:
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)


def serve(channel: session.Channel, target: Any, decode: Callable[[Any], Any]) -> None:
    kept: list[trainable.Trainable] = []  # one object for many trials, where its class agrees
    while (order := channel.receive()) is not None and order["op"] != "exit":
        folder = pathlib.Path(order["folder"])
        context = session.Context(order["trial"], folder, channel, order["checkpoint"], order["iteration"])
        session.set_context(context)
        config = decode(order["config"])
        try:
            os.chdir(folder)
            if inspect.isclass(target):
                _run_class(context, target, config, decode, kept)
            else:
                _run_function(context, target, config, decode)
            channel.send(op="ended")
        except TrialEnded:
            channel.send(op="ended")
        except Exception as error:
            kept.clear()
            (folder / "error.txt").write_text(traceback.format_exc())
            channel.send(op="failed", error=f"{type(error).__name__}: {error} ({folder / 'error.txt'})")
        finally:
            session.set_context(None)


def _run_function(context: session.Context, function: Any, config: Any, decode: Callable[[Any], Any]) -> None:
    while True:
        try:
            return _call(context, function, config)
        except ConfigChanged as change:
            config, context.checkpoint = decode(change.config), change.checkpoint


def _call(context: session.Context, function: Any, config: Any) -> None:
    returned = function(config, **_old_arguments(context, function))
    if inspect.isgenerator(returned):
        for result in returned:
            session.report(_result_of(result))
    elif returned is not None:
        session.report(_result_of(returned))


def _old_arguments(context: session.Context, function: Any) -> dict[str, Any]:
    """What functions for Ray Tune before 2.0 ask for: `checkpoint_dir`, or a `reporter`."""
    try:
        names = list(inspect.signature(function).parameters)[1:]
    except (TypeError, ValueError):
        return {}
    arguments: dict[str, Any] = {}
    if "checkpoint_dir" in names:
        arguments["checkpoint_dir"] = context.checkpoint or None
    if "reporter" in names:
        arguments["reporter"] = session.report
    return arguments


def _result_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"_metric": value}


def _run_class(
    context: session.Context, target: Any, config: Any, decode: Callable[[Any], Any], kept: list[trainable.Trainable]
) -> None:
    run = _prepare(context, target, config, context.checkpoint, kept)
    while True:
        result = run.step()
        run.iteration += 1
        path = ""
        if isinstance(result, dict) and result.pop("should_checkpoint", False):
            path = _save(context, run)
        answer = context.answer(_result_of(result), path)
        if answer["op"] == "go":
            if answer.get("save") and not path:
                context.channel.send(op="saved", checkpoint=_save(context, run))
        elif answer["op"] == "exploit":
            run = _prepare(context, target, decode(answer["config"]), answer.get("checkpoint", ""), kept)
        else:
            if answer["op"] == "pause":
                context.channel.send(op="saved", checkpoint=_save(context, run))
            run.cleanup()
            return


def _prepare(
    context: session.Context, target: Any, config: Any, checkpoint: str, kept: list[trainable.Trainable]
) -> trainable.Trainable:
    if kept and kept[0].reset_config(config):
        kept[0].config = config
    else:
        kept[:] = [target(config)]
    kept[0].iteration = context.iteration
    if checkpoint:
        trainable.load(kept[0], pathlib.Path(checkpoint))
    return kept[0]


def _save(context: session.Context, run: trainable.Trainable) -> str:
    folder = context.folder / f"checkpoint_{run.iteration:06d}"
    trainable.save(run, folder)
    return str(folder)
