"""`run`: a Python function on several ranks, started from Python."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ronde.program import program

__all__ = ["run"]


def run(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    num_proc: int = 1,
    min_num_proc: int | None = None,
    max_num_proc: int | None = None,
    slots: int | None = None,
    reset_limit: int | None = None,
    cooldown_range: Sequence[int] | None = None,
    hosts: str | None = None,
    hostfile: str | None = None,
    start_timeout: int | None = None,
    ssh_port: int | None = None,
    ssh_identity_file: str | None = None,
    disable_cache: bool | None = None,
    output_filename: str | None = None,
    verbose: int | None = None,
    use_gloo: bool | None = None,
    use_mpi: bool | None = None,
    mpi_args: str | None = None,
    network_interface: str | None = None,
    executable: str | None = None,
    np: int | None = None,
    min_np: int | None = None,
    max_np: int | None = None,
) -> list[Any]:
    """Calls ``func(*args, **kwargs)`` on ``num_proc`` ranks of ``ronde run``; returns what they return, by rank. With
    ``hosts`` or ``hostfile`` all must see the current folder. What is about ranks that come and go changes nothing.

    >>> def where():
    ...     import horovod.torch as hvd
    ...     hvd.init()
    ...     return hvd.rank()
    >>> horovod.run(where, num_proc=2)
    [0, 1]
    """
    if hosts is not None and hostfile is not None:
        raise ValueError("run: hosts and hostfile were both given: give only one of them")
    if use_gloo and use_mpi:
        raise ValueError("run: use_gloo and use_mpi were both set: set only one of them")
    if np is not None:
        warnings.warn("np is deprecated: use num_proc", DeprecationWarning, stacklevel=2)
        num_proc = np if num_proc == 1 else num_proc
    flags = _flags(
        num_proc,
        hosts=hosts,
        hostfile=hostfile,
        start_timeout=start_timeout,
        ssh_port=ssh_port,
        ssh_identity_file=ssh_identity_file,
        output_filename=output_filename,
        mpi_args=mpi_args,
        network_interfaces=network_interface,
        mpi=use_mpi,
        verbose=bool(verbose),
    )
    task = (func, tuple(args), kwargs or {})
    return _run_in(bool(hosts or hostfile), flags, executable or sys.executable, task, num_proc)


def _flags(ranks: int, **given: Any) -> list[str]:
    """The flags of ``ronde run``, which has horovodrun's."""
    flags = ["--horovod", "-n", str(ranks)]
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            flags.append(flag)
        elif value is not None and value is not False:
            flags += [flag, str(value)]
    return flags


def _run_in(shared: bool, flags: list[str], python: str, task: Any, ranks: int) -> list[Any]:
    import cloudpickle

    folder = pathlib.Path(tempfile.mkdtemp(prefix=".ronde-run-", dir=pathlib.Path.cwd() if shared else None))
    try:
        (folder / "task").write_bytes(cloudpickle.dumps(task))
        command = [program(), "run", *flags, python, "-m", "ronde.runner.task", str(folder)]
        done = subprocess.run(command, env=_environment())
        results = [_result(folder / f"result-{rank}") for rank in range(ranks)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    failed = [rank for rank, result in enumerate(results) if result is not None and result[0] == "failed"]
    # Ranks that only heard of another one's end are not the cause.
    failed.sort(key=lambda rank: "HorovodInternalError" in results[rank][1])
    if failed:
        raise RuntimeError(f"horovod.run: the function failed on rank {failed[0]}:\n{results[failed[0]][1]}")
    missing = [rank for rank, result in enumerate(results) if result is None]
    if done.returncode != 0 or missing:
        who = f"; no result came from ranks {missing}" if missing else ""
        raise RuntimeError(f"horovod.run: the job ended with exit code {done.returncode}, see its output{who}")
    return [result[1] for result in results]


def _environment() -> dict[str, str]:
    """A job in a job (a notebook's rank, a test's) is a job of its own."""
    ours = ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_", "HOROVOD_CROSS_", "RONDE__")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    here = str(pathlib.Path(__file__).parent.parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), here]))
    return environment


def _result(file: pathlib.Path) -> Any:
    import cloudpickle

    return cloudpickle.loads(file.read_bytes()) if file.exists() else None
