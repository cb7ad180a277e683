"""`ronde run` in jobs of a real Slurm of one node."""

import os
import re
import sys

import pytest

pytest.importorskip("slurm", reason="there is no Slurm for tests")
from slurm_fixtures import slurm  # noqa: E402, F401
from test_run_launchers import MPI_SIZE, TIDY  # noqa: E402

HOST = os.uname().nodename
ENV = {"RONDE_LOG_LEVEL": "error"}


@pytest.fixture
def in_job(slurm, build_dir):  # noqa: F811
    """Runs `ronde run` in a job of its own with so many tasks."""

    def run(tasks: int, *arguments: str, env: dict[str, str] | None = None):
        job = ("salloc", "--quiet", f"--ntasks={tasks}", "--time=10")
        return slurm.tell(*job, str(build_dir / "ronde"), "run", *arguments, env=ENV | (env or {}))

    return run


def test_ranks_of_a_job_on_this_machine_need_no_launcher(in_job):
    done = in_job(3, "bash", "-c", "echo $RANK/$WORLD_SIZE $RONDE_LAUNCH_DEADLINE")
    assert done.returncode == 0, done.stderr
    found = [re.fullmatch(r"\[(\d)\] (\d)/3 (\d{10,})", line) for line in sorted(done.stdout.splitlines())]
    assert [match[1] for match in found] == [match[2] for match in found] == ["0", "1", "2"]
    assert len({match[3] for match in found}) == 1, "the end of the job, the same for all"


def test_srun_starts_ranks(in_job):
    done = in_job(3, "--launcher", "srun", "bash", "-c", "echo $RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] {rank}/3 {rank} {HOST}" for rank in range(3)]


def test_output_through_srun_is_whole(in_job):
    done = in_job(2, "--launcher", "srun", "bash", "-c", "seq 1 20000; head -c 5000 /dev/zero | tr '\\0' x")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        mine = [line[4:] for line in done.stdout.splitlines() if line.startswith(f"[{rank}] ")]
        assert mine == [str(number) for number in range(1, 20001)] + ["x" * 5000]


def test_the_first_rank_that_fails_is_named_and_the_others_tidy_up(in_job, tmp_path):
    done = in_job(2, "--launcher", "srun", "bash", "-c", f"cd {tmp_path}; {TIDY}")
    assert (done.returncode, done.stdout) == (4, "[0] saved\n"), done.stderr
    assert f"rank 1 on {HOST} failed first: exit code 4\n" in done.stderr


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_open_mpi_in_a_job(in_job, launcher):
    done = in_job(2, "--launcher", launcher, sys.executable, "-c", MPI_SIZE, "libmpi.so.40")
    if "cannot open shared object" in done.stderr:
        pytest.skip("Open MPI's library is not installed")
    assert sorted(done.stdout.splitlines()) == ["[0] MPI has 2", "[1] MPI has 2"], done.stderr


def test_pmi2_does_not_start_open_mpi(in_job):
    done = in_job(2, "--launcher", "srun", "--mpi-args=--mpi=pmi2", "true", env={"RONDE_MPI_LIBRARY": "libmpi.so.40"})
    if "cannot open shared object" in done.stderr:
        pytest.skip("Open MPI's library is not installed")
    assert done.returncode == 2
    assert done.stderr.startswith("ronde: 'srun --mpi=pmi2' does not start Open MPI")


def test_the_script_that_is_printed_runs(slurm, build_dir, ronde, tmp_path):  # noqa: F811
    script = ronde("run", "--script", "slurm", "-n", "2", "--time", "5min", "bash", "-c", "echo rank $RANK").stdout
    code, output = slurm.sbatch(2, f'PATH="{build_dir}:$PATH"\n' + script.replace("#SBATCH --exclusive\n", ""))
    assert code == 0, output
    assert {"[0] rank 0", "[1] rank 1"} <= set(output.splitlines())
