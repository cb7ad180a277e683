"""How a job under `ronde run` ends: who failed first, who is told, what is left (nothing)."""

import os
import pathlib
import re
import signal
import socket
import sys
import time

import pytest
from job import TEST_TIMEOUT, alive, is_zombie, wait_until

pytest_plugins = ["job_fixtures"]
HERE = pathlib.Path(__file__).parent
HOST = socket.gethostname()


def last_line(text: str) -> str:
    return text.splitlines()[-1]


def test_a_rank_that_ends_early_and_well_disturbs_nobody(sh):
    done = sh(2, "[ $RANK = 0 ] || { sleep 0.5; echo late; }")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1] late\n", "")


@pytest.mark.parametrize(
    ("end", "code", "how"),
    [("exit 7", 7, "exit code 7"), ("kill -9 $$", 137, "signal 9 (killed)"), ("kill -SEGV $$", 139, "signal 11 (segm")],
)
def test_the_first_failure_decides_the_exit_code_and_the_last_line(sh, end, code, how):
    done = sh(3, f"[ $RANK = 1 ] && {{ echo boom; {end}; }}; sleep 1000")
    assert done.returncode == code
    assert last_line(done.stderr).startswith(f"rank 1 on {HOST} failed first: {how}")
    assert done.stderr.splitlines()[-3:-1] == ["--- the last line of rank 1:", "  boom"]


def test_who_failed_first_is_known_even_by_a_launcher_that_comes_late(start):
    job = start(3, "echo pid $$; exec sleep 1000")
    wait_until(lambda: job.out.count("pid") == 3, "all ranks are there")
    pids = {rank: int(pid) for rank, pid in re.findall(r"^\[(\d)\] pid (\d+)$", job.out, re.MULTILINE)}
    launcher = job.launcher()
    os.kill(launcher, signal.SIGSTOP)
    for rank, number in (("2", signal.SIGKILL), ("0", signal.SIGTERM), ("1", signal.SIGTERM)):
        os.kill(pids[rank], number)
        wait_until(lambda pid=pids[rank]: is_zombie(pid), f"rank {rank} has ended")
    os.kill(launcher, signal.SIGCONT)
    assert job.wait() == 137
    assert last_line(job.err) == f"rank 2 on {HOST} failed first: signal 9 (killed)"


def test_the_last_twenty_lines_of_the_rank_that_failed(sh):
    done = sh(2, "if [ $RANK = 1 ]; then seq 1 24; echo reason >&2; exit 3; else seq 100 200; sleep 1000; fi")
    *_, verdict = lines = done.stderr.splitlines()
    assert verdict == f"rank 1 on {HOST} failed first: exit code 3"
    assert lines[-22] == "--- the last 20 lines of rank 1:"
    assert set(lines[-21:-1]) <= {f"  {number}" for number in range(5, 25)} | {"  reason"}
    assert "  reason" in lines[-21:-1]


def test_the_others_are_told_to_stop_and_may_tidy_up(sh):
    script = """trap 'echo tidy; exit 5' TERM; touch ready$RANK
                until [ -e ready0 ] && [ -e ready2 ]; do sleep 0.01; done; [ $RANK = 1 ] && exit 7
                while :; do sleep 0.05; done"""
    done = sh(3, script)
    assert done.returncode == 7, "those that end because they are told to did not fail first"
    assert sorted(done.stdout.splitlines()) == ["[0] tidy", "[2] tidy"]


def test_who_does_not_listen_is_killed_after_the_grace_time(sh):
    begin = time.monotonic()
    done = sh(
        2, "trap '' TERM; [ $RANK = 1 ] && { sleep 0.3; exit 7; }; while :; do sleep 1; done", "--launch-grace=300ms"
    )
    assert done.returncode == 7
    assert 0.6 <= time.monotonic() - begin < TEST_TIMEOUT


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_reach_all_ranks(start, number, code):
    name = signal.Signals(number).name.removeprefix("SIG")
    job = start(2, f"trap 'echo got {name}; exit 0' {name}; echo ready; while :; do sleep 0.05; done")
    job.wait_for_lines("[0] ready", "[1] ready")
    job.signal(number)
    assert job.wait() == code
    assert {"[0] got " + name, "[1] got " + name} <= set(job.out.splitlines())
    assert last_line(job.err).startswith(f"stopped by signal {int(number)}")


DEAF = "trap 'echo heard' INT TERM; echo ready; while :; do sleep 0.05; done"


def test_a_second_interrupt_kills_at_once(start):
    job = start(2, DEAF)
    job.wait_for_lines("[0] ready", "[1] ready")
    job.signal(signal.SIGINT)
    job.wait_for_lines("[0] heard", "[1] heard")
    time.sleep(0.5)  # a second one that comes at once is taken for an echo
    begin = time.monotonic()
    job.signal(signal.SIGINT)
    assert job.wait() == 130
    assert time.monotonic() - begin < 8, "the grace time is 10 s"


