"""`ronde` needs no libtorch; commands that do are programs beside it, which it goes on as."""

import shutil
import subprocess

import pytest


def links_torch(program) -> bool:
    return "torch" in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout


def test_the_program_that_users_start_does_not_load_libtorch(build_dir):
    assert not links_torch(build_dir / "ronde")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "--list"], "mnist"),
        (["--trace-bytes", "64MiB", "train", "--list"], "mnist"),
        (["--trace-bytes=64MiB", "train", "--list"], "mnist"),
        (["--set", "trace.bytes=64MiB", "log.level=warn", "train", "--list"], "mnist"),
        (["train", "--help"], "RECIPE"),
        (["eval", "--help"], "CHECKPOINT"),
        (["bench", "--list"], "allreduce"),
        (["data", "bench", "--help"], "SAMPLES"),
        (["data", "--help"], "pack"),
        (["run", "-n", "1", "echo", "train"], "train"),
    ],
)
def test_a_command_is_found_behind_any_flags(ronde, words, said):
    done = ronde(*words)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_all_commands_are_in_the_help(ronde):
    said = ronde("--help").stdout
    for command in ("info", "run", "train", "eval", "limits", "report", "trace", "data", "bench"):
        assert f"\n  {command} " in said
    assert "check-rank" not in said


@pytest.mark.parametrize("words", [["train", "--nonsense"], ["bench", "nonsense"], ["data", "bench", "--nonsense"]])
def test_a_wrong_word_for_another_program_is_told_as_by_this_one(ronde, words):
    done = ronde(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nonsense" in done.stderr


def test_a_program_that_is_missing_is_named(build_dir, tmp_path, clean_env):
    alone = tmp_path / "ronde"
    shutil.copy2(build_dir / "ronde", alone)
    done = subprocess.run([alone, "train", "--list"], capture_output=True, text=True, env=clean_env)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert str(tmp_path / "ronde-train") in done.stderr
    assert subprocess.run([alone, "--version"], capture_output=True, env=clean_env).returncode == 0
