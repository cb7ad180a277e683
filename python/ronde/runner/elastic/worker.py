"""Messages about hosts that come and go, under the name that Horovod has for the place."""

from ronde.common.elastic import HostUpdateResult, WorkerNotificationManager

__all__ = ["HostUpdateResult", "WorkerNotificationManager"]
