"""How ranks end under mpirun: late, by exit() in the middle of their work, and when MPI itself fails."""

import os
import shutil
import subprocess

import pytest

# Calls of MPI that fail on rank 1 after a while, whoever makes them.
SHIM = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int fails(const char* call) {
  static int calls = 0;
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  return rank && !strcmp(rank, "1") && !strcmp(getenv("FAILING_CALL"), call) && ++calls > 20;
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return fails("MPI_Isend") ? MPI_ERR_OTHER : PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  return fails("MPI_Irecv") ? MPI_ERR_OTHER : PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return fails("MPI_Testsome") ? MPI_ERR_OTHER : PMPI_Testsome(count, requests, done, indices, statuses);
}
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* there, MPI_Status* status) {
  return fails("MPI_Iprobe") ? MPI_ERR_OTHER : PMPI_Iprobe(from, tag, comm, there, status);
}
"""


@pytest.fixture
def mpirun(build_dir):
    if not (build_dir / "mpi_program").exists():
        pytest.skip("this build has no MPI")
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")

    def run(
        *words: str, nodes: int = 2, before: tuple[str, ...] = (), **environment: str
    ) -> subprocess.CompletedProcess:
        env = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "RONDE_TOPOLOGY_PRETEND_NODES": str(nodes),
        }
        exports = [word for key, value in environment.items() for word in ("-x", f"{key}={value}")]
        command = ["mpirun", "-n", "3", *exports, *before, str(build_dir / "end_rank"), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)

    return run


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_rank_may_save_its_model_for_as_long_as_it_likes(mpirun, nodes):
    done = mpirun("late", nodes=nodes)
    assert done.returncode == 0, done.stderr
    assert "saved" in done.stdout


# Each rank is one number higher in its own namespace than the rank before, and the others are not there.
IN_ITS_OWN_NAMESPACE = """for i in $(seq 0 $OMPI_COMM_WORLD_RANK); do /bin/true; done; "$@"; exit $?"""


def test_a_rank_may_save_its_model_where_the_others_cannot_see_its_process(mpirun):
    """As in containers that each have processes of their own."""
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces of processes cannot be made here")
    done = mpirun("late", nodes=1, before=(*apart, "sh", "-c", IN_ITS_OWN_NAMESPACE, "sh"), OMPI_MCA_btl="self,tcp")
    assert done.returncode == 0, done.stderr
    assert "saved" in done.stdout


@pytest.mark.parametrize("nodes", [1, 2])
def test_exit_with_a_live_engine_ends_cleanly(mpirun, nodes):
    done = mpirun("exit", nodes=nodes)
    assert done.returncode == 0, done.stderr
    assert "terminate" not in done.stderr and "MPI_" not in done.stderr, done.stderr


@pytest.mark.parametrize("nodes", [1, 3])
def test_a_forked_child_may_exit_while_the_engine_lives(mpirun, nodes):
    done = mpirun("fork", nodes=nodes)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("worked on") == 3


@pytest.mark.parametrize("nodes", [1, 2])
def test_exit_while_another_thread_ends_the_engine(mpirun, nodes):
    done = mpirun("race", nodes=nodes)
    assert done.returncode == 0, done.stderr
    assert "terminate" not in done.stderr, done.stderr


def test_the_code_of_a_rank_that_exits_is_the_jobs(mpirun):
    done = mpirun("fail")
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("call", ["MPI_Isend", "MPI_Irecv", "MPI_Testsome", "MPI_Iprobe"])
def test_a_call_of_mpi_that_fails_is_the_cause_that_all_name(mpirun, tmp_path, call):
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM)
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if not compiler:
        pytest.skip("there is no mpicc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    done = mpirun("work", nodes=3, LD_PRELOAD=str(shim), FAILING_CALL=call)
    assert done.returncode == 7, done.stderr
    assert f"{call} failed" in done.stderr
    assert "rank 1: " in done.stderr
    assert "terminate called" not in done.stderr
