"""Fixtures for tests of jobs: pytest_plugins = ["job_fixtures"]. None of these leaves a test with a process alive."""

import uuid

import pytest
from job import QUIET, Job, alive, wait_until


@pytest.fixture
def mark():
    """Goes into the environment of a job; when the test is over nothing that has it may be alive."""
    mark = uuid.uuid4().hex
    yield mark
    wait_until(lambda: not alive(mark), lambda: f"orphans {alive(mark)} are left")


@pytest.fixture
def run(ronde, mark):
    """Runs a job to its end."""
    return lambda *arguments, env=None: ronde("run", *QUIET, *arguments, env={"JOB_MARK": mark} | (env or {}))


@pytest.fixture
def sh(run):
    """A job of shell scripts: sh(2, "echo $RANK")."""
    return lambda ranks, script, *flags: run("-n", str(ranks), *flags, "bash", "-c", script)


@pytest.fixture
def start(build_dir, clean_env, mark, tmp_path):
    """Starts a job of shell scripts and comes back at once."""
    jobs = []

    def start(ranks: int, script: str, *flags: str, **options) -> Job:
        arguments = (*QUIET, "-n", str(ranks), *flags, "bash", "-c", script)
        jobs.append(Job(build_dir / "ronde", clean_env | {"JOB_MARK": mark}, tmp_path, arguments, **options))
        return jobs[-1]

    yield start
    for job in jobs:
        job.process.kill()  # after a test that failed; otherwise it has ended already
        job.process.wait()
