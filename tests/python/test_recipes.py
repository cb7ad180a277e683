"""The built-in recipes, each in the short version that its header tells, on two ranks and generated data."""

import json
import math
import re
import shlex
import subprocess

import pytest

# What each must show: the measure in the lines that people read; and where it learns something in so short a time, the
# key in the log, and how good it must be at the end (an error: at most).
RECIPES = {
    "imagenet-resnet50": ("accuracy", None),
    "imagenet-resnet50-lars": ("accuracy", None),
    "bigearthnet-resnet50": ("mAP", None),
    "cifar10-resnet": ("accuracy", None),
    "cifar10-resnet20": ("accuracy", None),
    "cifar10-quick": ("accuracy", None),
    "unet-segmentation": ("IoU", ("test_iou", 0.38)),
    "lstm-text": ("accuracy", ("test_accuracy", 0.6)),
    "transformer-small": ("accuracy", ("test_accuracy", 0.6)),
    "autoencoder": ("MSE", ("test_mse", 0.85)),
}


def short_version(text: str) -> list[str]:
    """The settings of the command after the words 'Short version' in a recipe's header."""
    header = " ".join(line[1:] for line in text.splitlines() if line.startswith("#"))
    command = header[header.index("Short version") :]
    words = shlex.split(re.search(r"ronde run -n 2 ronde train [\w-]+((?: +--set +\S+)+)", command)[1])
    assert words.count("--set") >= 3, command
    return words


@pytest.fixture
def short_run(ronde, build_dir, clean_env, tmp_path):
    def run(name: str, *more: str) -> tuple[subprocess.CompletedProcess, list[dict]]:
        program = str(build_dir / "ronde")
        words = short_version(ronde("train", name, "--print").stdout)
        job = subprocess.run(
            [program, "run", "-n", "2", program, "train", name, *words, *more],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        log = tmp_path / "ronde-output" / name / "log.jsonl"
        return job, [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return run


@pytest.mark.learning
@pytest.mark.parametrize("name", RECIPES)
def test_short_version(short_run, name):
    measure, learned = RECIPES[name]
    job, log = short_run(name, "--set", "checkpoint.every=0")
    assert job.returncode == 0, job.stderr
    epochs = [line for line in log if line["kind"] == "epoch"]
    assert len(epochs) >= 2 and all(math.isfinite(line["loss"]) for line in epochs), log
    assert re.search(rf"epoch 1/\d+: loss .*(test|validation) loss .*{measure} ", job.stdout), job.stdout
    assert re.search(rf"test .*{measure} ", job.stdout), job.stdout
    if learned:
        key, bound = learned
        assert epochs[-1]["loss"] < 0.8 * epochs[0]["loss"], epochs
        assert epochs[-1][key] < bound if key == "test_mse" else epochs[-1][key] > bound, epochs[-1]


def test_what_the_recipes_are_after_is_said(ronde):
    listed = ronde("train", "--list").stdout
    for name in RECIPES:
        assert name in listed
        text = ronde("train", name, "--print").stdout
        header = "".join(line for line in text.splitlines() if line.startswith("#"))
        assert "Short version" in header and re.search("GPU|two cores|Xeon", header), header


@pytest.mark.parametrize("depth", ["resnet20", "resnet32", "resnet44", "resnet110", "resnet50-cifar", "resnet50"])
def test_depths_of_cifar_resnets(short_run, depth):
    job, log = short_run("cifar10-resnet", "--set", f"model.name={depth}", "--set", "train.epochs=3",
                         "--set", "schedule.milestones=2", "--set", "checkpoint.every=0")  # fmt: skip
    assert job.returncode == 0, job.stderr
    assert all(math.isfinite(line["loss"]) for line in log if line["kind"] == "epoch")


def test_labels_are_judged_by_validation_and_tested_once(short_run, build_dir, clean_env, tmp_path):
    job, log = short_run("bigearthnet-resnet50", "--set", "data.samples=20", "--set", "data.resolution=16",
                         "--set", "model.name=mlp")  # fmt: skip
    assert job.returncode == 0, job.stderr
    epochs, test = [line for line in log if line["kind"] == "epoch"], [line for line in log if line["kind"] == "test"]
    assert len(test) == 1 and log[-1] == test[0]
    for line, of in [(epochs[0], "validation"), (test[0], "test")]:
        for key in (
            "loss",
            "f1",
            "precision",
            "recall",
            "f1_macro",
            "precision_macro",
            "recall_macro",
            "map",
            "map_micro",
        ):
            assert line[f"{of}_{key}"] >= 0 and (key == "loss" or line[f"{of}_{key}"] <= 1), line
        assert len(line[f"{of}_ap_by_class"]) == 43 and line[f"{of}_samples"] == 4
    assert "validation F1" in job.stdout and "test mAP" in job.stdout
    for ranks in ("1", "3"):
        program = str(build_dir / "ronde")
        again = subprocess.run(
            [program, "run", "-n", ranks, program, "eval", "ronde-output"],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert again.returncode == 0, again.stderr
        assert f"F1 {test[0]['test_f1']:.4f} (precision: " in again.stdout, (again.stdout, test)
        assert f"mAP {test[0]['test_map']:.4f} (micro: " in again.stdout and "ap_by_class: " in again.stdout


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["data.split=60/20"], "data.split"),
        (["data.split=98/1/1"], "less than one sample"),
        (["model.weights=nowhere.safetensors"], "nowhere.safetensors does not exist"),
        (["data.target=mask"], "data.target = mask needs"),
        (["model.filters=3"], "does not support model.filters = 3"),
        (["data.name=text", "data.target=labels"], "set data.target to one of class"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(build_dir, clean_env, tmp_path, settings, words):
    (tmp_path / "empty.toml").write_text("")
    small = ["data.samples=40", "data.resolution=16", "model.name=mlp", *settings]
    program = str(build_dir / "ronde")
    job = subprocess.run(
        [program, "run", "-n", "2", program, "train", "empty.toml", *(w for s in small for w in ("--set", s))],
        env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert job.returncode == 2 and words in job.stderr, (job.returncode, job.stderr)


def test_training_begins_with_the_weights_of_a_file(short_run, tmp_path):
    """A checkpoint's weights are such a file: a rate of nothing keeps them as they are."""
    job, log = short_run("lstm-text")
    assert job.returncode == 0, job.stderr
    said = [line for line in log if line["kind"] == "epoch"][-1]
    (kept,) = (tmp_path / "ronde-output" / "lstm-text" / "checkpoints").glob("step-*/model*.safetensors")
    weights = kept.rename(tmp_path / "weights.safetensors")
    job, log = short_run("lstm-text", "--set", f"model.weights={weights}", "--set", "checkpoint.resume=none",
                         "--set", "optimizer.lr=0")  # fmt: skip
    assert job.returncode == 0, job.stderr
    assert [line["test_accuracy"] for line in log if line["kind"] == "epoch"] == [said["test_accuracy"]] * 3
