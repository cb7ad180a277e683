"""Fixtures for tests under Slurm: pytest_plugins = ["slurm_fixtures"]. Skipped where there can be none."""

import os

import pytest
from job import alive, wait_until
from slurm import Slurm, why_not


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """One for all tests of a file. Nothing of it, steps and daemons alike, is alive when they are over."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RONDE_", "SLURM_"))}
    folder = tmp_path_factory.mktemp("slurm")
    made = Slurm(folder, env | {"JOB_MARK": folder.name})
    try:
        made.start()
        yield made
    finally:
        made.stop()
    wait_until(lambda: not alive(folder.name), lambda: f"left behind: {alive(folder.name)}")
