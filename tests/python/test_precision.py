"""Training in bf16 and f16, as users run it."""

import json
import pathlib
import re
import subprocess

import pytest
from test_train import flags, mnist_files

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "recipes" / "mnist.toml"


@pytest.fixture
def train(build_dir, clean_env, tmp_path):
    def run(ranks: int, recipe: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
        program = str(build_dir / "ronde")
        return subprocess.run(
            [program, "--log-level", "info", "run", "-n", str(ranks), program, "train", str(recipe), *words],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    return run


@pytest.fixture
def empty(tmp_path):
    (tmp_path / "empty.toml").write_text("")
    return tmp_path / "empty.toml"


def lines_of(folder: pathlib.Path, kind: str, recipe: str = "empty") -> list[dict]:
    lines = [json.loads(line) for line in (folder / "ronde-output" / recipe / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


@pytest.mark.learning
@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_mnist_on_two_ranks(train, tmp_path, precision):
    """A third of the digits, once: over 96 %. All of them, six times, come to over 99 % (docs/training.md)."""
    digits = mnist_files(tmp_path)
    job = train(
        2, RECIPE,
        *("--set", f"data.path={digits}", "--set", f"train.precision={precision}"),
        *("--set", "train.epochs=1", "--set", "data.samples=20000", "--set", "data.test_samples=2000"),
    )  # fmt: skip
    assert job.returncode == 0, job.stderr
    assert lines_of(tmp_path, "epoch", RECIPE.stem)[-1]["test_accuracy"] > 0.96, job.stdout
    assert f"arithmetic: {precision} " in job.stderr, job.stderr
    assert ("skipped steps (overflow)" in job.stdout) == (precision == "f16"), job.stdout
    assert all(("loss_scale" in line) == (precision == "f16") for line in lines_of(tmp_path, "train", RECIPE.stem))


def test_overflows_are_skipped_and_counted(train, tmp_path, empty):
    """A scale that is far too large for f16 comes down by itself when it is dynamic, and is an error when it is not."""
    fixed = train(2, empty, *flags(train__precision="f16", train__loss_scale="1e12"))
    assert fixed.returncode == 1, fixed.stderr
    assert re.search(r"gradients overflow in f16 in step 30, .* the gradient of '[\w.]+'", fixed.stderr), fixed.stderr
    assert list((tmp_path / "ronde-output" / "empty").glob("checkpoints/step-*")) == [], "nothing was learned"


def test_the_arithmetic_is_told_and_the_settings_of_gpus_are_known(train, empty):
    job = train(1, empty, *flags(train__steps="2", device__tf32="false", device__cudnn_autotune="false"))
    assert job.returncode == 0, job.stderr
    assert re.search(r"arithmetic: f32 (with|on|,)", job.stderr), job.stderr


def test_a_precision_that_is_none_is_refused(train, empty):
    job = train(1, empty, *flags(train__precision="f8"))
    assert job.returncode == 2 and "train.precision" in job.stderr, job.stderr
