"""How ranks of the backend "ronde" meet: each launcher, torch's own ways, and a session that there is already."""

import pathlib
import subprocess
import sys

import pytest
from python_fixtures import TEST_TIMEOUT

pytest_plugins = ["job_fixtures", "python_fixtures", "slurm_fixtures"]

PROGRAM = """
import torch, torch.distributed as dist
import ronde.torch.distributed
dist.init_process_group("ronde")
one = torch.ones(3)
dist.all_reduce(one)
even = dist.new_group(list(range(0, dist.get_world_size(), 2)))
if dist.get_rank() % 2 == 0:
    dist.all_reduce(one, group=even)
dist.distributed_c10d._get_default_store().set(f"from {dist.get_rank()}", "x")
dist.distributed_c10d._get_default_store().wait([f"from {i}" for i in range(dist.get_world_size())])
dist.barrier()
print(f"met {dist.get_world_size()}\\n", end="", flush=True)  # one piece, however ranks meet
dist.destroy_process_group()
"""


@pytest.fixture
def program(tmp_path) -> pathlib.Path:
    path = tmp_path / "meets.py"
    path.write_text(PROGRAM)
    return path


def expect(done: subprocess.CompletedProcess, ranks: int) -> None:
    assert done.returncode == 0 and done.stdout.count(f"met {ranks}") == ranks, done.stdout + done.stderr


def test_under_ronde_run(python_job, program):
    expect(python_job(3, str(program)), 3)
    # Where a program, or whoever starts it, has no use for torchrun's variables; and by nodes of its own.
    program.write_text("import os\nfor name in ('MASTER_ADDR', 'MASTER_PORT'):\n    del os.environ[name]\n" + PROGRAM)
    expect(python_job(2, str(program), flags=("--topology-pretend-nodes", "2")), 2)
    expect(python_job(1, str(program)), 1)


def test_under_mpirun(python_job, program):
    expect(python_job(2, str(program), launcher="mpirun"), 2)


def test_under_srun(slurm, package, program):
    done = slurm.srun("pmix", 2, sys.executable, str(program), env={"PYTHONPATH": str(package)})
    expect(done, 2)


def test_under_torchrun(package_env, program, tmp_path):
    torchrun = pathlib.Path(sys.executable).with_name("torchrun")
    if not torchrun.exists():
        pytest.skip("torchrun is not beside this Python")
    words = [torchrun, "--nproc-per-node", "2", str(program)]
    done = subprocess.run(words, env=package_env, cwd=tmp_path, capture_output=True, text=True, timeout=TEST_TIMEOUT)
    expect(done, 2)


def test_by_a_file_and_by_processes_of_torchs_own(python, tmp_path):
    script = tmp_path / "spawns.py"
    script.write_text("""
import sys
import torch, torch.distributed as dist, torch.multiprocessing as processes
import ronde.torch.distributed

def work(rank, place):
    dist.init_process_group("ronde", init_method=f"file://{place}", rank=rank, world_size=2)
    one = torch.ones(1)
    dist.all_reduce(one)
    assert one.item() == 2
    print("met 2", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    processes.spawn(work, args=(sys.argv[1],), nprocs=2)
""")
    expect(python(str(script), str(tmp_path / "meeting")), 2)


def test_again_and_again_and_beside_horovods_interface(python_job, tmp_path):
    script = tmp_path / "again.py"
    script.write_text("""
import torch, torch.distributed as dist
import ronde.torch as hvd
for i in range(3):
    dist.init_process_group("ronde")
    one = torch.ones(1)
    dist.all_reduce(one)
    assert one.item() == 2 and hvd.size() == 2  # one engine serves both
    dist.destroy_process_group()
    assert not hvd.is_initialized()
hvd.init()
dist.init_process_group("ronde")
dist.all_reduce(one)
dist.destroy_process_group()
assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == 2  # a session of the program's own goes on
dist.init_process_group("ronde")
hvd.shutdown()
try:
    dist.all_reduce(one)
except ValueError as error:
    assert "session has ended" in str(error), error
else:
    raise AssertionError
print("met 2", flush=True)
""")
    expect(python_job(2, str(script)), 2)


def test_torchs_own_backends_meet_under_our_launcher_too(python_job, tmp_path):
    script = tmp_path / "gloo.py"
    script.write_text(PROGRAM.replace('"ronde"', '"gloo"'))
    expect(python_job(2, str(script)), 2)


def test_by_itself_torch_says_what_is_missing(python, program):
    done = python(str(program))
    assert done.returncode != 0 and "environment variable RANK expected" in done.stderr
