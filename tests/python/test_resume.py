"""A training that is started again: in the folder of another one, when it is done, and beside its evaluation."""

import hashlib
import pathlib
import subprocess

import pytest

TINY = """
data.resolution = 16
data.samples = 200
data.test_samples = 50
train.batch = 20
optimizer.lr = 0.02
"""


@pytest.fixture
def ranks(build_dir, clean_env, tmp_path):
    """ranks(2, "train", "a.toml"): on two ranks, to the end."""

    def run(count: int, *words: str) -> subprocess.CompletedProcess:
        program = str(build_dir / "ronde")
        return subprocess.run(
            [program, "--log-level", "info", "run", "-n", str(count), program, *words],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    for name, model in {"quick": "lenet", "other": "mlp"}.items():
        (tmp_path / f"{name}.toml").write_text(f'model.name = "{model}"\n{TINY}')
    return run


def contents(folder: pathlib.Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_each_recipe_has_a_folder_of_its_own(ranks, tmp_path):
    for name in ("quick", "other"):
        job = ranks(1, "train", f"{name}.toml")
        assert job.returncode == 0, job.stderr
        assert "continues after step" not in job.stderr
        assert (tmp_path / "ronde-output" / name / "checkpoints" / "step-00000010").is_dir()
    found = ranks(2, "eval", "ronde-output/other")
    assert found.returncode == 0 and "ronde-output/other/checkpoints/step-00000010" in found.stdout, found.stderr
    both = ranks(1, "eval", "ronde-output")
    assert both.returncode == 2, both.stdout
    assert "choose one of ronde-output/other, ronde-output/quick" in both.stderr, both.stderr


def test_the_checkpoint_of_another_recipe_is_refused(ranks, tmp_path):
    assert ranks(2, "train", "quick.toml", "--output-dir", "out", "--train-steps", "3").returncode == 0
    before = contents(tmp_path / "out" / "checkpoints")
    job = ranks(2, "train", "other.toml", "--output-dir", "out")
    assert job.returncode == 2, job.stderr
    assert "step-00000003 is from a different training:" in job.stderr, job.stderr
    assert "model.name  lenet              mlp" in job.stderr, job.stderr
    for way in ("--output-dir FOLDER", "--checkpoint-resume none", "--checkpoint-accept-differences true"):
        assert way in job.stderr, job.stderr
    assert contents(tmp_path / "out" / "checkpoints") == before
    assert ranks(2, "train", "other.toml", "--output-dir", "out", "--checkpoint-resume", "never").returncode == 0


def test_what_may_differ_is_told_in_a_line(ranks):
    assert ranks(1, "train", "quick.toml", "--train-steps", "3").returncode == 0
    job = ranks(2, "train", "quick.toml", "--train-batch", "10", "--optimizer-lr", "0.01")
    assert job.returncode == 0, job.stderr
    told = "optimizer.lr 0.02 -> 0.01, train.batch 20 -> 10, train.steps 3 -> 0, ranks 1 -> 2"
    assert f"settings changed since the checkpoint: {told}" in job.stderr, job.stderr


def test_a_training_that_has_reached_its_target_says_so(ranks):
    words = ("train", "quick.toml", "--train-epochs", "5", "--train-target-accuracy", "0.01")
    assert ranks(2, *words).returncode == 0
    job = ranks(2, *words)
    assert job.returncode == 0, job.stderr
    assert "ronde-output/quick has reached train.target_accuracy = 0.01 (accuracy " in job.stderr, job.stderr
    assert "after 10 steps" in job.stderr and "samples/s" not in job.stdout, job.stderr


def test_an_evaluation_writes_nowhere_that_a_training_wrote(ranks, tmp_path):
    assert ranks(2, "train", "quick.toml", "--trace-dir", "trace").returncode == 0
    before = {name: contents(tmp_path / name) for name in ("trace", "ronde-output")}
    assert len(before["trace"]) == 2
    plain = ranks(2, "eval", "ronde-output")
    assert plain.returncode == 0, plain.stderr
    assert {name: contents(tmp_path / name) for name in before} == before
    traced = ranks(2, "eval", "ronde-output", "--trace-dir", "trace")
    assert traced.returncode == 0 and "trace: trace/evaluation" in traced.stdout, traced.stderr
    after = contents(tmp_path / "trace")
    assert before["trace"].items() <= after.items()
    assert sorted(set(after) - set(before["trace"])) == [
        "evaluation/trace-00000.perfetto-trace",
        "evaluation/trace-00001.perfetto-trace",
    ]
