"""`ronde run --script`: batch scripts, the page that is made of them, and what they do in a job."""

import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from fill_docs import BLOCK, filled  # noqa: E402

pytest_plugins = ["job_fixtures", "launcher_fixtures"]

PAGE = ROOT / "docs" / "clusters.md"


def test_the_page_is_what_the_program_prints(build_dir):
    text = PAGE.read_text()
    assert len(BLOCK.findall(text)) >= 4
    assert filled(text, str(build_dir / "ronde")) == text, "tools/fill_docs.py build/release/ronde docs/clusters.md"


@pytest.mark.parametrize("system", ["slurm", "lsf", "pbs"])
def test_scripts_are_shell(ronde, system, tmp_path):
    done = ronde("run", "--script", system, "-n", "4", "--nodes", "2", "prog", "it's", "$HOME")
    assert done.returncode == 0, done.stderr
    subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)
    assert done.stdout.splitlines()[-1] == r"""ronde run -- prog 'it'\''s' '$HOME'"""


def test_a_script_in_a_job_starts_what_was_asked_for(ronde, fakes, build_dir, tmp_path):
    fakes.install("srun")
    text = ronde("run", "--script", "slurm", "-n", "4", "--nodes", "2", "--bind", "numa", "prog").stdout
    (fakes.folder / "ronde").symlink_to(build_dir / "ronde")
    job = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)"}
    subprocess.run(["/bin/bash"], input=text, text=True, check=True, env=fakes.env | job, cwd=tmp_path, timeout=60)
    assert "--ntasks=4" in fakes.argv
    assert fakes.argv[-4:] == ["numa", "--relay", "--", "prog"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--script", "cron", "-n", "4"], ["cron", "pbs"]),
        (["--script", "slurm"], ["missing number of ranks"]),
        (["--script", "slurm", "-n", "5", "--nodes", "2"], ["5 ranks"]),
        (["--script", "slurm", "-n", "4", "--time", "soon"], ["--time soon"]),
        (["--script", "slurm", "-n", "4", "--time", "0s"], ["--time 0s"]),
        (["--script", "pbs", "-H", "a:4"], ["-H"]),
    ],
)
def test_wrong_input_is_one_sentence(ronde, arguments, parts):
    done = ronde("run", *arguments, "prog")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ronde: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


FAKE_APPTAINER = """#!/bin/bash
# Writes its words down and runs what follows the image.
printf '%s\\n' "$@" > "$APPTAINER_LOG"
while [ "$1" != image.sif ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def apptainer(fakes, tmp_path) -> pathlib.Path:
    program, log = fakes.folder / "apptainer", tmp_path / "words"
    program.write_text(FAKE_APPTAINER)
    program.chmod(0o755)
    (tmp_path / "image.sif").write_text("")
    fakes.env["APPTAINER_LOG"] = str(log)
    return log


def test_ranks_in_a_container(run, fakes, apptainer, tmp_path):
    flags = ("--container", "image.sif", "--container-bind", "/usr:/usr:ro")
    done = run("-n", "1", *flags, "/bin/sh", "-c", "echo $RANK in", env=fakes.env)
    assert (done.returncode, done.stdout) == (0, "[0] 0 in\n"), done.stderr
    words = [word for word in apptainer.read_text().split("\n") if word != "--nv"]
    start = ["exec", "--bind", str(tmp_path), "--bind", "/dev/shm", "--bind", "/bin", "--bind", "/usr:/usr:ro"]
    assert words[:12] == [*start, "--pwd", str(tmp_path), "image.sif"]


def test_ranks_of_other_launchers_in_a_container(run, fakes, apptainer):
    fakes.install("mpirun")
    where = ("--launcher", "mpirun", "-H", "a:1", "--container", "image.sif", "--trace-dir", "traces")
    done = run(*where, "/bin/sh", "-c", "echo $RANK in", env=fakes.env | {"FAKE_RUN": "1"})
    assert (done.returncode, done.stdout) == (0, "[0] 0 in\n"), done.stderr


def test_a_container_that_cannot_be(run, fakes, apptainer):
    done = run("-n", "1", "--container", "none.sif", "true", env=fakes.env)
    assert (done.returncode, done.stderr) == (2, "ronde: --container none.sif: there is no such image\n")
    (fakes.folder / "apptainer").unlink()
    done = run("-n", "1", "--container", "image.sif", "true", env=fakes.env)
    assert done.returncode == 2 and "neither apptainer nor singularity" in done.stderr
