"""Trainings that are longer than the jobs that do them: deadlines, schedulers' signals, and going on."""

import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from job import TEST_TIMEOUT, alive, wait_until
from test_train import flags

pytest_plugins = ["job_fixtures"]
DETERMINISTIC = {"train__deterministic": "true", "train__epochs": "100000"}


class Training:
    """`ronde train` on ranks under `ronde run`, while it runs."""

    def __init__(self, program: str, env: dict[str, str], folder: pathlib.Path, ranks: int, words: list[str]):
        (folder / "empty.toml").write_text("")
        self.log = folder / "ronde-output" / "empty" / "log.jsonl"
        self.checkpoints = folder / "ronde-output" / "empty" / "checkpoints"
        self.printed = folder / "printed"
        with self.printed.open("w") as out:
            self.process = subprocess.Popen(
                [program, "--log-level", "info", "run", "-n", str(ranks), program, "train", "empty.toml", *words],
                env=env, cwd=folder, stdout=out, stderr=out,
            )  # fmt: skip

    def wait(self) -> int:
        return self.process.wait(TEST_TIMEOUT)

    def said(self) -> str:
        return self.printed.read_text()

    def wait_for_steps(self) -> None:
        wait_until(
            lambda: self.process.poll() is not None or (self.log.exists() and self.log.stat().st_size > 0), "steps"
        )
        assert self.process.poll() is None, self.said()

    def newest(self) -> pathlib.Path:
        return max(self.checkpoints.glob("step-*"))


@pytest.fixture
def train(build_dir, clean_env, mark, tmp_path):
    """train(2, train__deadline="1h"): started, in a folder of this test or of the name that is given."""
    started = []

    def start(ranks: int, folder: str = ".", **changes: str) -> Training:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        env = clean_env | {"JOB_MARK": mark, "RONDE_LAUNCH_GRACE": "5s"}
        started.append(Training(str(build_dir / "ronde"), env, place, ranks, flags(**changes)))
        return started[-1]

    yield start
    for training in started:
        training.process.kill()  # after a test that failed; otherwise it has ended already
        training.process.wait()


def rank_process(mark: str, rank: int) -> int:
    for pid in alive(mark):
        if f"RANK={rank}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            return pid
    raise AssertionError(f"there is no rank {rank}")


def tensors(checkpoint: pathlib.Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in checkpoint.glob("*.safetensors")}


def test_a_job_that_is_stopped_by_its_deadline_three_times_gives_the_same_bits(train):
    reached = 0
    for _ in range(3):
        job = train(2, train__deadline="4s", **DETERMINISTIC)
        assert job.wait() == 75, job.said()
        assert "the deadline is in" in job.said() and "(exit code 75)" in job.said(), job.said()
        assert "failed" not in job.said(), job.said()
        step = int(job.newest().name.removeprefix("step-"))
        assert step > reached, job.said()
        reached = step
    last = {**DETERMINISTIC, "train__steps": str(reached + 10)}
    stopped = train(2, **last)
    assert stopped.wait() == 0, stopped.said()
    assert f"training continues after step {reached}" in stopped.said(), stopped.said()
    whole = train(2, "whole", **last)
    assert whole.wait() == 0, whole.said()
    assert stopped.newest().name == whole.newest().name
    assert tensors(stopped.newest()) == tensors(whole.newest()) and len(tensors(whole.newest())) == 2


def test_the_deadline_that_the_launcher_hands_over_counts_too(train):
    job = train(2, launch__deadline=str(int(time.time()) + 5), train__epochs="100000")
    assert job.wait() == 75, job.said()
    assert job.newest().exists() and "the deadline is in" in job.said(), job.said()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_scheduler_s_signal_leaves_a_checkpoint_to_go_on_from(train, number):
    job = train(2, train__epochs="100000")
    job.wait_for_steps()
    job.process.send_signal(number)
    assert job.wait() == 75, job.said()
    assert f": {number.name} was received" in job.said(), job.said()
    step = int(job.newest().name.removeprefix("step-"))
    after = train(2, train__epochs="100000", train__steps=str(step + 5))
    assert after.wait() == 0, after.said()
    assert f"training continues after step {step}," in after.said(), after.said()


def test_a_signal_to_one_rank_alone_stops_all_of_them(train, mark):
    job = train(2, train__epochs="100000")
    job.wait_for_steps()
    os.kill(rank_process(mark, 1), signal.SIGTERM)
    assert job.wait() == 75, job.said()
    assert "a rank was asked to stop" in job.said(), job.said()


def test_a_signal_after_a_rank_has_died_ends_the_others(train, mark):
    job = train(2, train__epochs="100000")
    job.wait_for_steps()
    begin = time.monotonic()
    os.kill(rank_process(mark, 1), signal.SIGKILL)
    job.process.send_signal(signal.SIGTERM)
    assert job.wait() in (137, 143), job.said()  # whichever the launcher has seen first
    assert time.monotonic() - begin < TEST_TIMEOUT / 2


def test_a_second_signal_ends_ranks_that_hang(train, mark):
    """Rank 1 is stopped, so rank 0 waits for it in a collective and cannot stop in peace."""
    job = train(2, train__epochs="100000")
    job.wait_for_steps()
    os.kill(rank_process(mark, 1), signal.SIGSTOP)
    time.sleep(0.2)
    waiting = rank_process(mark, 0)
    os.kill(waiting, signal.SIGTERM)
    time.sleep(0.8)
    os.kill(waiting, signal.SIGTERM)
    assert job.wait() == 143, job.said()


def test_a_deadline_that_is_past_is_refused(train):
    for changes, words in (
        ({"train__deadline": "1600000000"}, "train.deadline is 1600000000, which was"),
        ({"launch__deadline": "1600000000"}, "launch.deadline is 1600000000, which was"),
        ({"train__deadline": "tomorrow"}, "train.deadline is 'tomorrow': write a time from now"),
    ):
        job = train(2, **changes)
        assert job.wait() == 2, job.said()
        assert words in job.said(), job.said()


def test_a_training_that_is_complete_says_so(train):
    assert train(2, train__steps="4").wait() == 0
    job = train(2, train__steps="4")
    assert job.wait() == 0, job.said()
    assert "the training in ronde-output/empty is complete after 4 steps" in job.said(), job.said()
    assert "checkpoint.resume=none" in job.said() and "samples/s" not in job.said(), job.said()


def test_the_interval_of_checkpoints_comes_from_their_cost(train):
    job = train(2, train__epochs="100000", checkpoint__every="auto", checkpoint__mtbf="2s")
    wait_until(lambda: job.process.poll() is not None or "checkpoint every" in job.said(), "the interval is told")
    job.process.send_signal(signal.SIGUSR1)
    assert job.wait() == 75, job.said()
    assert re.search(r"checkpoint every [\d.]+ m?s.* \(auto\): each costs .* on 1 node", job.said()), job.said()
