"""The session and all that waits for it. The collectives themselves are in `collectives`."""

import atexit
import os
import sys
import traceback

from ronde import _core
from ronde._core import poll, synchronize
from ronde.common import process_sets as _sets
from ronde.common.exceptions import HorovodInternalError
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

__all__ = [name for name in dir() if not name.startswith("_")]

# --- begin and end ----------------------------------------------------------------------------------------------------


_timelines = _Timelines()


class _Ending:
    """Why this process ends: the other ranks are told."""

    pid = 0  # of the process that called init(): a forked child ends without a word
    reason = ""
    last = (None, None, None)  # what init() was given


def init(comm=None, process_sets=None, settings=None):
    """Meets the other ranks of the job: those of `ronde run`, mpirun, srun or torchrun; without them there is one.

    comm: None, or all ranks, or mpi4py's COMM_WORLD. process_sets: ProcessSets to make at once, or "dynamic".
    settings: a dict of ronde's settings, such as {"comm.fusion_bytes": "32MiB"}; they win over the environment.

    >>> hvd.init()
    >>> hvd.rank(), hvd.size()
    (0, 1)
    """
    if _core.running():
        return
    if isinstance(process_sets, str) and process_sets.lower() != "dynamic":
        raise ValueError(f"process_sets is '{process_sets}': it takes a list of ProcessSet, or 'dynamic'")
    if comm is not None and not is_iterable(comm) and not hasattr(comm, "Get_group"):
        raise ValueError(f"comm is {comm!r}: it takes a list of ranks, or a communicator of mpi4py")
    wanted = [] if process_sets is None or isinstance(process_sets, str) else list(process_sets)
    texts = {key: str(value) for key, value in (settings or {}).items()}
    trace_dir = texts.get("trace.dir", os.environ.get("RONDE_TRACE_DIR", ""))
    try:
        _core.start(texts | _timelines.settings(os.environ.get("HOROVOD_TIMELINE", ""), trace_dir))
        _timelines.begun(os.environ.get("HOROVOD_TIMELINE_MARK_CYCLES", "0") == "1")
        _refuse_other_worlds(comm)
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


def _refuse_other_worlds(comm):
    if comm is None:
        return
    ranks = _sets._ranks_of(comm) if hasattr(comm, "Get_group") else sorted(comm)
    if ranks and ranks != list(range(_core.size())):
        raise ValueError(
            f"init() was asked for the ranks {ranks} of {_core.size()}: all ranks of a job meet; "
            "for some of them make a process set (init(process_sets=[hvd.ProcessSet([...])]))"
        )


def _tell_why(next_hook):
    def hook(kind, value, trace):
        _Ending.reason = "".join(traceback.format_exception_only(kind, value)).strip().splitlines()[-1]
        next_hook(kind, value, trace)

    sys.excepthook = hook


def shutdown():
    """Leaves the other ranks. init() may follow: the ranks then meet again.

    >>> hvd.shutdown()
    """
    if _core.running() and _Ending.pid in (0, os.getpid()):
        for process_set in list(_sets._known):
            process_set._invalidate()
        _sets._known.clear()
        _core.stop(_Ending.reason)
        _timelines.ended()


def is_initialized():
    """Whether init() has been called, and shutdown() has not."""
    return _core.running()


# --- who and where ----------------------------------------------------------------------------------------------------


def size():
    """The number of ranks.

    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
    """
    return _core.size()


def rank():
    """This rank's number, from 0.

    >>> if hvd.rank() == 0:
    ...     torch.save(model.state_dict(), "model.pt")
    """
    return _core.rank()


def local_size():
    """The number of ranks on this machine."""
    return _core.local_size()


def local_rank():
    """This rank's number on its machine: which GPU to take.

    >>> torch.cuda.set_device(hvd.local_rank())
    """
    return _core.local_rank()


def cross_size():
    """The number of machines that have a rank with this one's local number."""
    return _core.cross_size()


def cross_rank():
    """Which of those machines this is."""
    return _core.cross_rank()


def is_homogeneous():
    """Whether all machines have the same number of ranks."""
    return _core.is_homogeneous()


# --- what is built in -------------------------------------------------------------------------------------------------


def mpi_built():
    """Whether MPI can carry data between machines."""
    return _core.mpi_built()


def mpi_enabled():
    """Whether the ranks of this job have met by MPI."""
    return _core.mpi_enabled()


def mpi_threads_supported():
    """Whether the program may call MPI from several threads while ronde does."""
    if not mpi_enabled():
        raise ValueError("the ranks of this job have not met by MPI: start them by mpirun or srun to use it")
    _core.size()
    return _core.mpi_threads_supported()


def gloo_built():
    """True: ronde's own links do what Gloo does for Horovod."""
    return True


def gloo_enabled():
    """Whether the ranks have met without MPI."""
    return not mpi_enabled()


def nccl_built():
    """The version of NCCL that is built in, as a number; 0: none."""
    return 0


def ddl_built():
    """False: IBM's DDL is not used."""
    return False


def ccl_built():
    """False: Intel's oneCCL is not used."""
    return False


def cuda_built():
    """Whether ronde was built with CUDA."""
    return _core.cuda_built()


def rocm_built():
    """False: ronde is not built for AMD's GPUs."""
    return False


# --- timeline ---------------------------------------------------------------------------------------------------------


def start_timeline(file_path, mark_cycles=False):
    """Records from now on what Horovod's timeline shows, for stop_timeline() to write to a file.

    Needs HOROVOD_TIMELINE=DYNAMIC (or a file) when the program starts. `ronde report` tells more.

    >>> hvd.start_timeline("steps.json")
    >>> train(batch)
    >>> hvd.stop_timeline()
    """
    _core.size()
    if not os.environ.get("HOROVOD_TIMELINE"):
        raise ValueError("start_timeline() needs HOROVOD_TIMELINE=DYNAMIC in the environment when init() is called")
    _core.timeline_start(os.fspath(file_path), bool(mark_cycles))


def stop_timeline():
    """Writes the file that start_timeline() named."""
    _core.size()
    _core.timeline_stop()
