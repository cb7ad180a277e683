"""Jobs under a real Slurm of one node."""

import re

import pytest

pytest_plugins = ["slurm_fixtures"]


@pytest.fixture
def peer(build_dir):
    program = build_dir / "ronde-peer-mpi"
    if not program.exists():
        pytest.skip("this build has no Open MPI")
    return str(program)


def test_srun_starts_ranks(slurm):
    done = slurm.srun("pmix", 4, "sh", "-c", "echo $PMIX_RANK of $SLURM_STEP_NUM_TASKS")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{rank}: {rank} of 4" for rank in range(4)]


def test_srun_passes_the_exit_code_on(slurm):
    assert slurm.srun("pmix", 2, "sh", "-c", "exit $((SLURM_PROCID * 7))").returncode == 7


def test_ranks_under_srun_are_one_world(slurm, peer):
    done = slurm.srun("pmix", 4, peer)
    assert (done.returncode, done.stdout) == (0, "0: ready\n"), done.stderr


def test_mpirun_inside_sbatch(slurm, peer):
    code, output = slurm.sbatch(4, f"mpirun --allow-run-as-root --bind-to none {peer} </dev/null && env")
    assert code == 0, output
    assert output.startswith("ready\n")
    assert re.search(r"^SLURM_NTASKS=4$", output, re.MULTILINE)
    assert "SLURM_STEP_NUM_TASKS" not in output
