"""`ronde run --restart N`: a job that fails is started again, announced in a line."""

import time

import pytest
from job import wait_until

pytest_plugins = ["job_fixtures"]


def test_a_job_that_fails_once_goes_on(sh, tmp_path):
    script = """echo attempt $RONDE__ATTEMPT; [ $RONDE__ATTEMPT = 2 ] && exit 0
                touch here.$RANK; while [ ! -e here.0 ]; do sleep 0.05; done; [ $RANK = 1 ] && exit 9; sleep 1000"""
    done = sh(2, script, "--restart", "3", "--output-dir", "logs")
    assert done.returncode == 0, done.stderr
    assert "failed first: exit code 9\nstarting again in 1 s, restart 1 of 3 (exit code 9)\n" in done.stderr
    assert "[0] attempt 1\n" in done.stdout and "[0] attempt 2\n" in done.stdout
    assert "attempt 3" not in done.stdout
    assert (tmp_path / "logs/rank.0.out").read_text() == "attempt 1\nattempt 2\n", "what the first said is kept"


def test_the_delay_grows_and_restarts_end(sh):
    begin = time.monotonic()
    done = sh(1, "kill -KILL $$", "--restart", "2")
    assert done.returncode == 137
    assert "starting again in 1 s, restart 1 of 2 (exit code 137)\n" in done.stderr
    assert "starting again in 2 s, restart 2 of 2 (exit code 137)\n" in done.stderr
    assert done.stderr.endswith("not started again: the job failed after 2 restarts\n")
    assert time.monotonic() - begin >= 3


@pytest.mark.parametrize(("code", "said"), [(2, "means wrong input"), (75, "")])
def test_not_what_would_not_help(sh, code, said):
    done = sh(1, f"echo attempt $RONDE__ATTEMPT; exit {code}", "--restart", "3")
    assert (done.returncode, done.stdout) == (code, "[0] attempt 1\n")
    assert "starting again" not in done.stderr and said in done.stderr


def test_an_interrupt_ends_it_also_between_attempts(start):
    job = start(1, "echo ready; sleep 1000", "--restart", "3")
    job.wait_for_lines("[0] ready")
    job.signal(2)
    assert job.wait() == 130
    assert "starting again" not in job.err


def test_an_interrupt_while_it_waits(start):
    job = start(1, "exit 5", "--restart", "9")
    wait_until(lambda: "starting again in 4 s" in job.err, "the third restart")
    job.signal(15)
    assert job.wait() == 143
    assert job.err.endswith("stopped by signal 15 (terminated)\n")
