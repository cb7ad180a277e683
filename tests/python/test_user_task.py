"""A program with a task of its own, examples/advection.cc, trains as `ronde train` does."""

import hashlib
import json
import subprocess

import pytest

FEW = ("--data-samples", "256", "--data-test-samples", "64", "--train-epochs", "2", "--train-device", "cpu")


@pytest.fixture
def advection(build_dir, clean_env, tmp_path):
    """advection(2, "--train-epochs", "1"): on two ranks, to the end."""
    program = build_dir / "advection"
    if not program.exists():
        pytest.skip("this build has no libtorch")

    def run(ranks: int, *words: str) -> subprocess.CompletedProcess:
        command = [build_dir / "ronde", "--log-level", "info", "run", "-n", str(ranks), program, *words]
        return subprocess.run(command, env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    return run


def lines_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def errors_of(folder) -> list[float]:
    return [line["test_rmse"] for line in lines_of(folder) if "test_rmse" in line]


def model_of(folder) -> str:
    newest = sorted((folder / "checkpoints").glob("step-*"))[-1]
    tensors = [path for path in sorted(newest.iterdir()) if path.suffix == ".safetensors"]
    assert tensors
    return hashlib.sha256(b"".join(path.read_bytes() for path in tensors)).hexdigest()


def test_trains_with_everything_on_and_is_reported(advection, ronde, tmp_path):
    job = advection(
        3, *FEW, "--train-precision", "bf16", "--optimizer-name", "lars", "--train-noise-scale", "2",
        "--trace-dir", "trace", "--train-deadline", "2h", "--schedule-name", "cosine", "--train-clip-norm", "1",
    )  # fmt: skip
    assert job.returncode == 0, job.stderr
    output = tmp_path / "ronde-output" / "advection"
    assert errors_of(output)
    assert list((output / "tensorboard").iterdir())
    found = advection(2, "eval", "ronde-output/advection")
    assert found.returncode == 0, found.stderr
    assert "64 samples held out of profiles: loss " in found.stdout and ", rmse 0." in found.stdout, found.stdout
    report = ronde("report", "trace")
    assert report.returncode == 0, report.stderr
    assert (tmp_path / "trace" / "report.html").exists()


@pytest.mark.learning
def test_beats_the_upwind_flux(advection, tmp_path):
    job = advection(1, "--train-device", "cpu", "--train-epochs", "3", "--data-samples", "2048")
    assert job.returncode == 0, job.stderr
    # The network begins near the upwind flux, whose error is about 0.1.
    assert errors_of(tmp_path / "ronde-output" / "advection")[-1] < 0.02


@pytest.mark.parametrize("changes", [(), ("--train-clip-value", "0.01"), ("--model-freeze", "first.bias")])
def test_a_resumed_run_has_the_bits_of_an_undisturbed_one(advection, tmp_path, changes):
    same = (*FEW, "--train-deterministic", "true", *changes)
    assert advection(2, *same, "--output-dir", "whole").returncode == 0
    for steps in ("3", "0"):
        job = advection(2, *same, "--output-dir", "parts", "--train-steps", steps)
        assert job.returncode == 0, job.stderr
    assert "continues after step 3" in job.stderr
    assert model_of(tmp_path / "parts") == model_of(tmp_path / "whole")


def test_stops_when_patience_is_over(advection, tmp_path):
    still = (*FEW, "--train-epochs", "9", "--optimizer-lr", "0", "--train-patience", "2")
    job = advection(2, *still)
    assert job.returncode == 0, job.stderr
    assert "rmse has not improved for 2 evaluations" in job.stderr
    assert len(errors_of(tmp_path / "ronde-output" / "advection")) == 3
    again = advection(2, *still)
    assert "has not improved for 2 evaluations (train.patience) after" in again.stderr, again.stderr


def test_says_what_is_wrong(advection):
    for words, sentence in (
        (("--train-epoch", "3"), "advection: unknown argument '--train-epoch'; did you mean --train-epochs?"),
        (("no-such-recipe",), "advection: no recipe file 'no-such-recipe'"),
        (("--data-samples", "9999"), "data.samples is 9999, but 'advection' has 4096 samples"),
        (("--model-freeze", "nothing.*"), "model.freeze: no parameter of the network matches 'nothing.*'"),
    ):
        job = advection(1, *words)
        assert job.returncode == 2, job.stderr
        assert sentence in job.stderr, job.stderr
