"""The collective engine between processes under `ronde run`: what it computes. The programs are in tests/comm."""

import re
import subprocess

import pytest

pytest_plugins = ["job_fixtures", "engine_fixtures"]


def assert_all_are_well(done, count: int) -> list[int]:
    assert done.returncode == 0, done.stderr
    checks = dict(re.findall(r"^\[(\d+)\] ok (\d+) checks$", done.stdout, re.MULTILINE))
    assert sorted(map(int, checks)) == list(range(count)), done.stdout
    assert done.stderr == ""
    return [int(number) for number in checks.values()]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_every_operation_and_type(ranks, count):
    assert min(assert_all_are_well(ranks(count, "ops_rank"), count)) > 1000


@pytest.mark.parametrize("seed", ["1", "2"])
def test_random_requests(ranks, seed):
    assert min(assert_all_are_well(ranks(3, "fuzz_rank", seed, "5"), 3)) > 100


@pytest.mark.parametrize("count", [1, 2, 3])
def test_engines_one_after_the_other(ranks, count):
    done = ranks(count, "life_rank")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] ok" for rank in range(count)]


@pytest.mark.parametrize("program", ["ops_rank", "life_rank"])
def test_one_process_without_a_launcher(build_dir, clean_env, program):
    done = subprocess.run([build_dir / program], env=clean_env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ok")


@pytest.mark.parametrize(("flag", "kibibytes"), [("-f", 1000), ("-v", 8_000_000)])
def test_a_limit_that_leaves_no_room_is_named_with_the_setting(build_dir, clean_env, flag, kibibytes):
    """And a smaller arena fits."""
    script = f"ulimit {flag} {kibibytes}; exec {build_dir}/ops_rank few"
    done = subprocess.run(["bash", "-c", script], env=clean_env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"(ulimit {flag})" in done.stderr and "lower comm.arena_bytes" in done.stderr
    script = f"ulimit {flag} {kibibytes * 1000}; exec {build_dir}/ops_rank few"
    env = clean_env | {"RONDE_COMM_ARENA_BYTES": "64MiB"}
    assert subprocess.run(["bash", "-c", script], env=env, capture_output=True, timeout=60).returncode == 0
