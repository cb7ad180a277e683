"""`ronde run -n N COMMAND` as a user meets it: what ranks find, what is printed, and what is refused."""

import os
import pty
import re
import select
import sys
import time

import pytest
from job import QUIET, TEST_TIMEOUT

pytest_plugins = ["job_fixtures"]


def test_ranks_find_what_torchrun_would_give_them(sh):
    names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT RONDE__RANK RONDE__SIZE"
    done = sh(2, f"for name in {names}; do echo $name=${{!name}}; done")
    assert done.returncode == 0, done.stderr
    for rank in "01":
        found = dict(re.findall(rf"^\[{rank}\] (\w+)=(.*)$", done.stdout, re.MULTILINE))
        port = found.pop("MASTER_PORT")
        assert 1024 <= int(port) < 65536
        values = [rank, "2", rank, "2", "0", "127.0.0.1", rank, "2"]
        assert list(found.values()) == values
    assert len(set(re.findall(r"MASTER_PORT=(\d+)", done.stdout))) == 1, "all ranks agree on it"


def test_lines_have_their_rank_in_front_and_streams_stay_apart(sh):
    done = sh(2, "echo out $RANK; echo err $RANK >&2; printf 'no newline'")
    assert sorted(done.stdout.splitlines()) == ["[0] no newline", "[0] out 0", "[1] no newline", "[1] out 1"]
    assert sorted(done.stderr.splitlines()) == ["[0] err 0", "[1] err 1"]


@pytest.mark.parametrize("separator", [[], ["--"]])
def test_flags_of_the_command_are_its_own(run, separator):
    script = "import sys; print(*sys.argv[1:])"
    arguments = ["--json", "-n", "7", "--help", "run", "--bind=spam", "--"]
    done = run("-np", "1", *separator, sys.executable, "-c", script, *arguments)
    assert (done.returncode, done.stdout) == (0, f"[0] {' '.join(arguments)}\n"), done.stderr


def test_settings_given_as_flags_reach_the_ranks(run):
    done = run(
        "-n", "1", "--trace-steps", "1..2", "--set", "trace.bytes=2MiB", "env", env={"RONDE_TRACE_BYTES": "1MiB"}
    )
    assert "[0] RONDE_TRACE_STEPS=1..2\n" in done.stdout
    assert "[0] RONDE_TRACE_BYTES=2MiB\n" in done.stdout


def test_output_that_comes_after_the_rank_is_not_lost(sh):
    assert sh(1, "exec > >(sleep 0.2; cat); echo through a pipe").stdout == "[0] through a pipe\n"


