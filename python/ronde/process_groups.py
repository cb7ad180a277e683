"""The backend "ronde" of torch.distributed: how process groups come into being, and how ranks meet for them.

>>> import ronde.torch.distributed
>>> torch.distributed.init_process_group("ronde")

Where ronde is installed by pip, torch calls register() by itself when it is imported, so that the first line is not
needed. Nothing here loads the engine before a process group is made.
"""

from __future__ import annotations

import atexit
import datetime
import importlib
import json
import os
import socket
import struct
import sys
import traceback
from collections.abc import Iterator
from typing import Any

_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def register() -> None:
    """Makes the backend known to torch.distributed. May be called again."""
    try:
        import torch.distributed as dist

        rendezvous = importlib.import_module("torch.distributed.rendezvous")  # a function has that name too
    except ImportError:
        return
    if not dist.is_available() or hasattr(dist.Backend, "RONDE"):
        return
    dist.Backend.register_backend("ronde", _create, extended_api=True, devices=["cpu", "cuda"])
    handlers = getattr(rendezvous, "_rendezvous_handlers", None)
    if handlers is not None:
        handlers["ronde"] = _meet
        if "env" in handlers:
            handlers["env"] = _first_ours(handlers["env"])


# --- process groups ---------------------------------------------------------------------------------------------------


class _Current:
    """The process groups of this process: the engine is one."""

    groups: Any = None
    began = False  # the engine, for torch.distributed
    reason = ""


def _create(options: Any, _backend_options: Any) -> Any:
    """What torch calls for every process group, on its members."""
    ranks = list(options.global_ranks_in_group)
    timeout = options.timeout if isinstance(options.timeout, datetime.timedelta) else None
    timeout = timeout or datetime.timedelta(seconds=float(options.timeout))
    if not ranks:
        return _begin(options.store, options.group_rank, options.group_size, timeout)
    if _Current.groups is None or not _Current.groups.running():
        raise RuntimeError("a group of backend 'ronde' needs a default process group of backend 'ronde'")
    return _Current.groups.group(ranks, options.group_rank, timeout)


def _begin(store: Any, rank: int, size: int, timeout: datetime.timedelta) -> Any:
    from ronde import _core

    first = _Current.groups is None
    _Current.groups = _core.ProcessGroups(store, rank, size, timeout, _Current.began)
    _Current.began = False
    if first:
        _tell_why(sys.excepthook)
        atexit.register(_end)
    return _Current.groups.world(rank, size, timeout)


def _end() -> None:
    """Leaves the other ranks, if the program has not."""
    if _Current.groups is not None:
        _Current.groups.end(_Current.reason)


def _tell_why(next_hook: Any) -> None:
    def hook(kind: type[BaseException], value: BaseException, trace: Any) -> None:
        _Current.reason = "".join(traceback.format_exception_only(kind, value)).strip().splitlines()[-1]
        next_hook(kind, value, trace)

    sys.excepthook = hook


# --- how ranks meet ---------------------------------------------------------------------------------------------------


def _first_ours(torchs: Any) -> Any:
    """env://, where torchrun's variables are missing and `ronde run`, mpirun or srun has started this process."""

    def handler(url: str, timeout: datetime.timedelta | None = None, **others: Any) -> Iterator[tuple[Any, int, int]]:
        words = {} if timeout is None else {"timeout": timeout}
        if all(name in os.environ for name in _TORCHRUN) or "rank=" in url or not _started_by_launcher():
            return torchs(url, **words, **others)
        return _meet(url, **words)

    return handler


def _started_by_launcher() -> bool:
    """Whether the engine knows by itself who the other ranks are."""
    if "RONDE__BOOTSTRAP" in os.environ:
        return True
    from ronde import _core

    return _core.under_mpi()


def _meet(_url: str = "", timeout: datetime.timedelta | None = None, **_others: Any) -> Iterator[tuple[Any, int, int]]:
    """Ranks meet by the engine; then rank 0 serves a store at a port of its own."""
    from ronde import _core

    if not _core.running():
        _Current.began = True
        limit = f"{int((timeout or datetime.timedelta(minutes=30)).total_seconds() * 1000)}ms"
        if "ronde.traced" in sys.modules:  # this program is recorded as it is
            sys.modules["ronde.traced.recording"].session_begins()
        _core.start_by_launcher(limit)
        atexit.register(_core.stop, "")
    rank, size = _core.rank(), _core.size()
    for name, value in (
        ("RANK", rank),
        ("WORLD_SIZE", size),
        ("LOCAL_RANK", _core.local_rank()),
        ("LOCAL_WORLD_SIZE", _core.local_size()),
    ):
        os.environ.setdefault(name, str(value))
    yield _serve_store(_core, rank, size, timeout or datetime.timedelta(minutes=30)), rank, size


def _serve_store(core: Any, rank: int, size: int, timeout: datetime.timedelta) -> Any:
    from torch.distributed import TCPStore

    alone = core.local_size() == size
    served = None
    if rank == 0:
        # Other machines reach it only if there are any.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1" if alone else "", 0))
        listening.listen(1024)
        port = listening.getsockname()[1]
        served = TCPStore(
            "127.0.0.1",
            port,
            size,
            True,
            timeout,
            wait_for_workers=False,
            master_listen_fd=listening.detach(),
            use_libuv=False,
        )
        places = [("127.0.0.1", port)] if alone else [(name, port) for name in _addresses()]
    told = core.tell_all(json.dumps(places) if rank == 0 else "")[0]
    if served is not None:
        return served
    host, port = _reachable(json.loads(told))
    return TCPStore(host, port, size, False, timeout, wait_for_workers=False)


def _addresses() -> list[str]:
    """The host's name, and the IPv4 addresses of its interfaces, the loopback left out."""
    import fcntl

    found = [socket.gethostname()]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(
                    any_socket.fileno(), 0x8915, struct.pack("256s", name.encode()[:15])
                )  # SIOCGIFADDR
            except OSError:  # it has none
                continue
            address = socket.inet_ntoa(answer[20:24])
            if not address.startswith("127."):
                found.append(address)
    return found


def _reachable(places: list[tuple[str, int]]) -> tuple[str, int]:
    if len(places) == 1:
        return places[0]
    for place in places:
        try:
            with socket.create_connection((place[0], place[1]), timeout=2):
                return place
        except OSError:
            continue
    raise ConnectionError(
        f"cannot reach rank 0's store at any of {', '.join(f'{host}:{port}' for host, port in places)}"
    )
