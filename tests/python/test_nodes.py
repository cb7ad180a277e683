"""The collective engine on two hosts with two ranks each, over a real network: what it computes, and what ranks hear
when a host, a rank or a cable goes. The programs are in tests/comm."""

import os
import pathlib
import re
import signal
import time

import pytest
from cluster import Cluster, complaints, text_of
from engine_fixtures import files
from job import Job, state_of, wait_until

pytest_plugins = ["cluster_fixtures"]
DEADLINE = 4 * 10.0  # seconds; the engine promises ten
RANKS = range(4)


@pytest.fixture
def two(cluster):
    """Makes two hosts, on which nothing may be left in the end: two(RONDE_LOG_LEVEL="error")."""
    before = files()
    yield lambda **env: cluster(2, env)
    wait_until(lambda: files() <= before, lambda: f"left behind: {files() - before}")


def assert_all_are_well(job: Job, least: int) -> None:
    assert job.wait() == 0, job.out + job.err
    for rank in RANKS:
        said = re.fullmatch(r"ok (\d+) checks\n", text_of(job.out, rank))
        assert said and int(said[1]) >= least, job.out + job.err
    assert complaints(job) == ""


def test_every_operation(two, mpi, build_dir):
    # Bytes are bytes to MPI: all types with one library, a few with the other, whose progress costs much more.
    types = () if mpi == "openmpi" else ("few",)
    assert_all_are_well(two().start(str(build_dir / "ops_rank"), *types, mpi=mpi), 1000)


def test_random_requests(two, mpi, build_dir):
    assert_all_are_well(two().start(str(build_dir / "fuzz_rank"), "1", "3", mpi=mpi), 100)


def test_two_network_namespaces_of_one_machine_and_name(two, mpi, build_dir):
    """As containers may be: what they share looks like one node, but their Unix sockets do not reach each other."""
    job = two().start("sh", "-c", f"hostname same; exec {build_dir}/ops_rank few", mpi=mpi)
    assert_all_are_well(job, 100)


class Steps:
    """A job of steps_rank that is in its work."""

    def __init__(self, cluster: Cluster, build_dir: pathlib.Path, mpi: str, *words: str):
        self.cluster = cluster
        self.job = cluster.start(str(build_dir / "steps_rank"), *words, mpi=mpi, recovery=True)
        wait_until(lambda: all("ready" in self.said(rank) for rank in RANKS), lambda: f"all are ready: {self.job.err}")
        self.began = time.monotonic_ns()

    def said(self, rank: int) -> str:
        file = self.cluster.folder / f"said.{rank}"
        return file.read_text() if file.exists() else ""

    def pid(self, rank: int) -> int:
        return int(re.search(r"^ready (\d+)$", self.said(rank), re.MULTILINE)[1])

    def assert_heard(self, rank: int, *words: str) -> None:
        def what() -> str:
            return f"rank {rank} hears of it ({state_of(self.pid(rank))}): {self.job.out}{self.job.err}"

        wait_until(lambda: "hears" in self.said(rank), what)
        heard = re.search(r"^hears at (\d+): (.*?): (.*)$", self.said(rank), re.MULTILINE)
        assert (int(heard[1]) - self.began) / 1e9 < DEADLINE
        assert heard[2] in ("peer lost", "timeout"), heard[0]
        for word in words:
            assert re.search(word, heard[3]), heard[0]


@pytest.fixture
def steps(two, mpi, build_dir):
    """Starts a job that is at work when this returns: steps(RONDE_COMM_STALL_ABORT="5s")."""
    started = []

    def start(*words: str, **env: str) -> Steps:
        started.append(Steps(two(**env), build_dir, mpi, *words))
        return started[-1]

    yield start
    for steps in started:
        steps.job.process.terminate()  # after a killed rank Open MPI's mpirun waits for ever


@pytest.fixture
def survivors(mpi):
    """Who is left to speak when one rank is killed: MPICH's launcher takes the others of its host along."""
    return lambda victim: [rank for rank in RANKS if rank // 2 != victim // 2 or (mpi == "openmpi" and rank != victim)]


def test_a_cable_is_cut(steps):
    job = steps()
    job.cluster.tell("cut", "node2")
    for rank in RANKS:
        job.assert_heard(rank, "node1" if rank >= 2 else "node2")
    job.cluster.tell("mend", "node2")  # so that the launcher can learn of the end of its ranks


def test_all_ranks_of_a_host_are_killed(steps):
    job = steps()
    for rank in (2, 3):
        os.kill(job.pid(rank), signal.SIGKILL)
    for rank in (0, 1):
        job.assert_heard(rank, "node2", r"ranks? [23]")


@pytest.mark.parametrize("victim", [0, 3])
def test_one_rank_is_killed(steps, survivors, victim):
    job = steps()
    os.kill(job.pid(victim), signal.SIGKILL)
    for rank in survivors(victim):
        job.assert_heard(rank, f"rank {victim}", f"node{victim // 2 + 1}")


@pytest.mark.parametrize("at_work", [False, True])
def test_one_rank_is_stopped(steps, at_work):
    """Its machine still answers for it: only that it does not come tells."""
    job = steps(RONDE_COMM_STALL_ABORT="5s")
    if not at_work:
        (job.cluster.folder / "pause.3").touch()
        wait_until(lambda: "paused" in job.said(3), "rank 3 is between two steps")
    os.kill(job.pid(3), signal.SIGSTOP)
    try:
        for rank in (0, 1, 2):
            # While data moves, only ranks of its own node can tell which one does not go on.
            job.assert_heard(rank, *(("given up",) if at_work else ("rank 3", "node2")))
    finally:
        os.kill(job.pid(3), signal.SIGKILL)


@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
@pytest.mark.parametrize("seconds", [int(os.environ.get("RONDE_TEST_STOP_SECONDS", "15"))])
def test_a_rank_that_was_stopped_while_much_was_sent_to_it_goes_on(steps, seconds):
    """As in a debugger: the others wait, since its kernel still answers."""
    job = steps("8000000", RONDE_COMM_BETWEEN="tcp")
    os.kill(job.pid(3), signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(job.pid(3), signal.SIGCONT)
    (job.cluster.folder / "pause.0").touch()
    wait_until(lambda: "paused" in job.said(0), lambda: f"the job goes on: {job.job.out}{job.job.err}")
    assert not [rank for rank in RANKS if "hears" in job.said(rank)]