def test_an_echo_of_a_signal_does_not_kill(start):
    job = start(1, "trap 'sleep 0.5; echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    job.wait_for_lines("[0] ready")
    job.signal(signal.SIGTERM)
    time.sleep(0.01)
    job.signal(signal.SIGTERM)
    assert job.wait() == 143
    assert "[0] tidy" in job.out.splitlines()


# A child in the rank's group, one in a session of its own, and one whose parent has gone.
FAMILY = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 > /dev/null 2>&1 &) ; sleep 0.1; echo ready; wait"


def test_killing_what_the_user_sees_leaves_no_orphan(start, mark):
    job = start(2, FAMILY)
    job.wait_for_lines("[0] ready", "[1] ready")
    assert len(alive(mark)) >= 2 + 2 * 4
    job.signal(signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL
    wait_until(lambda: not alive(mark), "all dead")


def test_killing_the_whole_group_leaves_no_orphan(start, mark):
    job = start(2, FAMILY, start_new_session=True)
    job.wait_for_lines("[0] ready", "[1] ready")
    os.killpg(job.pid, signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL
    wait_until(lambda: not alive(mark), "all dead")


def test_killing_the_launcher_itself_leaves_no_orphan(start, mark):
    job = start(2, FAMILY)
    job.wait_for_lines("[0] ready", "[1] ready")
    os.kill(job.launcher(), signal.SIGKILL)
    assert job.wait() == 1
    assert alive(mark) == []
    assert (
        job.err == "ronde: the launcher was ended by signal 9 (killed); all processes that it had started are stopped\n"
    )


def test_what_ranks_leave_behind_ends_with_the_job(sh, mark):
    done = sh(2, "setsid sleep 1000 > /dev/null 2>&1 & setsid sleep 1000 & echo done")
    assert (done.returncode, done.stderr) == (0, "")
    assert alive(mark) == []


def test_a_rank_that_closes_its_output(sh):
    done = sh(2, "echo before; exec >&- 2>&-; sleep 0.2; [ $RANK = 0 ]")
    assert (done.returncode, last_line(done.stderr)) == (1, f"rank 1 on {HOST} failed first: exit code 1")
    assert "[0] before\n" in done.stdout


def test_a_reader_that_goes_away_ends_the_job(start):
    read, write = os.pipe()
    job = start(2, "yes", stdout=write)
    os.close(write)
    assert os.read(read, 10)
    os.close(read)
    assert job.wait() == 128 + signal.SIGPIPE
    assert re.fullmatch(rf"rank [01] on {HOST} failed first: signal 13 \(broken pipe\)", last_line(job.err))


def test_a_reader_that_sleeps_does_not_keep_a_job_from_being_stopped(start):
    read, write = os.pipe()
    job = start(2, "echo ready >&2; yes", stdout=write)
    os.close(write)
    wait_until(lambda: job.err.count("ready") == 2, "both ranks are there")
    time.sleep(0.2)  # the pipe is full now
    job.signal(signal.SIGTERM)
    assert job.wait() == 143
    os.close(read)


@pytest.fixture
def meet(run):
    return lambda how: run("-n", "3", sys.executable, str(HERE / "bootstrap_client.py"), how)


def test_ranks_meet_and_hear_that_one_was_killed(meet):
    done = meet("killed")
    assert done.returncode == 137, done.stderr
    for rank in (0, 1, 2):
        assert f"[{rank}] all: 0,1,2\n" in done.stdout
    for rank in (0, 2):
        assert f"[{rank}] lost: 1 1 rank 1 is gone (" in done.stdout, done.stderr


def test_nobody_waits_for_a_rank_that_has_ended_without_a_word(meet):
    done = meet("early")
    assert done.returncode == 0, done.stderr
    for rank in (0, 2):
        assert f"[{rank}] lost: 1 1 rank 1 is gone (exit code 0)\n" in done.stdout


def test_nothing_is_left_in_the_file_system(sh, start):
    def files():
        return {path for folder in ("/tmp", "/dev/shm") for path in pathlib.Path(folder).glob("*ronde*")}

    before = files()
    assert sh(2, "exit $RANK").returncode == 1
    job = start(1, "grep -o $RONDE__BOOTSTRAP /proc/net/unix | sort -u; echo ready; sleep 1000")
    job.wait_for_lines("[0] ready")
    address = job.out.splitlines()[0].removeprefix("[0] ")
    assert address.startswith("@ronde-"), "the bootstrap's socket has no file"
    job.signal(signal.SIGKILL)
    job.wait()
    wait_until(lambda: address not in pathlib.Path("/proc/net/unix").read_text(), "its name is free again")
    assert files() <= before
