"""`ronde run --restart` when a machine is lost: the job goes on without that one, not without a healthy one."""

import contextlib
import os
import signal
import subprocess

import pytest
from cluster import SCRIPT
from job import wait_until

pytest_plugins = ["cluster_fixtures"]

# In the first attempt node1's rank fails once it has heard that node2's is lost, as a rank of the engine does.
PROGRAM = """echo attempt $RONDE__ATTEMPT rank $RANK of $WORLD_SIZE on $(hostname)
[ $RONDE__ATTEMPT = 1 ] || exit 0
[ $(hostname) = node1 ] || exec sleep 1000
while [ ! -e lost ]; do sleep 0.05; done
exit 7"""
LAUNCHERS = {"openmpi": "mpirun", "mpich": "hydra"}
SECONDS = 120  # grace, the launcher's end, and a start on a busy machine


@pytest.fixture
def job(cluster, mpi, build_dir):
    """Starts the program on two hosts with one rank each; returns (cluster, process) once both ranks run."""
    two = cluster(2, env={"RONDE_LAUNCH_GRACE": "1s"})
    flags = ["--launcher", LAUNCHERS[mpi], "-H", "node1:1,node2:1", "--restart", "1", "--min-n", "1", "--bind", "none"]
    words = [SCRIPT, "exec", "node1", build_dir / "ronde", "run", *flags, "sh", "-c", PROGRAM]
    with (two.folder / "out").open("wb") as out, (two.folder / "err").open("wb") as err:
        process = subprocess.Popen(words, env=two.env, cwd=two.folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL)

    def said() -> str:
        return (two.folder / "out").read_text()

    try:
        wait_until(lambda: said().count("attempt 1 rank") == 2, said)
        yield two, process
    finally:
        process.kill()
        process.wait()


def kill_all(two, host: str) -> None:
    for pid in two.pids(host):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def assert_goes_on_without_node2(two, process) -> None:
    code, said = process.wait(SECONDS), (two.folder / "err").read_text()
    assert code == 0, said
    assert "restart 1 of 1, without node2 (no answer): 1 rank" in said
    assert "attempt 2 rank 0 of 1 on node1" in (two.folder / "out").read_text()


def test_a_machine_that_is_cut_off(job):
    two, process = job
    two.tell("cut", "node2")
    (two.folder / "lost").touch()
    assert_goes_on_without_node2(two, process)
    assert "rank 0 on node1 failed first: exit code 7" in (two.folder / "err").read_text()
    kill_all(two, "node2")


def test_a_machine_that_dies_unheard(job):
    two, process = job
    two.tell("cut", "node2")
    kill_all(two, "node2")
    (two.folder / "lost").touch()
    assert_goes_on_without_node2(two, process)


def test_a_machine_whose_death_the_launcher_sees(job, mpi):
    two, process = job
    kill_all(two, "node2")
    (two.folder / "lost").touch()
    if mpi == "openmpi":
        assert_goes_on_without_node2(two, process)
        return
    # hydra ends everything at once, before any rank reports: nothing is known of any machine, and none is left out.
    code, said = process.wait(SECONDS), (two.folder / "err").read_text()
    assert code == 0, said
    assert "restart 1 of 1 (exit code 255)" in said


def test_a_machine_whose_rank_fails_is_left_out_as_before(job):
    two, process = job
    sleeper = two.ranks_on("node2", "sleep")
    os.kill(sleeper[0], signal.SIGKILL)
    code, said = process.wait(SECONDS), (two.folder / "err").read_text()
    assert code == 0, said
    assert "rank 1 on node2 failed first: signal 9 (killed)" in said
    assert "restart 1 of 1, without node2: 1 rank" in said
