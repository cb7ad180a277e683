"""A program that starts MPI itself and then has an engine: its communicator is left alone, and its thread level is
respected. On pretended nodes, so that the engine calls MPI too."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture
def program(build_dir):
    if not (build_dir / "mpi_program").exists():
        pytest.skip("this build has no MPI")
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")

    def run(*words: str, ranks: int = 4, **more: str) -> subprocess.CompletedProcess:
        env = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "RONDE_TOPOLOGY_PRETEND_NODES": "2",
            **more,
        }
        words = ["mpirun", "-n", str(ranks), *(words if len(words) > 2 else [build_dir / "mpi_program", *words])]
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)

    return run


@pytest.mark.parametrize("level", ["serialized", "multiple"])
def test_the_engine_works_beside_the_program(program, level):
    done = program(level)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == ["", *(f"ok from rank {rank}" for rank in range(4))]


def test_too_few_threads_are_refused(program):
    done = program("single")
    if "ok from rank 0" in done.stdout:
        pytest.skip("this MPI gives more threads than were asked for")
    assert done.returncode != 0
    assert "call MPI_Init_thread with MPI_THREAD_SERIALIZED" in done.stderr


def test_ranks_that_never_start_mpi_do_not_keep_the_others_for_ever(program, build_dir):
    """MPI_Init itself waits for them, and nothing can interrupt it."""
    late = f'[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec sleep 600; exec {build_dir}/ops_rank few'
    done = program("sh", "-c", late, ranks=2, RONDE_COMM_START_TIMEOUT="3s")
    assert done.returncode != 0
    assert "MPI_Init did not return within comm.start_timeout" in done.stderr


def test_ranks_that_never_make_an_engine_do_not_keep_the_others_for_ever(program):
    done = program("serialized", "alone", ranks=2, RONDE_COMM_START_TIMEOUT="3s")
    assert done.returncode != 0
    assert "not all ranks have created an engine within comm.start_timeout" in done.stderr
