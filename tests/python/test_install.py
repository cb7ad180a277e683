"""An installed Ronde can be used by a project that knows nothing of its tree."""

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


@pytest.mark.parametrize("name", ["base"])
def test_a_consumer_builds_and_runs(prefix, tmp_path, clean_env, name):
    source = ROOT / "tests" / "consumer" / name
    for command in (
        ["cmake", "-G", "Ninja", "-S", source, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["cmake", "--build", tmp_path],
    ):
        done = subprocess.run(command, capture_output=True, text=True, env=clean_env)
        assert done.returncode == 0, done.stdout + done.stderr
    said = subprocess.run([tmp_path / "consumer"], capture_output=True, text=True, env=clean_env)
    assert said.stdout.endswith("records into 2 MiB\n")
    wrong = subprocess.run(
        [tmp_path / "consumer"], capture_output=True, text=True, env=clean_env | {"RONDE_TRACE_BYTES": "many"}
    )
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "RONDE_TRACE_BYTES" in wrong.stderr


def test_installed_headers_stand_alone(prefix, tmp_path):
    """Every public header compiles by itself, with nothing but the prefix and the libraries on the path."""
    headers = sorted(path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*.h"))
    assert headers
    source = tmp_path / "all.cc"
    source.write_text("".join(f"#include <{header}>\n" for header in reversed(headers)))
    command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{prefix / 'include'}", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
