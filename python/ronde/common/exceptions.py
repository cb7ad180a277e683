"""What can go wrong. `HorovodInternalError` keeps the name under which programs catch it."""

from __future__ import annotations

import traceback

from ronde._core import HorovodInternalError

__all__ = ["HorovodInternalError", "HorovodVersionMismatchError", "HostsUpdatedInterrupt"]

HorovodInternalError.__doc__ = """A collective failed: a rank was lost, or ranks asked for different things.

>>> try:
...     mean = hvd.allreduce(torch.ones(3), name="loss")
... except hvd.HorovodInternalError as error:
...     print("back to the last checkpoint:", error)
"""


class HostsUpdatedInterrupt(RuntimeError):
    """Hosts were added or removed; raised where a program commits its state.

    skip_sync: hosts were only removed, so that nobody needs the state sent again.

    >>> from ronde.common.exceptions import HostsUpdatedInterrupt
    >>> HostsUpdatedInterrupt(skip_sync=True).skip_sync
    True
    """

    def __init__(self, skip_sync: bool) -> None:
        super().__init__("the hosts of this job have changed")
        self.skip_sync = skip_sync


def get_version_mismatch_message(name: str, version: str, installed_version: str) -> str:
    """What HorovodVersionMismatchError says.

    >>> from ronde.common.exceptions import get_version_mismatch_message
    >>> get_version_mismatch_message("torch", "2.7", "2.6")
    'ronde was built for torch 2.6 and finds 2.7: build it again (pip install .)'
    """
    return f"ronde was built for {name} {installed_version}, but {version} is installed: build it again (pip install .)"


class HorovodVersionMismatchError(ImportError):
    """The package was built for another version of a library than the one that is installed.

    >>> from ronde.common.exceptions import HorovodVersionMismatchError
    >>> HorovodVersionMismatchError("torch", "2.7", "2.6").installed_version
    '2.6'
    """

    def __init__(self, name: str, version: str, installed_version: str) -> None:
        super().__init__(get_version_mismatch_message(name, version, installed_version))
        self.name = name
        self.version = version
        self.installed_version = installed_version


def one_line(kind: type[BaseException], error: BaseException) -> str:
    """What ended a program, as the other ranks and the trace are told.

    >>> from ronde.common.exceptions import one_line
    >>> one_line(ValueError, ValueError("these labels are wrong"))
    'ValueError: these labels are wrong'
    """
    return "".join(traceback.format_exception_only(kind, error)).strip().splitlines()[-1]