def test_eight_ranks_on_any_number_of_cores(sh):
    done = sh(8, "seq 1 100")
    assert done.returncode == 0
    for rank in range(8):
        numbers = re.findall(rf"^\[{rank}\] (\d+)$", done.stdout, re.MULTILINE)
        assert numbers == [str(number) for number in range(1, 101)]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-n", "2", "no-such-program"], ["command not found: no-such-program"]),
        (["-n", "2", "./no-such-program"], ["command not found: ./no-such-program"]),
        (["-n", "2", "/etc/passwd"], ["/etc/passwd", "executable program"]),
        (["-n", "0", "true"], ["-n 0", "from 1"]),
        (["-n", "x", "true"], ["-n x"]),
        (["-n", "2"], ["missing command"]),
        (["true"], ["missing number of ranks"]),
        ([], ["missing number of ranks"]),
        (["-n", "2", "--bind", "spam", "true"], ["spam", "socket"]),
        (["-n", "2", "--bnid", "core", "true"], ["--bnid", "did you mean --bind?"]),
        (["-n", "2", "--launch-grace", "10", "true"], ["launch.grace"]),
    ],
)
def test_wrong_input_is_one_sentence(run, arguments, parts):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ronde: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_a_file_that_the_kernel_refuses(run, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    done = run("-n", "3", "./program")
    assert done.returncode == 2
    assert done.stderr == "ronde: cannot start './program': No such file or directory\n"


def test_bytes_that_are_no_text_and_very_long_lines(start):
    script = r"head -c 3000000 /dev/zero | tr '\0' x; echo; printf '\x00\xff\xfe\n'"
    job = start(2, script)
    assert job.wait() == 0
    lines = (job.folder / "out").read_bytes().split(b"\n")
    for rank in (b"[0] ", b"[1] "):
        mine = [line.removeprefix(rank) for line in lines if line.startswith(rank)]
        assert mine[-1] == b"\x00\xff\xfe"
        assert b"".join(mine[:-1]) == b"x" * 3_000_000
        assert len(mine) == 4, "cut at a mebibyte"


def test_much_output_at_once(start):
    job = start(4, "seq 1 200000; seq 1 200000 >&2")
    assert job.wait() == 0
    for text in (job.out, job.err):
        lines = text.splitlines()
        for rank in range(4):
            mine = [line for line in lines if line.startswith(f"[{rank}] ")]
            assert mine == [f"[{rank}] {number}" for number in range(1, 200_001)]


def test_rank_zero_reads_standard_input_and_the_others_find_it_empty(start, tmp_path):
    (tmp_path / "in").write_text("one\ntwo\n")
    with (tmp_path / "in").open() as text:
        job = start(2, "while read -r line; do echo read $line; done; echo end", stdin=text)
    assert job.wait() == 0
    assert sorted(job.out.splitlines()) == ["[0] end", "[0] read one", "[0] read two", "[1] end"]


def test_progress_bars_leave_only_their_end_in_a_file(sh):
    done = sh(1, r"printf '\r10%%\r50%%\r100%%\nnext\r\n'")
    assert done.stdout == "[0] 100%\n[0] next\n"


def read_terminal(ours: int, stop: str) -> str:
    text, end = b"", time.monotonic() + TEST_TIMEOUT
    while stop not in text.decode(errors="replace") and time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                text += os.read(ours, 65536)
            except OSError:  # nobody has the other end open
                break
    return text.decode(errors="replace")


def test_at_a_terminal(build_dir, clean_env, mark):
    """Colours, bars, what is typed, and Ctrl-C."""
    script = r"""printf '10%%\r'; [ $RANK = 0 ] && read -r line && echo "read $line"
                 trap 'echo stopped; exit 0' INT; echo ready; while :; do sleep 0.05; done"""
    env = {name: value for name, value in clean_env.items() if name != "NO_COLOR"} | {"JOB_MARK": mark}
    child, ours = pty.fork()
    if child == 0:
        try:
            os.execve(build_dir / "ronde", ["ronde", "run", *QUIET, "-n", "2", "bash", "-c", script], env)
        finally:
            os._exit(127)
    shown = read_terminal(ours, "\x1b[33m[1]\x1b[0m ready")
    assert "\x1b[33m[1]\x1b[0m 10%\r" in shown and "\x1b[K" in shown
    os.write(ours, b"typed\n")
    shown = read_terminal(ours, "\x1b[36m[0]\x1b[0m ready")
    assert "\x1b[36m[0]\x1b[0m read typed" in shown
    os.write(ours, b"\x03")
    shown = read_terminal(ours, "stopped by")
    assert "[0]\x1b[0m stopped" in shown and "[1]\x1b[0m stopped" in shown
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    os.close(ours)


def test_ranks_are_bound_unless_asked_not_to(sh):
    script = "import os; print(sorted(os.sched_getaffinity(0)), os.environ.get('OMP_PLACES'))"
    allowed = sorted(os.sched_getaffinity(0))
    free = sh(2, f'{sys.executable} -c "{script}"', "--bind", "none")
    assert set(free.stdout.splitlines()) == {f"[{rank}] {allowed} None" for rank in (0, 1)}
    if len(allowed) < 2:
        pytest.skip("on one core there is nothing to choose from")
    bound = dict(re.findall(r"\[(\d)\] \[(.*?)\] \{", sh(2, f'{sys.executable} -c "{script}"').stdout))
    cpus = {rank: set(text.split(", ")) for rank, text in bound.items()}
    assert cpus["0"] and cpus["1"] and not cpus["0"] & cpus["1"]


def test_the_user_decides_about_threads(run):
    assert "OMP_NUM_THREADS=3\n" in run("-n", "1", "env", env={"OMP_NUM_THREADS": "3"}).stdout


def test_more_ranks_than_cores_is_one_line_of_warning(ronde, mark):
    ranks = len(os.sched_getaffinity(0)) + 1
    done = ronde("run", "-n", str(ranks), "true", env={"JOB_MARK": mark})
    assert done.returncode == 0
    assert f"{ranks} ranks take turns" in done.stderr and done.stderr.count("\n") == 1


def test_a_job_inside_a_job(build_dir, sh):
    inside = "echo in $RANK; sleep $RANK; exit $((RANK * 3))"
    done = sh(2, f"{build_dir}/ronde run --log-level error -n 2 bash -c '{inside}'")
    assert done.returncode == 3
    assert "[0] [0] in 0" in done.stdout or "[1] [0] in 0" in done.stdout
