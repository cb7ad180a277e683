"""An installed Ronde can be used by a project that knows nothing of its tree."""

import pathlib
import subprocess

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def prefix(build_dir, tmp_path_factory):
    """An installed prefix, moved after the installation: nothing in it may depend on where it was put."""
    first = tmp_path_factory.mktemp("install") / "first"
    subprocess.run(["cmake", "--install", build_dir, "--prefix", first], check=True, capture_output=True)
    return first.rename(first.parent / "moved")


def test_the_program_runs_from_the_prefix(prefix):
    said = subprocess.run([prefix / "bin" / "ronde", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("ronde ")


def test_programs_find_each_other_in_the_prefix(prefix, clean_env):
    said = subprocess.run([prefix / "bin" / "ronde", "bench", "--list"], capture_output=True, text=True, env=clean_env)
    assert "allreduce" in said.stdout, said.stderr


def test_what_is_installed_is_small(prefix, build_dir):
    if "CMAKE_BUILD_TYPE:STRING=RelWithDebInfo" not in (build_dir / "CMakeCache.txt").read_text():
        pytest.skip("only the release presets keep debug information apart")
    assert sum(path.stat().st_size for path in prefix.rglob("*") if path.is_file()) < 80e6


@pytest.fixture
def consumer(prefix, tmp_path, clean_env):
    """Builds a project from tests/consumer against the prefix, and returns its program."""

    def build(name: str) -> pathlib.Path:
        source = ROOT / "tests" / "consumer" / name
        for command in (
            ["cmake", "-G", "Ninja", "-S", source, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}"],
            ["cmake", "--build", tmp_path],
        ):
            done = subprocess.run(command, capture_output=True, text=True, env=clean_env)
            assert done.returncode == 0, done.stdout + done.stderr
        return tmp_path / "consumer"

    return build


def test_a_consumer_builds_and_runs(consumer, clean_env):
    program = consumer("base")
    said = subprocess.run([program], capture_output=True, text=True, env=clean_env)
    assert said.stdout.endswith("records into 2 MiB\n")
    wrong = subprocess.run([program], capture_output=True, text=True, env=clean_env | {"RONDE_TRACE_BYTES": "many"})
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "RONDE_TRACE_BYTES" in wrong.stderr


def test_a_simulation_code_links_communication_alone(consumer, prefix, clean_env):
    program = consumer("comm")
    alone = subprocess.run([program], capture_output=True, text=True, env=clean_env)
    assert (alone.stdout, alone.stderr) == ("rank 0 of 1: 1.0\n", "")
    command = [prefix / "bin" / "ronde", "run", "--log-level", "error", "-n", "3", program]
    job = subprocess.run(command, capture_output=True, text=True, env=clean_env, timeout=60)
    assert (job.returncode, job.stderr) == (0, "")
    assert sorted(job.stdout.splitlines()) == [f"[{rank}] rank {rank} of 3: 2.0" for rank in range(3)]
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    assert "torch" not in linked and "libmpi" not in linked


def torch_prefix(build_dir: pathlib.Path) -> pathlib.Path | None:
    """The libtorch that the build was made with; none: it was made without."""
    for line in (build_dir / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("Torch_DIR:") and not line.endswith("NOTFOUND"):
            return pathlib.Path(line.partition("=")[2]).parents[2]
    return None


def test_a_libtorch_program_trains_on_two_ranks(consumer, prefix, clean_env, build_dir):
    if torch_prefix(build_dir) is None:
        pytest.skip("this build has no libtorch")
    program = consumer("train")
    command = [prefix / "bin" / "ronde", "run", "--log-level", "error", "-n", "2", program]
    job = subprocess.run(command, capture_output=True, text=True, env=clean_env, timeout=60)
    assert (job.returncode, job.stderr) == (0, "")
    assert sorted(job.stdout.splitlines()) == [f"[{rank}] rank {rank} of 2: -1.5" for rank in range(2)]


def test_installed_headers_stand_alone(prefix, tmp_path, build_dir):
    """Every public header compiles by itself, with nothing but the prefix and the libraries on the path."""
    torch = torch_prefix(build_dir)
    includes = [torch / "include", torch / "include/torch/csrc/api/include"] if torch else []
    headers = sorted(path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*.h"))
    assert headers
    source = tmp_path / "all.cc"
    source.write_text("".join(f"#include <{header}>\n" for header in reversed(headers)))
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{prefix / 'include'}", source]
    command += [f"-isystem{folder}" for folder in includes]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
