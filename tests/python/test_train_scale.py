"""Schedules, optimizers of large batches, and exchange with less, as users run them; traffic is read from traces."""

import pathlib

import pytest
from test_trace_file import Trace
from test_train import SHARED, log_of, train  # noqa: F401 (train is a fixture)

PARAMETERS = 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10  # of the mlp on MNIST
STEPS = 234  # an epoch of MNIST in batches of 256


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schedule__length": "3"}, "schedule.length is '3', but the training ends after 2 epochs (60 steps)"),
        ({"schedule__warmup": "61steps"}, "the warm-up would never end"),
        ({"schedule__warmup": "soon"}, "schedule.warmup is 'soon': write epochs (5, 0.5) or steps (500steps)"),
        ({"schedule__name": "step", "schedule__milestones": "1,0.5"}, "milestones must increase"),
        ({"schedule__name": "step", "schedule__milestones": "1,100steps"}, "the last drop would never happen"),
        ({"schedule__name": "step"}, "set schedule.milestones to the places where"),
        ({"train__sync_every": "4", "train__compression": "f16"}, "do not exchange gradients"),
        ({"optimizer__nesterov": "true", "optimizer__momentum": "0"}, "optimizer.momentum above 0"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(train, changes, words):  # noqa: F811
    job = train(2, **changes)
    assert job.returncode == 2, (job.returncode, job.stderr)
    assert words in job.stderr, job.stderr


def test_the_noise_scale_is_said_and_written(train, tmp_path):  # noqa: F811
    job = train(2, train__noise_scale="2")
    assert job.returncode == 0, job.stderr
    assert "noise scale: batches up to about" in job.stdout and "would still train efficiently" in job.stdout, (
        job.stdout
    )
    measured = [line["noise_scale"] for line in log_of(tmp_path) if "noise_scale" in line]
    assert measured and all(scale >= 0 for scale in measured)


def traffic(folder: pathlib.Path) -> int:
    """Bytes that a rank has put on the wire for gradients and weights; what ranks tell each other besides is small."""
    trace = Trace((folder / "trace" / "trace-00000.perfetto-trace").read_bytes())
    return sum(one["args"]["wire_bytes"] for one in trace.named("allreduce") if one["args"]["bytes"] > 4096)


@pytest.mark.learning
@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("plain", {}, 4 * PARAMETERS * STEPS),
        ("f16", {"train__compression": "f16"}, 2 * PARAMETERS * STEPS),
        ("bf16", {"train__compression": "bf16"}, 2 * PARAMETERS * STEPS),
        # Four backward passes, and one exchange.
        ("accumulation", {"train__accumulate": "4"}, 4 * PARAMETERS * STEPS),
        # Weights and momenta, every eighth step, and after the last.
        ("local SGD", {"train__sync_every": "8"}, 2 * 4 * PARAMETERS * (STEPS // 8 + 1)),
        ("Adasum", {"train__reduce": "adasum"}, 4 * PARAMETERS * STEPS),
    ],
)
def test_mnist_is_learned_with_less_exchange(train, tmp_path, name, changes, expected):  # noqa: F811
    if not (SHARED / "mnist").exists():
        pytest.skip(f"there is no MNIST in {SHARED}")
    settings = {
        "data__name": "mnist",
        "data__path": str(SHARED / "mnist"),
        "data__resolution": "28",
        "data__samples": "0",
        "data__test_samples": "0",  # all 10,000: of fewer, too many trainings get the same number right
        "model__name": "mlp",
        "train__batch": "256",
        "train__epochs": "1",
        "optimizer__lr": "0.1",
        "schedule__name": "cosine",
        "schedule__warmup": "20steps",
        "checkpoint__every": "0",
    }
    job = train(2, "--trace-dir", "trace", **(settings | changes))
    assert job.returncode == 0, job.stderr
    last = [line for line in log_of(tmp_path) if line["kind"] == "epoch"][-1]
    print(name, last["test_accuracy"], traffic(tmp_path) / expected)
    assert last["test_accuracy"] > 0.96, (name, last)
    assert 0.98 < traffic(tmp_path) / expected < 1.02, (name, traffic(tmp_path), expected)
