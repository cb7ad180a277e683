"""The session and all that waits for it. The collectives themselves are in `collectives`."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from ronde import _core
from ronde._core import poll, synchronize
from ronde.common import process_sets as _sets
from ronde.common.basics import HorovodBasics
from ronde.common.exceptions import HorovodInternalError
from ronde.common.exceptions import one_line as _one_line
from ronde.common.parts import meeting_of as _meeting_of
from ronde.common.process_sets import ProcessSet, add_process_set, global_process_set, remove_process_set
from ronde.common.timeline import Timelines as _Timelines
from ronde.common.util import gpu_available, is_iterable, num_rank_is_power_2
from ronde.torch.collectives import (
    Adasum,
    Average,
    HorovodAllgather,
    HorovodAllreduce,
    HorovodAlltoall,
    HorovodBroadcast,
    HorovodGroupedAllreduce,
    HorovodReducescatter,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allgather_async,
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    alltoall,
    alltoall_async,
    barrier,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    grouped_allgather,
    grouped_allgather_async,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
    grouped_reducescatter,
    grouped_reducescatter_async,
    handle_average_backwards_compatibility,
    join,
    reducescatter,
    reducescatter_async,
    sparse_allreduce_async,
)
from ronde.torch.compression import Compression

# --- begin and end ----------------------------------------------------------------------------------------------------


_timelines = _Timelines()


class _Ending:
    """Why this process ends: the other ranks are told."""

    pid = 0  # of the process that called init(): a forked child ends without a word
    reason = ""
    last = (None, None, None)  # what init() was given


def init(
    comm: Any = None, process_sets: Iterable[ProcessSet] | str | None = None, settings: dict[str, Any] | None = None
) -> None:
    """Meets the other ranks of the job: those of `ronde run`, mpirun, srun or torchrun; without them there is one.

    comm: which ranks of the job meet, a list or a communicator of mpi4py; None: all. Those of a part count from 0.
    process_sets: ProcessSets to make at once, or "dynamic".
    settings: a dict of ronde's settings, such as {"comm.fusion_bytes": "32MiB"}; they win over the environment.

    >>> hvd.init()
    >>> hvd.rank(), hvd.size()
    (0, 1)
    """
    if _core.running():
        return
    if isinstance(process_sets, str) and process_sets.lower() != "dynamic":
        raise ValueError(f"process_sets must be a list of ProcessSet or 'dynamic', got '{process_sets}'")
    if comm is not None and not is_iterable(comm) and not hasattr(comm, "Get_group"):
        raise ValueError(f"comm must be a list of ranks or an mpi4py communicator, got {comm!r}")
    wanted = [] if process_sets is None or isinstance(process_sets, str) else list(process_sets)
    texts = {key: str(value) for key, value in (settings or {}).items()}
    trace_dir = texts.get("trace.dir", os.environ.get("RONDE_TRACE_DIR", ""))
    try:
        timelines = _timelines.settings(os.environ.get("HOROVOD_TIMELINE", ""), trace_dir)
        if "ronde.traced" in sys.modules:  # this program is recorded as it is
            sys.modules["ronde.traced.recording"].session_begins()
        _core.start(texts | timelines, _meeting_of(comm))
        _timelines.begun(os.environ.get("HOROVOD_TIMELINE_MARK_CYCLES", "0") == "1")
        _sets._init_process_sets(wanted)
    except Exception:
        shutdown()
        _timelines.ended()
        raise
    _Ending.last = (comm, process_sets, settings)
    if _Ending.pid != os.getpid():
        _Ending.pid = os.getpid()
        _tell_why(sys.excepthook)
        atexit.register(shutdown)


def _tell_why(next_hook: Callable[..., Any]) -> None:
    def hook(kind: type[BaseException], value: BaseException, trace: Any) -> None:
        _Ending.reason = _one_line(kind, value)
        next_hook(kind, value, trace)

    sys.excepthook = hook


def shutdown() -> None:
    """Leaves the other ranks. init() may follow: the ranks then meet again.

    >>> hvd.shutdown()
    >>> hvd.is_initialized()
    False
    >>> hvd.init()
    """
    if _core.running() and _Ending.pid in (0, os.getpid()):
        for process_set in list(_sets._known):
            process_set._invalidate()
        _sets._known.clear()
        _core.stop(_Ending.reason)
        _timelines.ended()


def is_initialized() -> bool:
    """Whether init() has been called, and shutdown() has not.

    >>> hvd.is_initialized()
    True
    """
    return _core.running()


# --- who and where ----------------------------------------------------------------------------------------------------


def size() -> int:
    """The number of ranks.

    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
    """
    return _core.size()


def rank() -> int:
    """This rank's number, from 0.

    >>> if hvd.rank() == 0:
    ...     torch.save(model.state_dict(), folder / "model.pt")
    """
    return _core.rank()


def local_size() -> int:
    """The number of ranks on this machine, which share its cores.

    >>> torch.set_num_threads(max(1, torch.get_num_threads() // hvd.local_size()))
    """
    return _core.local_size()


def local_rank() -> int:
    """This rank's number on its machine: which GPU to take.

    >>> if torch.cuda.is_available():
    ...     torch.cuda.set_device(hvd.local_rank())
    """
    return _core.local_rank()


def cross_size() -> int:
    """The number of machines that have a rank with this one's local number.

    >>> hvd.cross_size()
    1
    """
    return _core.cross_size()


def cross_rank() -> int:
    """Which of those machines this is.

    >>> hvd.cross_rank()
    0
    """
    return _core.cross_rank()


def is_homogeneous() -> bool:
    """Whether all machines have the same number of ranks.

    >>> from ronde.torch import mpi_ops
    >>> mpi_ops.is_homogeneous()
    True
    """
    return _core.is_homogeneous()


# --- what is built in -------------------------------------------------------------------------------------------------


def mpi_built() -> bool:
    """Whether MPI can carry data between machines.

    >>> hvd.mpi_built() in (True, False)
    True
    """
    return _core.mpi_built()


def mpi_enabled() -> bool:
    """Whether the ranks of this job have met by MPI.

    >>> hvd.mpi_enabled()
    False
    """
    return _core.mpi_enabled()


def mpi_threads_supported() -> bool:
    """Whether the program may call MPI from several threads while ronde does: where it has started MPI itself, for all
    threads, as mpi4py does when it is imported before init().

    >>> if hvd.mpi_enabled():
    ...     print(hvd.mpi_threads_supported())
    """
    if not mpi_enabled():
        raise ValueError("the ranks of this job were not started with MPI: start them with mpirun or srun")
    _core.size()
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and mpi.Query_thread() == mpi.THREAD_MULTIPLE


def gloo_built() -> bool:
    """True: ronde's own links do what Gloo does for Horovod.

    >>> hvd.gloo_built()
    True
    """
    return True


def gloo_enabled() -> bool:
    """Whether the ranks have met without MPI.

    >>> hvd.gloo_enabled()
    True
    """
    return not mpi_enabled()


def nccl_built() -> int:
    """The version of NCCL that is built in, as a number; 0: none.

    >>> hvd.nccl_built()
    0
    """
    return 0


def ddl_built() -> bool:
    """False: IBM's DDL is not used.

    >>> hvd.ddl_built()
    False
    """
    return False


def ccl_built() -> bool:
    """False: Intel's oneCCL is not used.

    >>> hvd.ccl_built()
    False
    """
    return False


def cuda_built() -> bool:
    """Whether ronde was built with CUDA.

    >>> hvd.cuda_built() in (True, False)
    True
    """
    return _core.cuda_built()


def rocm_built() -> bool:
    """False: ronde is not built for AMD's GPUs.

    >>> hvd.rocm_built()
    False
    """
    return False


# --- timeline ---------------------------------------------------------------------------------------------------------


def start_timeline(file_path: str | os.PathLike[str], mark_cycles: bool = False) -> None:
    """Records from now on what Horovod's timeline shows, for stop_timeline() to write to a file.

    Needs HOROVOD_TIMELINE=DYNAMIC (or a file) when the program starts. `ronde report` tells more.

    >>> hvd.start_timeline(folder / "steps.json")
    >>> mean = hvd.allreduce(torch.ones(3), name="ones")
    >>> hvd.stop_timeline()
    """
    _core.size()
    if not os.environ.get("HOROVOD_TIMELINE"):
        raise ValueError("start_timeline() needs HOROVOD_TIMELINE=DYNAMIC in the environment when init() is called")
    _core.timeline_start(os.fspath(file_path), bool(mark_cycles))


def stop_timeline() -> None:
    """Writes the file that start_timeline() named; it opens in chrome://tracing and in Perfetto.

    >>> hvd.start_timeline(folder / "all.json", mark_cycles=True)
    >>> hvd.stop_timeline()
    >>> (folder / "all.json").exists()
    True
    """
    _core.size()
    _core.timeline_stop()


_basics = HorovodBasics()  # what programs written for Horovod reach into
