"""Fixtures for tests of the engine between processes: pytest_plugins = ["job_fixtures", "engine_fixtures"]."""

import pathlib

import pytest
from job import wait_until


def files() -> set[pathlib.Path]:
    """What a job could forget: anything in shared memory, and in /tmp what has our name (others write there too)."""
    return {*pathlib.Path("/dev/shm").iterdir(), *pathlib.Path("/tmp").glob("*ronde*")}


@pytest.fixture
def nothing_left(mark):
    """When the test is over there are no new files; that no process is left is what `mark` sees to."""
    before = files()
    yield
    wait_until(lambda: files() <= before, lambda: f"left behind: {files() - before}")


@pytest.fixture
def ranks(run, build_dir, nothing_left):
    """A job of a program from tests/comm: ranks(3, "ops_rank")."""
    return lambda count, program, *arguments: run("-n", str(count), str(build_dir / program), *arguments)
