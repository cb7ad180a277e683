"""Small things that programs import from `horovod.common.util`."""

import contextlib
import functools
import os
import sysconfig
import warnings

from ronde import _core

EXTENSIONS = ["tensorflow", "torch", "mxnet"]


@contextlib.contextmanager
def env(**variables):
    """Environment variables for a while; None leaves one as it is.

    >>> with env(OMP_NUM_THREADS="1"):
    ...     pass
    """
    wanted = {name: value for name, value in variables.items() if value is not None}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def get_average_backwards_compatibility_fun(reduce_ops):
    """Returns what makes one reduction of `op` and the older `average`."""

    def choose(op, average):
        if op is not None:
            if average is not None:
                raise ValueError("'op' replaces 'average': give only one of them")
            return op
        if average is None:
            return reduce_ops.Average
        warnings.warn("'average' is deprecated: use op=hvd.Average or op=hvd.Sum", DeprecationWarning, stacklevel=3)
        return reduce_ops.Average if average else reduce_ops.Sum

    return choose


def num_rank_is_power_2(num_rank):
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def split_list(items, parts):
    """Cuts a list into so many parts, as equal as can be; the first ones get one more."""
    size, more = divmod(len(items), parts)
    cuts = [i * size + min(i, more) for i in range(parts + 1)]
    return [items[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False)]


def is_iterable(value):
    try:
        iter(value)
    except TypeError:
        return False
    return True


def get_ext_suffix():
    """How the names of Python's compiled modules end."""
    return sysconfig.get_config_var("EXT_SUFFIX") or ".so"


_cache = functools.cache


@_cache
def is_version_greater_equal_than(ver, target):
    """Whether a version is the other one or newer, '2.13.0+cpu' and '2.9.1', say.

    >>> is_version_greater_equal_than("2.13.0+cpu", "2.9.1")
    True
    """
    from torch.torch_version import TorchVersion

    if not isinstance(ver, str) or not isinstance(target, str):
        raise ValueError(f"versions must be strings, got {ver!r} and {target!r}")
    if len(target.split(".")) != 3:
        raise ValueError(f"'{target}' is not a version of the form major.minor.patch")
    return TorchVersion(ver) >= target


def check_extension(ext_name, ext_env_var, pkg_path, *args):
    """torch's part is there, or the import would have failed."""


def check_installed_version(name, version, exception=None):
    """The compiled module refuses a torch that it was not built for by itself."""
    if exception is not None:
        raise exception


def extension_available(ext_base_name, verbose=False):
    """Whether a framework's part is there: torch's is."""
    return ext_base_name == "torch"


def gpu_available(ext_base_name, verbose=False):
    import torch

    return ext_base_name == "torch" and torch.cuda.is_available()


def mpi_built(verbose=False):
    return _core.mpi_built()


def gloo_built(verbose=False):
    return True


def nccl_built(verbose=False):
    return 0


def ddl_built(verbose=False):
    return False


def ccl_built(verbose=False):
    return False
