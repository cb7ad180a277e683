"""Jobs that are shorter than a training."""

from __future__ import annotations

from types import TracebackType

import torch

from ronde import _core
from ronde.torch.mpi_ops import Sum, allreduce

TO_BE_CONTINUED = _core.train.TO_BE_CONTINUED
INTERRUPTED = _core.train.INTERRUPTED


class Deadline:
    """Says when a training must stop to have its checkpoint written in time: before a time limit (of the job, as
    `ronde run --deadline` has it, or of the program: "55min", "2h"), and after SIGTERM, SIGUSR1 or Ctrl-C.

    >>> import ronde.train
    >>> with ronde.train.Deadline("55min") as deadline:
    ...     for step in range(1000):
    ...         if deadline.reached():          # the same answer on all ranks
    ...             break                       # save a checkpoint, and sys.exit(deadline.exit_code)
    >>> step, deadline.exit_code
    (999, 0)

    exit_code: 75, "start me again": `ronde run --restart` and schedulers' scripts understand it; 130 after Ctrl-C.
    """

    def __init__(self, limit: str = "", *, settings: dict[str, str] | None = None) -> None:
        known = _core.train.Settings("", {"train.deadline": limit, **(settings or {})})
        self._time = _core.train.Deadline(known["train.deadline"], known["launch.deadline"])
        self._signals = _core.train.Signals()
        self._checkpoint = self._evaluation = 0.0
        self.exit_code = 0
        self.why = ""

    def __enter__(self) -> Deadline:
        self._signals.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._signals.end()

    def needs(self, *, checkpoint_s: float = 0, evaluation_s: float = 0) -> None:
        """How long a checkpoint takes, and an evaluation that comes before the next question.

        >>> import ronde.train
        >>> ronde.train.Deadline("1h").needs(checkpoint_s=20)
        """
        self._checkpoint, self._evaluation = checkpoint_s, evaluation_s

    @property
    def left_s(self) -> float | None:
        """Seconds until the time limit; None: there is none."""
        return self._time.left()

    def _asked(self) -> tuple[bool, bool]:
        """Of this rank alone: whether the user interrupts, and whether time is over."""
        signal = self._signals.asked()
        is_first = not _core.running() or _core.rank() == 0  # one clock decides
        over = is_first and self._time.over(self._checkpoint, self._evaluation)
        return signal == "SIGINT", over or signal not in (None, "SIGINT")

    def _step_ended(self) -> None:
        """For loops that ask in their own way: so that the length of steps is known."""
        self._time.step_ended()

    def _other_work_ended(self) -> None:
        """After an evaluation: that was no step."""
        self._time.other_work_ended()

    def reached(self) -> bool:
        """After each step, on all ranks.

        >>> import ronde.train
        >>> ronde.train.Deadline("1h").reached()
        False
        """
        self._step_ended()
        votes = torch.tensor(self._asked(), dtype=torch.float64)
        if _core.running() and _core.size() > 1:
            votes = allreduce(votes, name="deadline", op=Sum)
        return self._decide(*(bool(vote) for vote in votes > 0))

    def _decide(self, interrupted: bool, over: bool) -> bool:
        """What all ranks together say; sets exit_code and why."""
        if interrupted:
            self.exit_code, self.why = INTERRUPTED, "interrupted"
        elif over:
            self.exit_code, self.why = TO_BE_CONTINUED, "time is over"
        return interrupted or over
