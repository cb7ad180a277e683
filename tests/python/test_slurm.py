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


def test_the_engine_under_srun(slurm, build_dir):
    done = slurm.srun("pmix", 4, str(build_dir / "life_rank"))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{rank}: ok" for rank in range(4)]


def test_the_engine_by_mpirun_inside_sbatch(slurm, build_dir):
    code, output = slurm.sbatch(3, f"mpirun --allow-run-as-root --bind-to none {build_dir}/life_rank")
    assert (code, output) == (0, 3 * "ok\n")


@pytest.mark.parametrize("way", ["pmi2", "none"])
def test_open_mpi_started_in_a_way_that_it_does_not_know(slurm, build_dir, way):
    """By itself it would print a page and end the process."""
    env = {"RONDE_MPI_LIBRARY": "libmpi.so.40"}
    done = slurm.srun(way, 2, str(build_dir / "life_rank"), env=env)
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if re.match(r"\d: ", line)]
    assert len(said) == 2, done.stderr
    for line in said:
        assert "srun" in line and "one of 2" in line and "Open MPI" in line and "--mpi=pmix" in line


@pytest.mark.parametrize("way", ["pmix", "none"])
def test_mpich_started_in_a_way_that_it_does_not_know(slurm, build_dir, way):
    """By itself it would make every rank a world of its own."""
    if not (build_dir / "ronde-mpi-mpich.so").exists():
        pytest.skip("this build has no MPICH")
    done = slurm.srun(way, 2, str(build_dir / "life_rank"), env={"RONDE_MPI_LIBRARY": "libmpich.so.12"})
    assert done.returncode != 0
    said = [line for line in done.stderr.splitlines() if re.match(r"\d: ", line)]
    assert len(said) == 2, done.stderr
    for line in said:
        assert "2 ranks" in line and "MPICH" in line and "sees 1" in line and "--mpi=pmi2" in line
