"""Where the time of a run went, why, and what to change: what ``ronde report`` tells, as an object."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence
from typing import Any, Union

import torch  # noqa: F401  (before the engine, which is linked to it)

from . import _core

Path = Union[str, "os.PathLike[str]"]

__all__ = ["Report", "report"]


class Report:
    """The report on one run, or on several. ``document`` is what ``ronde report --json`` prints, see docs/report.md.

    >>> import ronde.report, ronde.trace, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ronde.trace.record(folder):
    ...         for number in range(10):
    ...             ronde.trace.step(number)
    ...             with ronde.trace.span("forward"):
    ...                 pass
    ...     found = ronde.report.report(folder)
    >>> found["state"]
    'good'
    """

    def __init__(self, sources: Sequence[str], steps: str, roofline: str, allreduce: str) -> None:
        self._arguments = (list(sources), steps, roofline, allreduce)
        analysis = _core.report.analyse(*self._arguments, False)
        self._text, self._guide = analysis.text(), analysis.guide()
        self.document: dict[str, Any] = json.loads(analysis.json())

    def __getitem__(self, part: str) -> Any:
        return self.document[part]

    def __repr__(self) -> str:
        return f"Report({', '.join(map(repr, self._arguments[0]))})"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """For a terminal: the verdict, the efficiency tree, where the time goes, causes, advice.

        >>> import ronde.report
        >>> ronde.report.report(folder / "trace").text() == str(ronde.report.report(folder / "trace"))
        True
        """
        return self._text

    def guide(self) -> str:
        """The order in which to tune, where this run stands, and the next experiment as a command.

        >>> import ronde.report
        >>> len(ronde.report.report(folder / "trace").guide().splitlines()) > 1
        True
        """
        return self._guide

    def html(self, path: Path) -> pathlib.Path:
        """Writes the page, one file without anything besides it, and returns its path.

        >>> import ronde.report
        >>> ronde.report.report(folder / "trace").html(folder / "report.html").name
        'report.html'
        """
        page = _core.report.analyse(*self._arguments, True).html()
        file = pathlib.Path(path)
        file.write_text(page, encoding="utf-8")
        return file


def report(folders: Path | Sequence[Path], *, steps: str = "", roofline: Path = "", allreduce: Path = "") -> Report:
    """Reads the traces of a run, or of several runs: how they scale, or two side by side.

    ``steps`` ("10..40") looks at these alone; ``roofline`` is what ``ronde bench roofline`` wrote on the run's node,
    ``allreduce`` what ``ronde bench allreduce --json`` printed.

    >>> import ronde.report
    >>> found = ronde.report.report(folder / "trace")
    >>> titles = [advice["title"] for advice in found["advice"]]
    >>> found["state"]
    'good'
    """
    each = [folders] if isinstance(folders, (str, os.PathLike)) else folders
    return Report([os.fspath(folder) for folder in each], steps, os.fspath(roofline), os.fspath(allreduce))
