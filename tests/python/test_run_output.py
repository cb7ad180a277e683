"""Where the output of ranks goes: files, rank 0 alone, with times, and progress bars that stay whole."""

import re
import shutil
import subprocess

import pytest
from job import QUIET

pytest_plugins = ["job_fixtures"]


@pytest.mark.parametrize("flag", ["--output-dir", "--output-filename"])
def test_a_file_for_each_rank(sh, tmp_path, flag):
    done = sh(2, r"echo out $RANK; echo err $RANK >&2; printf '10%%\r100%%\n'", flag, "logs/run1")
    assert done.returncode == 0
    for rank in (0, 1):
        assert (tmp_path / f"logs/run1/rank.{rank}.out").read_text() == f"out {rank}\n100%\n"
        assert (tmp_path / f"logs/run1/rank.{rank}.err").read_text() == f"err {rank}\n"
    assert "[1] out 1\n" in done.stdout, "it is shown as well"
    sh(1, "echo anew", flag, "logs/run1")
    assert (tmp_path / "logs/run1/rank.0.out").read_text() == "anew\n"


def test_files_grow_while_the_job_runs(start, tmp_path):
    job = start(1, "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second", "--output-dir", "logs")
    job.wait_for_lines("[0] first")
    assert (tmp_path / "logs/rank.0.out").read_text() == "first\n"
    (tmp_path / "go").touch()
    assert job.wait() == 0
    assert (tmp_path / "logs/rank.0.out").read_text() == "first\nsecond\n"


def test_quiet_shows_rank_zero_and_what_a_rank_said_before_it_failed(sh):
    good = sh(3, "echo hello $RANK; echo err $RANK >&2", "--quiet")
    assert (good.stdout, good.stderr) == ("[0] hello 0\n", "[0] err 0\n")
    bad = sh(3, "[ $RANK = 2 ] && { echo no such file >&2; exit 7; }; sleep 1000", "--quiet")
    assert bad.returncode == 7
    assert "  no such file\n" in bad.stderr and bad.stderr.endswith("failed first: exit code 7\n")


@pytest.mark.parametrize("flag", ["--prefix-timestamp", "--prefix-output-with-timestamp"])
def test_times_in_front_of_lines(sh, tmp_path, flag):
    done = sh(1, "echo hello", flag, "--output-dir", "logs")
    time = r"\d\d:\d\d:\d\d\.\d\d\d "
    assert re.fullmatch(time + r"\[0\] hello\n", done.stdout)
    assert re.fullmatch(time + "hello\n", (tmp_path / "logs/rank.0.out").read_text())


@pytest.mark.skipif(not shutil.which("script"), reason="script(1), which makes a terminal, is not installed")
def test_bars_fit_a_narrow_terminal(build_dir, clean_env, mark):
    script = f"echo columns $COLUMNS; printf '{'x' * 100}\\r'"
    command = f'stty cols 40; {build_dir}/ronde run {" ".join(QUIET)} -n 1 bash -c "{script}"'.replace("$", r"\$")
    env = clean_env | {"JOB_MARK": mark, "NO_COLOR": "1", "TERM": "xterm"}
    env.pop("COLUMNS", None)
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    shown = done.stdout.decode()
    assert "[0] columns 35\r\n" in shown, "what the bar may take beside the rank"
    assert "[0] " + "x" * 35 + "\r" in shown, "one that does not ask is cut, for it would wrap"
    assert "x" * 100 in shown, "what stays at the end is whole"
