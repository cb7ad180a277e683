"""The cluster that other tests run on: hosts have names and cables, and nothing of it stays on the machine."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from cluster import SCRIPT, complaints, text_of
from job import TEST_TIMEOUT

pytest_plugins = ["cluster_fixtures"]

# A stream from node2 to node1: connects, sends some bytes, waits until they have been read.
STREAM = textwrap.dedent("""
    import socket, sys
    role, size = sys.argv[1], int(sys.argv[2])
    if role == "reader":
        listener = socket.create_server(("", 5000))
        print("listens", flush=True)
        link = listener.accept()[0]
        while size > 0:
            size -= len(link.recv(size))
        link.sendall(b"!")
    else:
        link = socket.create_connection(("node1", 5000), timeout=float(sys.argv[3]))
        link.sendall(bytes(size))
        assert link.recv(1) == b"!"
""")


def stream(cluster, size: int, timeout: float = TEST_TIMEOUT) -> tuple[int, float]:
    """The sender's exit code, and how long it took."""
    words = [SCRIPT, "exec", "node1", sys.executable, "-c", STREAM, "reader", str(size)]
    with subprocess.Popen(words, env=cluster.env, stdout=subprocess.PIPE) as reader:
        assert reader.stdout.readline() == b"listens\n"
        begin = time.monotonic()
        done = cluster.execute("node2", sys.executable, "-c", STREAM, "sender", str(size), str(timeout))
        took = time.monotonic() - begin
        if done.returncode != 0:
            reader.kill()
    return done.returncode, took


def test_ranks_start_on_all_hosts(cluster, mpi):
    job = cluster(3).start("sh", "-c", "echo on $(hostname)", mpi=mpi)
    assert (job.wait(), complaints(job)) == (0, "")
    for rank in range(6):
        assert text_of(job.out, rank) == f"on node{rank // 2 + 1}\n"


def test_a_variable_reaches_other_hosts_only_when_it_is_passed_on(cluster):
    job = cluster(2, env={"RONDE_LOG_LEVEL": "error", "OTHER": "1"}).start(
        "sh", "-c", "echo $RONDE_LOG_LEVEL $OTHER", ranks=1
    )
    assert job.wait() == 0
    assert [text_of(job.out, rank) for rank in (0, 1)] == ["error 1\n", "error\n"]


@pytest.fixture
def peer(mpi, build_dir, tmp_path) -> pathlib.Path:
    """MPI's own allreduce, built against either library."""
    program = tmp_path / "peer"
    compiler, source = f"mpicxx.{mpi}", SCRIPT.parents[1] / "src" / "bench" / "peers" / "mpi.cc"
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler} (Debian: libopenmpi-dev, libmpich-dev)")
    skip = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
    subprocess.run([compiler, "-std=c++20", *skip, f"-I{build_dir}/include", source, "-o", program], check=True)
    return program


def test_an_allreduce_over_mpi(cluster, mpi, peer):
    words = [SCRIPT, "run", "-m", mpi, peer]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=cluster(2).env, **pipes) as job:
        assert job.stdout.readline() == "ready\n"
        print("allreduce f32 1048576 1 1 1", file=job.stdin, flush=True)
        assert float(job.stdout.readline().split()[0]) > 0  # the mean; medians of single calls may follow
        # Not to its end: between hosts MPICH 4.0 over UCX's TCP sometimes never comes back from MPI_Finalize.
        job.terminate()


def test_a_limited_cable_is_not_faster_than_its_limit(cluster):
    two = cluster(2)
    two.tell("limit", "node2", "16mbit")
    size = 3_000_000
    code, took = stream(two, size)
    assert code == 0
    assert took > 8 * (size - 2 * 262_144) / 16e6  # what the two buckets hold goes at once
    two.tell("limit", "node2", "none")
    assert stream(two, size)[0] == 0


def test_a_cut_cable_carries_nothing_until_it_is_mended(cluster):
    two = cluster(2)
    two.tell("cut", "node1")
    assert stream(two, 1, timeout=1)[0] != 0
    two.tell("mend", "node1")
    assert stream(two, 1)[0] == 0


def test_two_clusters_do_not_meet(cluster):
    one, other = cluster(2), cluster(2)
    one.tell("cut", "node1")
    assert stream(other, 1)[0] == 0


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def test_what_a_killed_owner_leaves_goes_with_the_next_cluster(cluster, clean_env):
    owner = subprocess.Popen(["sleep", "600"])
    name = f"dead{os.getpid()}"
    env = clean_env | {"CLUSTER": name, "CLUSTER_OWNER": str(owner.pid)}
    subprocess.run([SCRIPT, "up", "2"], env=env, check=True)
    with subprocess.Popen([SCRIPT, "exec", "node2", "sleep", "600"], env=env) as left:
        owner.kill()
        owner.wait()
        cluster(1)
        assert left.wait(TEST_TIMEOUT) == -signal.SIGKILL
    assert name not in namespaces()
    assert not list(pathlib.Path("/etc/netns").glob(f"{name}*"))


def test_down_leaves_nothing(cluster):
    two = cluster(2)
    assert two.name in namespaces()
    two.tell("down")
    assert two.name not in namespaces()
    assert not list(pathlib.Path("/run").glob(f"ronde-cluster/{two.name}*"))


@pytest.mark.parametrize("words", [("up", "0"), ("exec", "node7", "true"), ("limit", "node7", "1gbit"), ("cut", "x")])
def test_wrong_words_are_refused(cluster, words):
    done = subprocess.run([SCRIPT, *words], env=cluster(1).env, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("tests/cluster: ")
