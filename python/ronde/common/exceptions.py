"""What can go wrong. `HorovodInternalError` keeps the name under which programs catch it."""

from ronde._core import HorovodInternalError

__all__ = ["HorovodInternalError", "HorovodVersionMismatchError", "HostsUpdatedInterrupt"]


class HostsUpdatedInterrupt(RuntimeError):
    """Hosts were added or removed; raised where a program commits its state.

    skip_sync: hosts were only removed, so that nobody needs the state sent again.
    """

    def __init__(self, skip_sync):
        super().__init__("the hosts of this job have changed")
        self.skip_sync = skip_sync


def get_version_mismatch_message(name, version, installed_version):
    return f"ronde was built for {name} {installed_version} and finds {version}: build it again (pip install .)"


class HorovodVersionMismatchError(ImportError):
    """The package was built for another version of a library than the one that is installed."""

    def __init__(self, name, version, installed_version):
        super().__init__(get_version_mismatch_message(name, version, installed_version))
        self.name = name
        self.version = version
        self.installed_version = installed_version
