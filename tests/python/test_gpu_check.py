"""tools/gpu-check without a GPU: its parts are stand-ins, and its exit code is theirs."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

TESTS = ("device_test", "comm_test", "comm_engine_test", "data_test", "models_test", "parallel_test", "train_test")
PASSED = "echo '[  PASSED  ] 3 tests.'"
ROWS = """echo '{"rows": [{"step_us": 1.5}], "summary": {"speedup": {"value": 0.5, "bar": 1, "met": false}}}'"""
RONDE = f"""case $1 in
  bench) {ROWS} ;;
  train) for word; do case $word in output.dir=*) folder=${{word#*=}} ;; esac; done
         mkdir -p "$folder"; echo '{{"samples_per_second": 1234.0}}' >"$folder/log.jsonl" ;;
esac
echo "ronde $*" >>"$CALLS"; [ "$1 $2" != "$FAILS" ] || exit 3"""


class Machine:
    """A tree with tools/gpu-check in it, programs that were not built, and a driver that is not there."""

    def __init__(self, folder: pathlib.Path):
        self.root, self.stubs, self.photos = folder / "tree", folder / "stubs", folder / "photos"
        for made in (self.root / "tools", self.root / "build/gpu", self.stubs, self.photos / "cats"):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "tools/gpu-check", self.root / "tools")
        for name in ("cat.JPEG", "cat.JPG", "cat.jpg", "cat.jpeg", "cat.png"):
            (self.photos / "cats" / name).write_bytes(b"a photograph")
        for program in TESTS:
            self.put(program, PASSED)
        self.put("ronde", RONDE)
        for name in ("nvidia-smi", "cmake", "compute-sanitizer"):
            self.put(name, "exit 0", self.stubs)
        self.put("ninja", "[ $3 = -t ] || exit 0; echo ronde: phony", self.stubs)
        # Neither libtorch nor pytest is needed; the pieces of Python inside the script run.
        self.put("python3", f'case $1 in -m | -c) exit 0 ;; *) exec {sys.executable} "$@" ;; esac', self.stubs)

    def put(self, name: str, script: str, folder: pathlib.Path | None = None) -> None:
        file = (folder or self.root / "build/gpu") / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def check(self, *words: str, fails: str = "") -> subprocess.CompletedProcess:
        env = os.environ | {"PATH": f"{self.stubs}:{os.environ['PATH']}", "CALLS": str(self.root / "calls")}
        command = ["tools/gpu-check", *words]
        return subprocess.run(command, cwd=self.root, env=env | {"FAILS": fails}, capture_output=True, text=True)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_all_parts_go_well_and_a_missed_bar_fails_nothing(machine):
    done = machine.check("--dir", str(machine.photos))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    assert "speedup: 0.5 (bar 1): MISSED" in done.stdout
    assert "ok, 3" in done.stdout
    assert "1234" in done.stdout


def test_every_spelling_of_jpeg_is_found(machine):
    machine.check("--only", "input", "--dir", str(machine.photos))
    names = {file.name.partition("-")[2] for file in (machine.root / "build/gpu/photos/cats").iterdir()}
    assert names == {"cat.JPEG", "cat.JPG", "cat.jpg", "cat.jpeg"}


@pytest.mark.parametrize(
    ("part", "fails"),
    [
        ("bench", "bench train"),
        ("bench", "bench allreduce"),
        ("bench", "info "),
        ("input", "data pack"),
        ("input", "data bench"),
        ("input", "train imagenet-resnet50"),
        ("input", "report build/gpu/trace"),
    ],
)
def test_a_command_of_ronde_that_fails(machine, part, fails):
    done = machine.check("--only", part, "--dir", str(machine.photos), fails=fails)
    assert f"ronde {fails}".strip() in (machine.root / "calls").read_text()
    assert (done.returncode, done.stdout.count("FAILED")) == (1, 1), done.stdout


@pytest.mark.parametrize("script", ["exit 139", "echo '[  PASSED  ] 0 tests.'"])
def test_tests_that_crash_or_are_none(machine, script):
    machine.put("train_test", script)
    done = machine.check("--only", "test")
    assert (done.returncode, done.stdout.count("FAILED")) == (1, 1), done.stdout
    assert "ok, 3" in done.stdout, "the others are still run"


@pytest.mark.parametrize(
    ("part", "program"),
    [("build", "cmake"), ("build", "ninja"), ("sanitize", "compute-sanitizer"), ("python", "python3")],
)
def test_a_tool_that_fails(machine, part, program):
    machine.put(program, "exit 9", machine.stubs)
    assert machine.check("--only", part).returncode == 1


def test_figures_and_speeds_that_are_missing(machine):
    machine.put("ronde", "[ $1 != bench ] || echo '{'")
    done = machine.check("--only", "bench")
    assert (done.returncode, done.stdout.count("FAILED: no figures")) == (1, 2), done.stdout
    done = machine.check("--only", "input", "--dir", str(machine.photos))
    assert (done.returncode, done.stdout.count("FAILED: no speed in the log")) == (1, 1), done.stdout


def test_a_folder_without_photographs(machine):
    shutil.rmtree(machine.photos / "cats")
    done = machine.check("--only", "input", "--dir", str(machine.photos))
    assert done.returncode == 1
    assert "there is no JPEG under" in done.stdout


@pytest.mark.parametrize(("words", "said"), [("--only tests", "no part 'tests'"), ("--only input", "--dir FOLDER")])
def test_parts_that_would_check_nothing(machine, words, said):
    done = machine.check(*words.split())
    assert done.returncode == 2
    assert said in done.stderr
