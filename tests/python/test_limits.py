"""`ronde limits` and what it reads: what is said before a run, and how wrong input is refused."""

import json

import pytest
from test_cli import refused

SMALL = {
    "data.name": "random",
    "data.channels": "3",
    "data.resolution": "8",
    "data.samples": "64",
    "data.test_samples": "8",
    "model.name": "resnet20",
    "train.batch": "32",
}


@pytest.fixture
def limits(ronde, tmp_path):
    """limits("-n", "2", model__name="lstm"): as JSON."""
    (tmp_path / "empty.toml").write_text("")

    def run(*more: str, **changes: str) -> dict:
        settings = SMALL | {key.replace("__", "."): value for key, value in changes.items()}
        flags = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        done = ronde("limits", "empty.toml", *flags, *more, "--json", env={"XDG_CACHE_HOME": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_a_gpu_that_is_not_here(limits):
    found = limits("--hardware", "V100-SXM2-16GB", "-n", "4")
    asked, other = found["asked"], found["other"]
    assert found["machine"] == "V100-SXM2-16GB, as published"
    assert asked["parameters"] == 269722
    assert asked["bytes"]["gradients"] == asked["bytes"]["parameters"] == 4 * 269722
    assert asked["bytes"]["optimizer"] == pytest.approx(4 * 269722, rel=0.02)
    assert [one["what"] for one in asked["speeds"]] == ["compute", "memory bandwidth", "host-to-device link", "network"]
    assert asked["binding"] == min(asked["speeds"], key=lambda one: one["samples_per_s"])["what"]
    assert asked["bytes"]["rank"] < asked["bytes"]["available"] == 16e9
    assert asked["largest_batch"] > 32
    assert other["recompute"] is True
    assert other["bytes"]["activations"] < 0.6 * asked["bytes"]["activations"], "recomputation saves memory,"
    assert other["largest_batch"] > asked["largest_batch"]
    assert other["speeds"][0]["samples_per_s"] < asked["speeds"][0]["samples_per_s"], "and costs time"


def test_memory_and_network_are_the_users_to_choose(limits):
    flags = ("--hardware", "H200", "-n", "2")
    tight = limits(*flags, "--memory", "1GiB", "--network", "0.01", model__name="mlp")["asked"]
    assert tight["bytes"]["available"] == 2**30 and tight["largest_batch"] > 32
    assert tight["binding"] == "network"
    assert limits(*flags, "--memory", "1MiB", model__name="mlp")["asked"]["largest_batch"] == 0


def test_in_words(ronde, tmp_path):
    flags = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    done = ronde("limits", "demo", *flags, "--hardware", "EPYC 7742", "-n", "2", "--memory", "64GiB")
    assert done.returncode == 0, done.stderr
    for part in (
        "batch 32 on 2 ranks; EPYC 7742, as published",
        "optimizer state",
        "largest batch: ",
        "is the limit: at most ",
    ):
        assert part in done.stdout
    assert "model.recompute = true: activations " in done.stdout
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_a_network_without_blocks_has_no_other_way(limits):
    assert limits("--hardware", "T4", model__name="lstm")["other"] is None


def test_what_roofline_measured_is_used(ronde, limits, tmp_path):
    file = tmp_path / "ronde" / "roofline.json"
    done = ronde(
        *("bench", "roofline", "--turns", "1", "--sizes", "8MiB", "--json"), env={"XDG_CACHE_HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len({tuple(row) for row in report["rows"]}) == 1, "all rows have the same keys"
    measured = {(row["what"], row["by"]): row["rate"] for row in report["rows"]}
    assert measured["memory", "all cores"] > 0 and measured["memory", "one core"] > 0
    written = json.loads(file.read_text())
    assert written["disk_gb_s"] == pytest.approx(next(v for (what, _), v in measured.items() if what == "disk read"))
    assert str(file) in done.stderr and "allreduce between 2 ranks" in done.stderr
    found = limits("-n", "2", "--memory", "8GiB")
    assert found["machine"].startswith("measured on ")
    assert {"compute", "memory bandwidth", "network"} <= {one["what"] for one in found["asked"]["speeds"]}


@pytest.mark.parametrize(
    "arguments, parts",
    [
        ([], ["missing recipe"]),
        (["nothing.toml"], ["nothing.toml"]),
        (["demo", "-n", "0"], ["-n 0", "whole number"]),
        (["demo", "-n", "65"], ["train.batch is 64", "65 ranks"]),
        (["demo", "--hardware", "H20O"], ["H20O", "did you mean H200?"]),
        (["demo", "--hardware", "V100"], ["V100-PCIe-16GB, V100-PCIe-32GB"]),
        (["demo", "--hardware", "H200", "--roofline", "x"], ["--hardware and --roofline cannot"]),
        (["demo", "--roofline", "none.json"], ["none.json", "ronde bench roofline"]),
        (["demo", "--memory", "much"], ["--memory much"]),
        (["demo", "--memory", "0B"], ["--memory 0B"]),
        (["demo", "--network", "-1"], ["--network -1"]),
        (["demo", "--set", "model.name=resnet21", "--hardware", "T4"], ["resnet21", "did you mean"]),
        (["demo", "--set", "model.name=lstm", "--set", "model.recompute=true", "--hardware", "T4"], ["no blocks"]),
        (["mnist", "--set", "data.path=nowhere", "--hardware", "T4"], ["nowhere"]),
    ],
)
def test_wrong_input_is_one_sentence(ronde, arguments, parts):
    refused(ronde("limits", *arguments), *parts)


def test_wrong_flags_of_roofline(ronde):
    refused(ronde("bench", "roofline", "--dir", "nowhere", "--turns", "1"), "--dir nowhere")
    refused(ronde("bench", "roofline", "--model", "x"), "--model is not a flag")
    refused(ronde("bench", "span", "--dir", "."), "--dir is not a flag")


def test_the_list_of_hardware(ronde):
    names = ronde("limits", "--list-hardware").stdout.splitlines()
    assert "K40" in names and "H200" in names and "A64FX" in names
