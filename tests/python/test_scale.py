"""Many ranks on few cores, as processes: they start, agree, allreduce and leave. How long that takes is a figure of
docs/performance.md; here a job only has to end, and to say the right thing."""

import subprocess

import pytest

pytest_plugins = ["job_fixtures", "engine_fixtures"]


@pytest.fixture
def many(build_dir, clean_env, mark, nothing_left, tmp_path):
    """Runs so many ranks on so many pretended nodes, with time for a busy machine."""

    def many(ranks: int, nodes: int) -> subprocess.CompletedProcess:
        command = [build_dir / "ronde", "run", "-n", str(ranks), "--topology-pretend-nodes", str(nodes)]
        return subprocess.run(
            [*command, build_dir / "many_rank", "200", "3"],
            env=clean_env | {"JOB_MARK": mark},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return many


@pytest.mark.parametrize("nodes", [1, 20])
def test_many_ranks_start_allreduce_and_leave(many, nodes):
    """On one node, and on so many that no rank is connected with all others."""
    job = many(64, nodes)
    assert job.returncode == 0, job.stdout + job.stderr
    assert f"64 ranks on {nodes} nodes, 200 tensors, 3 steps" in job.stdout, job.stdout + job.stderr
    assert "gone" not in job.stderr and "left" not in job.stderr, job.stderr
