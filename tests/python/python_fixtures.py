"""Fixtures for tests of the Python package: pytest_plugins = ["job_fixtures", "python_fixtures"]."""

import inspect
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest
from job import QUIET

PRELUDE = """
import torch
import ronde.torch as hvd
hvd.init()
rank, size = hvd.rank(), hvd.size()
"""
TEST_TIMEOUT = 200  # seconds; starting torch on many ranks of a busy machine takes long


@pytest.fixture(scope="session")
def package(build_dir) -> pathlib.Path:
    """The folder in which Python finds the package `ronde`."""
    folder = build_dir / "python"
    if not list(folder.glob("ronde/_core.*.so")):
        pytest.skip("the Python module was not built (target ronde_python)")
    return folder


@pytest.fixture
def package_env(clean_env, package, mark) -> dict[str, str]:
    ours = ("HOROVOD_", "OMPI_", "PMI", "SLURM")
    kept = {name: value for name, value in clean_env.items() if not name.startswith(ours)}
    return kept | {
        "PYTHONPATH": str(package),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JOB_MARK": mark,
        "OMP_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }


def launcher_words(launcher: str, build_dir: pathlib.Path, ranks: int, flags: tuple[str, ...]) -> list[str]:
    if launcher == "ronde":
        return [str(build_dir / "ronde"), "run", *QUIET, "--bind", "none", "-n", str(ranks), *flags]
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    if not list(build_dir.glob("ronde-mpi-*.so")):
        pytest.skip("this build has no MPI")
    return ["mpirun", "-n", str(ranks), *flags]


@pytest.fixture
def python_job(build_dir, package_env, tmp_path):
    """Runs Python on many ranks to its end: python_job(2, "train.py", "--epochs", "1", flags=("--horovod",))."""

    def run(ranks: int, *words: str, launcher: str = "ronde", flags: tuple[str, ...] = (), env=None):
        command = [*launcher_words(launcher, build_dir, ranks, flags), sys.executable, *map(str, words)]
        return subprocess.run(
            command, env=package_env | (env or {}), cwd=tmp_path, capture_output=True, text=True, timeout=TEST_TIMEOUT
        )

    return run


def as_script(functions, prelude: str = PRELUDE) -> str:
    """Functions of a test module as a program of their own, which calls one after the other."""
    parts = [prelude]
    for function in functions:
        parts += [textwrap.dedent(inspect.getsource(function)), f"{function.__name__}()"]
    return "\n".join(parts) + "\n"


@pytest.fixture
def on_ranks(python_job, tmp_path):
    """Calls functions of the test module on every rank, where they find torch, hvd, rank and size; all must come to
    their end: on_ranks(2, sums_are_sums, means_are_means). Returns the job."""

    def run(ranks: int, *functions, prelude: str = PRELUDE, **options) -> subprocess.CompletedProcess:
        script = tmp_path / "ranks.py"
        script.write_text(as_script(functions, prelude))
        done = python_job(ranks, str(script), **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def python(package_env, tmp_path):
    """One Python process without a launcher: python("-c", "import ronde")."""

    def run(*words: str, env=None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, *map(str, words)],
            env=package_env | (env or {}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=TEST_TIMEOUT,
        )

    return run
