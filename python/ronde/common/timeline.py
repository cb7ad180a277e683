"""Horovod's timeline, from what the session records: what init(), shutdown() and start_timeline() need for it.

settings(HOROVOD_TIMELINE, trace_dir) goes into the session's settings, begun() follows its start, ended() its end.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings

from .. import _core

DYNAMIC = "DYNAMIC"


class Timelines:
    """Of one session after the other."""

    def __init__(self) -> None:
        self._file = ""
        self._folder = ""

    def settings(self, timeline: str, trace_dir: str) -> dict[str, str]:
        """What the session needs so that timelines can be written; ``timeline`` is HOROVOD_TIMELINE, "" where not set.

        Where the user records nothing, the recorder writes to a folder of its own, which goes with the session.
        """
        self._file = "" if timeline == DYNAMIC else timeline
        if not timeline or trace_dir:
            return {}
        self._folder = tempfile.mkdtemp(prefix="ronde-timeline-")
        return {"trace.dir": self._folder}

    def begun(self, mark_cycles: bool) -> None:
        """The session is there."""
        if self._folder:
            _core.timeline_only()
        if self._file:
            try:
                _core.timeline_start(self._file, mark_cycles)
            except ValueError as error:  # no reason not to train
                warnings.warn(f"HOROVOD_TIMELINE={self._file}: {error}", RuntimeWarning, stacklevel=3)

    def ended(self) -> None:
        """The session has gone, or could not begin. A timeline that nobody had stopped was written as it went."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._file = self._folder = ""
