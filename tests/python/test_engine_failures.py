"""What ranks hear when one of them is killed, leaves or hangs; and that nothing is left of any of it."""

import re
import socket

import pytest
from job import wait_until

pytest_plugins = ["job_fixtures", "engine_fixtures"]
HOST = socket.gethostname()
DEADLINE = 4 * 5.0  # seconds; the engine promises five
# How a rank ends: what the job returns, and what the launcher says about it.
ENDS = {"kill": (137, "signal 9"), "exit": (0, "exit code 0"), "throw": (1, None), "_exit": (3, "exit code 3")}


@pytest.fixture
def fail(run, build_dir):
    """A job in which one rank ends in a phase. The others have time to say what they hear of it."""

    def fail(ranks: int, how: str, phase: str, victim: int):
        program = (str(build_dir / "failing_rank"), how, phase, str(victim))
        return run("-n", str(ranks), "--launch-grace=30s", *program)

    return fail


def assert_survivors_hear(done, ranks: int, how: str, victim: int, words: tuple[str, ...]) -> None:
    code, _ = ENDS[how]
    assert done.returncode == code, done.stdout + done.stderr
    end = re.search(rf"^\[{victim}\] ends at (\d+)$", done.stdout, re.MULTILINE)
    assert end, done.stdout + done.stderr
    for rank in set(range(ranks)) - {victim}:
        heard = re.search(rf"^\[{rank}\] hears at (\d+): (.*?): (.*)$", done.stdout, re.MULTILINE)
        assert heard, done.stdout + done.stderr
        assert (int(heard[1]) - int(end[1])) / 1e9 < DEADLINE
        assert heard[2] == "peer lost", heard[0]
        assert "BLAMES" not in heard[3]
        for word in (f"rank {victim}", *words):
            assert word in heard[3]
        assert f"[{rank}] leaves by the front door\n" in done.stdout


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("phase", ["idle", "negotiating", "voting", "reducing", "shutting_down"])
@pytest.mark.parametrize("how", ENDS)
def test_a_rank_ends_in_the_middle(fail, nothing_left, how, phase, ranks):
    victim = {"kill": ranks - 1, "exit": 0, "throw": ranks - 1, "_exit": 1}[how]
    done = fail(ranks, how, phase, victim)
    said = ENDS[how][1]
    # One that has begun to leave has said goodbye, and may not be watched any more.
    words = (HOST, said) if said and phase != "shutting_down" else (HOST,)
    assert_survivors_hear(done, ranks, how, victim, words)


@pytest.mark.parametrize("how", ENDS)
def test_a_rank_ends_before_the_others_have_met_it(fail, nothing_left, how):
    done = fail(3, how, "starting", 1)
    assert_survivors_hear(done, 3, how, 1, (ENDS[how][1],) if ENDS[how][1] else ())


@pytest.fixture
def stall(start, build_dir):
    """Two ranks wait for a third one, which sleeps until there is a file `go`."""
    return lambda *settings: start(3, f"exec {build_dir}/stalling_rank", *(f"--set={setting}" for setting in settings))


def pid_of(job, rank: int) -> str:
    wait_until(lambda: f"[{rank}] pid " in job.out, f"rank {rank} has begun")
    return re.search(rf"^\[{rank}\] pid (\d+)$", job.out, re.MULTILINE)[1]


def test_a_rank_that_hangs_is_reported(stall, nothing_left, tmp_path):
    job = stall("comm.stall_warn=1s")
    sleeper = pid_of(job, 2)
    wait_until(lambda: "gradient" in job.err, "a report about the tensor that waits")
    wait_until(lambda: sleeper in job.err, "what the rank that is missing does")
    report = job.err
    for word in ("rank 2", "weights", "42", HOST, f"pid {sleeper}"):
        assert word in report
    assert "missing rank 0" not in report and "missing rank 1" not in report
    (tmp_path / "go").touch()
    assert job.wait() == 0
    assert [line for line in sorted(job.out.splitlines()) if "pid" not in line] == [f"[{r}] sum 3" for r in range(3)]


def test_a_rank_that_hangs_for_too_long_is_given_up(stall, nothing_left, tmp_path):
    job = stall("comm.stall_abort=2s")
    sleeper = pid_of(job, 2)
    wait_until(lambda: "[0] timeout" in job.out and "[1] timeout" in job.out, "both ranks give up")
    for rank in (0, 1):
        said = re.search(rf"^\[{rank}\] timeout: (.*)$", job.out, re.MULTILINE)[1]
        for word in ("gradient", "rank 2", "weights", HOST, sleeper):
            assert word in said
    (tmp_path / "go").touch()
    assert job.wait() == 0


@pytest.mark.parametrize("grace", ["0s", "10s"])
def test_a_job_that_is_killed_in_its_work_leaves_nothing(start, build_dir, nothing_left, grace):
    job = start(3, f"echo ready; exec {build_dir}/fuzz_rank 3 600", f"--launch-grace={grace}")
    job.wait_for_lines("[0] ready", "[1] ready", "[2] ready")
    job.process.kill()
    job.wait()
