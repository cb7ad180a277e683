"""Programs that torchrun has started, or a launcher of somebody's own."""

import pathlib
import re
import socket
import subprocess
import sys

import pytest

pytest_plugins = ["job_fixtures"]

TRAIN = ("train", "demo", "--train-steps", "3", "--data-samples", "256", "--data-test-samples", "64")


@pytest.fixture
def torchrun(clean_env, tmp_path, mark):
    """Runs a program as so many ranks of torchrun."""
    program = pathlib.Path(sys.executable).with_name("torchrun")
    if not program.exists():
        pytest.skip("torchrun is not beside this Python")

    def run(ranks: int, *command, env=None) -> subprocess.CompletedProcess:
        words = [program, "--no-python", "--nproc-per-node", str(ranks), *command]
        return subprocess.run(
            words,
            env=clean_env | {"JOB_MARK": mark} | (env or {}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run


@pytest.mark.parametrize("nodes", ["1", "2"])
def test_a_training_under_torchrun(torchrun, build_dir, nodes):
    done = torchrun(2, build_dir / "ronde", *TRAIN, env={"RONDE_TOPOLOGY_PRETEND_NODES": nodes})
    assert done.returncode == 0, done.stderr
    assert "2 ranks" in done.stdout + done.stderr


def test_a_rank_that_does_not_come_is_named(build_dir, clean_env, tmp_path, mark):
    """Rank 0 of a launcher that has started nobody else."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "JOB_MARK": mark}
    kept = {name: value for name, value in clean_env.items() if not name.startswith(("OMPI_", "PMI", "SLURM"))}
    words = [build_dir / "ronde", *TRAIN, "--comm-start-timeout", "1s"]
    done = subprocess.run(words, env=kept | env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.search(r"ranks 1, 2 did not arrive .*rank 0 waited", done.stderr), done.stderr
