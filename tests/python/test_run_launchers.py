"""`ronde run` with the launchers that this machine has: Open MPI's mpirun and MPICH's hydra start ranks here."""

import ctypes.util
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest
from job import QUIET, Job

pytest_plugins = ["job_fixtures", "launcher_fixtures"]

HOST = os.uname().nodename

# Says how many ranks MPI itself sees. Its constants differ: Open MPI has an object, MPICH a number.
MPI_SIZE = """
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
open_mpi = hasattr(mpi, "ompi_mpi_comm_world")
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")) if open_mpi else 0x44000000
size = ctypes.c_int()
mpi.MPI_Comm_size(world, ctypes.byref(size))
print("MPI has", size.value)
mpi.MPI_Finalize()
"""


def version(program: str) -> str:
    path = shutil.which(program)
    return subprocess.run([path, "--version"], capture_output=True, text=True).stdout if path else ""


@pytest.fixture(params=["mpirun", "hydra"])
def launcher(request, no_batch) -> str:
    programs, mark = {
        "mpirun": (("mpirun", "mpiexec", "mpirun.openmpi"), "Open MPI"),
        "hydra": (("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.mpich"), "HYDRA"),
    }[request.param]
    if not any(mark in version(program) for program in programs):
        pytest.skip(f"{mark} is not installed")
    return request.param


@pytest.fixture
def launch(launcher, run):
    return lambda ranks, *command, **options: run(
        "--launcher", launcher, "-H", f"{HOST}:{ranks}", "--oversubscribe", *command, **options
    )


def test_ranks_have_their_numbers_and_their_cores(launch):
    script = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR"
    done = launch(3, "bash", "-c", script)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] {rank}/3 {rank}/3 0 {HOST}" for rank in range(3)]


def test_mpi_sees_all_ranks(launcher, launch, ronde):
    file = ctypes.util.find_library("mpich" if launcher == "hydra" else "mpi")
    if not file:
        pytest.skip("the MPI library of this launcher is not installed")
    done = launch(2, sys.executable, "-c", MPI_SIZE, file)
    if not re.search("MPI has", done.stdout):
        pytest.skip(f"{file} is of another MPI: {done.stderr}")
    assert sorted(done.stdout.splitlines()) == ["[0] MPI has 2", "[1] MPI has 2"], done.stderr


def test_streams_stay_apart_and_lines_whole(launch):
    done = launch(3, "bash", "-c", "seq 1 20000; echo err $RANK >&2; printf 'no newline'")
    assert done.returncode == 0, done.stderr
    for rank in range(3):
        mine = [line for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")]
        assert mine == [f"[{rank}] {number}" for number in range(1, 20001)] + [f"[{rank}] no newline"]
    assert sorted(done.stderr.splitlines()) == [f"[{rank}] err {rank}" for rank in range(3)]


@pytest.mark.parametrize(("end", "code", "words"), [("exit 7", 7, "exit code 7"), ("kill -9 $$", 137, "signal 9")])
def test_the_first_rank_that_fails_stops_all_and_is_named(launch, end, code, words):
    done = launch(2, "bash", "-c", f"if [ $RANK = 1 ]; then echo why; {end}; fi; sleep 100")
    assert done.returncode == code, done.stderr
    assert f"rank 1 on {HOST} failed first: {words}" in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[:2] == ["--- the last line of rank 1:", "  why"]


def test_settings_and_variables_reach_the_ranks(launch):
    script = "import os; print(os.environ['RONDE_TRACE_BYTES'], os.environ['MINE'], 'RONDE__BOOTSTRAP' in os.environ)"
    done = launch(1, "--trace-bytes", "2MiB", sys.executable, "-c", script, env={"MINE": "a b;c=d"})
    assert done.stdout == "[0] 2MiB a b;c=d False\n", done.stderr


def test_ctrl_c_ends_all(launcher, build_dir, clean_env, mark, tmp_path, no_batch):
    where = ("--launcher", launcher, "-H", f"{HOST}:2", "--oversubscribe")
    command = ("bash", "-c", "echo ready; while :; do sleep 0.1; done")
    job = Job(build_dir / "ronde", clean_env | {"JOB_MARK": mark}, tmp_path, (*QUIET, *where, *command))
    job.wait_for_lines("[0] ready", "[1] ready")
    job.signal(signal.SIGINT)
    assert job.wait() == 130
    assert job.err.splitlines()[-1] == "stopped by signal 2 (interrupt)"


def test_rank_zero_reads_standard_input(launcher, build_dir, clean_env, mark, tmp_path, no_batch):
    (tmp_path / "in").write_text("one\ntwo\n")
    where = ("--launcher", launcher, "-H", f"{HOST}:2", "--oversubscribe")
    command = ("bash", "-c", "[ $RANK = 1 ] || while read -r line; do echo read $line; done; echo end")
    with (tmp_path / "in").open() as text:
        env = clean_env | {"JOB_MARK": mark}
        job = Job(build_dir / "ronde", env, tmp_path, (*QUIET, *where, *command), stdin=text)
    assert job.wait() == 0
    assert sorted(job.out.splitlines()) == ["[0] end", "[0] read one", "[0] read two", "[1] end"]


# Rank 1 fails once rank 0 can tidy up.
TIDY = """if [ $RANK = 1 ]; then until [ -e ready ]; do sleep 0.05; done; exit 4; fi
trap 'sleep 1.5; echo saved; exit 0' TERM; touch ready; while :; do sleep 0.1; done"""


def test_ranks_have_time_to_tidy_up_when_another_fails(launch):
    """mpirun itself would kill them after a second."""
    done = launch(2, "bash", "-c", TIDY)
    assert (done.returncode, done.stdout) == (4, "[0] saved\n"), done.stderr


def test_ranks_that_do_not_stop_are_killed(launch):
    done = launch(2, "--launch-grace", "200ms", "bash", "-c", "[ $RANK = 0 ] || exit 4; trap '' TERM; sleep 100")
    assert done.returncode == 4, done.stderr


def test_what_dry_run_prints_can_be_run(launch, clean_env, mark, tmp_path):
    text = launch(2, "--dry-run", "bash", "-c", "echo $RANK of $WORLD_SIZE; exit $RANK").stdout
    env = clean_env | {"JOB_MARK": mark, "RONDE_LOG_LEVEL": "error"}
    done = subprocess.run(["sh"], input=text, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert sorted(done.stdout.split("\n")) == ["", "[0] 0 of 2", "[1] 1 of 2"], done.stderr
    assert f"rank 1 on {HOST} failed: exit code 1\n" in done.stderr
    assert done.returncode == 1
