"""Jobs under `ronde run`, for tests: run to their end, or started and then handled while they run."""

import os
import pathlib
import subprocess
import time
from collections.abc import Callable

TEST_TIMEOUT = 40.0  # seconds; four times what a very slow machine may need
QUIET = ("--log-level", "error")  # on a small machine there is a warning about cores


def wait_until(holds, what: str | Callable[[], str]) -> None:
    """`what` may be a function, for what is to be looked at only when it was in vain."""
    end = time.monotonic() + TEST_TIMEOUT
    while not holds():
        assert time.monotonic() < end, f"waited in vain: {what() if callable(what) else what}"
        time.sleep(0.01)


def state_of(pid: int) -> str:
    """What a process is at, thread by thread; for messages."""
    try:
        threads = sorted(pathlib.Path(f"/proc/{pid}/task").iterdir())
        return "; ".join(
            f"{(one / 'comm').read_text().strip()}: {(one / 'stat').read_text().rpartition(')')[2].split()[0]}"
            f" in {(one / 'wchan').read_text()}"
            for one in threads
        )
    except OSError:
        return "it has ended"


def alive(mark: str) -> list[int]:
    """Processes, zombies aside, that were started with JOB_MARK=mark in their environment."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"JOB_MARK={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # gone meanwhile, or not ours
            continue
    return found


def is_zombie(pid: int) -> bool:
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


class Job:
    """Starts at once; output goes to files, so that nobody has to read it while the job runs."""

    def __init__(self, program, env: dict[str, str], folder: pathlib.Path, arguments: tuple[str, ...], **options):
        self.folder = folder
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err} | options
            self.process = subprocess.Popen([program, "run", *arguments], env=env, cwd=folder, **streams)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text(errors="replace")

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text(errors="replace")

    def wait_for_lines(self, *lines: str) -> None:
        wait_until(lambda: all(line in self.out.splitlines() for line in lines), lambda: f"{lines} in {self.out}")

    def launcher(self) -> int:
        """The process that has started the ranks, the child of the one that we have started."""
        for folder in pathlib.Path("/proc").iterdir():
            try:
                stat = (folder / "stat").read_text() if folder.name.isdigit() else ""
            except OSError:
                continue
            if stat and int(stat.rpartition(")")[2].split()[1]) == self.pid:
                return int(folder.name)
        raise AssertionError("there is no launcher")

    def wait(self) -> int:
        return self.process.wait(TEST_TIMEOUT)

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)
