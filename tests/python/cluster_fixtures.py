"""Fixtures for tests on several hosts: pytest_plugins = ["cluster_fixtures"]. Skipped where there can be none."""

import shutil

import pytest
from cluster import Cluster, why_not
from job import wait_until


@pytest.fixture(scope="session")
def cluster_possible() -> None:
    reason = why_not()
    if reason:
        pytest.skip(reason)


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request) -> str:
    """Either MPI library; what is not installed is skipped."""
    if not shutil.which(f"mpirun.{request.param}"):
        pytest.skip(f"there is no mpirun.{request.param} (Debian: openmpi-bin, mpich)")
    return request.param


@pytest.fixture
def cluster(cluster_possible, clean_env, tmp_path):
    """Makes clusters: cluster(2) has node1 and node2. Every process on them must be gone when the test is over."""
    clusters = []

    def make(hosts: int, env: dict[str, str] | None = None) -> Cluster:
        clusters.append(Cluster(hosts, clean_env | (env or {}), tmp_path))
        return clusters[-1]

    yield make
    try:
        for made in clusters:
            for host in made.hosts:
                wait_until(lambda made=made, host=host: not made.pids(host), f"processes {made.pids(host)} on {host}")
    finally:
        for made in clusters:
            made.down()
