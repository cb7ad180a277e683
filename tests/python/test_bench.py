"""The benchmarks, small and quick: what they print, never how long it took."""

import json
import math
import subprocess
import sys

import pytest
from job import alive, wait_until
from test_cli import refused

pytest_plugins = ["job_fixtures"]


@pytest.fixture
def bench(ronde, mark):
    """Runs a benchmark and reads its JSON; no process of it may be left."""

    def run(*arguments: str) -> dict:
        done = ronde("bench", *arguments, "--json", env={"JOB_MARK": mark})
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["bench"], report["version"]) == (arguments[0], 1)
        assert len({tuple(row) for row in report["rows"]}) == 1, "all rows have the same keys"
        report["stderr"] = done.stderr
        return report

    return run


def test_the_list(ronde):
    assert ronde("bench", "--list").stdout.split() == [
        "allreduce",
        "control",
        "decode",
        "nodes",
        "python",
        "records",
        "report",
        "roofline",
        "span",
        "step",
        "trace",
        "train",
    ]


def test_python(bench, build_dir):
    if not list(build_dir.glob("python/ronde/_core.*.so")):
        pytest.skip("the Python module was not built (target ronde_python)")
    report = bench("python", "-n", "2", "--tensors", "50", "--turns", "1", "--python", sys.executable)
    row, distributed = report["rows"]
    assert row["tensors"] == 50 and row["python_us"] > 0
    assert distributed["bytes"] == 4 and distributed["c10d_us"] > 0 and distributed["ratio_gloo"] > 0


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_allreduce(bench, ranks):
    report = bench("allreduce", "-n", str(ranks), "--sizes", "4,16KiB,1MiB", "--turns", "1")
    assert [(row["dtype"], row["bytes"], row["memory"]) for row in report["rows"]] == [
        (dtype, *rest)
        for dtype in ("f32", "bf16")
        for rest in ((4, "heap"), (16384, "heap"), (16384, "shared"), (1048576, "heap"), (1048576, "shared"))
    ]
    for row in report["rows"]:
        assert row["ranks"] == ranks
        assert min(row["median_us"], row["link_us"], row["copy_us"]) > 0
        assert "mpi_us" not in row
    assert 0 <= report["host"]["busy"] <= 1
    assert [(row["dtype"], row["memory"], row["contestant"]) for row in report["fits"]] == [
        (dtype, memory, who)
        for dtype in ("f32", "bf16")
        for memory in ("heap", "shared")
        for who in ("ronde", "link", "copy")
    ]
    for row in report["fits"]:
        assert row["latency_us"] >= 0 and (row["gb_per_s"] is None or row["gb_per_s"] > 0)
    assert {(row["ranks"], row["nodes"], row["from_bytes"], row["algorithm"]) for row in report["table"]} == {
        (ranks, 1, 0, "shm")
    }


def test_a_peer_that_is_missing_is_named_with_the_reason(bench, tmp_path, build_dir):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho missing no such module\n")
    python.chmod(0o755)
    report = bench("allreduce", "--compare", "--python", str(python), "--sizes", "4", "--turns", "1")
    for peer in ("gloo", "horovod"):
        assert f"{peer} is left out: no such module" in report["stderr"]
        assert all(row[f"{peer}_us"] is None and row[f"ratio_{peer}"] is None for row in report["rows"])
    absent = bench("allreduce", "--compare", "--python", str(tmp_path / "none"), "--sizes", "4", "--turns", "1")
    assert "gloo is left out: " in absent["stderr"] and "command not found" in absent["stderr"]


def test_mpi_takes_part(bench, build_dir):
    if not (build_dir / "ronde-peer-mpi").exists():
        pytest.skip("this build has no MPI")
    report = bench("allreduce", "--compare", "--python", "/bin/false", "--sizes", "4,128KiB,1MiB", "--turns", "1")
    for row in report["rows"]:
        if row["dtype"] == "f32":
            assert row["ratio_mpi"] == pytest.approx(row["mpi_us"] / row["median_us"])
        else:
            assert row["mpi_us"] is None, "MPI knows no bf16"
    by_bytes = {row["bytes"]: row["ratio_mpi"] for row in report["rows"] if row["memory"] == "heap" and row["mpi_us"]}
    assert report["summary"]["mean_ratio_mpi"]["value"] == pytest.approx(by_bytes[1048576])
    assert report["summary"]["worst_ratio_mpi"]["value"] == pytest.approx(min(by_bytes[131072], by_bytes[1048576]))
    assert report["summary"]["worst_small_us"].keys() == {"value", "bar", "met"}


def test_the_bars_stand_below_the_table(ronde):
    done = ronde("bench", "allreduce", "--sizes", "4", "--turns", "1")
    title, *_, bar = done.stdout.splitlines()
    assert title.split()[:3] == ["ranks", "bytes", "dtype"]
    assert bar.startswith("a blocking allreduce by name, up to 1 KiB, worst, us: ") and "bar: at most 20" in bar


def test_step(bench):
    small = bench("step", "--model", "many-small", "--turns", "1")["rows"]
    assert [(row["model"], row["tensors"], row["bytes"]) for row in small] == [("many-small", 4000, 64000)]
    assert small[0]["us_per_tensor"] == pytest.approx(small[0]["step_us"] / 4000)
    report = bench("step", "--model", "resnet50", "--turns", "1", "--compute", "1ms")
    (row,) = report["rows"]
    assert (row["tensors"], row["bytes"], row["compute_us"]) == (161, 4 * 25557032, 1000)
    assert row["step_us"] > 1000
    assert row["ratio_contiguous"] == pytest.approx(row["contiguous_us"] / (row["step_us"] - 1000))
    assert "summary" not in report, "the bar is for a step without computation"


def test_trace(bench):
    report = bench("trace", "--turns", "2", "--batch", "4")
    (row,) = report["rows"]
    assert (row["ranks"], row["model"], row["batch"], row["pairs"]) == (2, "resnet20", 4, 2)
    assert row["step_us"] > 0 and row["recorded_us"] > 0 and row["ratio"] > 0
    bar = report["summary"]["recorded_over_plain"]
    assert bar["value"] == row["ratio"] and bar["bar"] == 1.01


@pytest.mark.parametrize("model", ["many-small", "resnet50"])
def test_what_autotune_finds_against_the_defaults(bench, model):
    report = bench("step", "--autotune", "--model", model, "--turns", "1")
    (row,) = report["rows"]
    assert row["search_steps"] > 0 and row["first_bucket_bytes"] <= row["fusion_bytes"]
    assert row["ratio_defaults"] == pytest.approx(row["default_us"] / row["tuned_us"])
    if row["raced_ratio"] == 1:
        assert "summary" not in report, "the defaults stayed: there is nothing to compare"
    else:
        bar = report["summary"][f"{model}_tuned_over_defaults"]
        assert bar["value"] == pytest.approx(row["tuned_us"] / row["default_us"]) and bar["bar"] == 1.02


def test_control_of_simulated_ranks(bench):
    report = bench("control", "--simulate", "200", "--tensors", "3")
    assert {row["ranks"] for row in report["rows"]} == {200}
    bucket = next(row for row in report["rows"] if row["what"] == "a bucket of a plan")
    assert bucket["network_messages"] == 5  # log2 of 25 nodes
    assert report["summary"]["bucket_messages"]["met"], report["summary"]


def test_control(bench):
    report = bench("control", "-n", "2,3", "--tensors", "10")  # every row is silent for three seconds
    assert sum(row["nodes"] == 1 for row in report["rows"]) == 2 * 1 * 2
    assert [(row["ranks"], row["nodes"]) for row in report["rows"] if row["nodes"] > 1] == [(2, 2), (3, 3)]
    for row in report["rows"]:
        assert row["messages_per_bucket"] <= math.ceil(math.log2(row["ranks"])), row
        assert max(row["silent_messages_per_s"], row["silent_wake_ups_per_s"]) <= 10, row
        assert row["silent_watchdog_wake_ups_per_s"] <= 10, row
        assert (row["idle_messages"], row["idle_wake_ups"]) == (0, 0), row
        if row["nodes"] == 1:
            assert row["wake_ups_per_call"] == 0, row
        assert row["messages_per_step"] == pytest.approx(row["messages_per_bucket"] * row["buckets"])


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["allreduce", "-n", "0"], ["-n 0", "from 1"]),
        (["allreduce", "-n", "2,4"], ["single number of ranks"]),
        (["allreduce", "--sizes", "4,many"], ["--sizes 4,many"]),
        (["allreduce", "--sizes", "6"], ["multiples of 4"]),
        (["allreduce", "--turns", "x"], ["--turns x"]),
        (["allreduce", "--model", "resnet50"], ["--model is not a flag of 'ronde bench allreduce'", "--sizes"]),
        (["allreduce", "--comparr"], ["did you mean --compare?"]),
        (["span", "-n", "2"], ["-n is not a flag", "takes no flags"]),
        (["step", "--model", "resnet51"], ["resnet51", "resnet50, bert-base, many-small"]),
        (["step", "--compute", "5"], ["--compute 5"]),
        (["control", "--tensors", "0"], ["--tensors 0"]),
    ],
)
def test_wrong_input_is_one_sentence(ronde, arguments, parts):
    refused(ronde("bench", *arguments), *parts)


def test_nothing_is_left_when_a_benchmark_is_killed(build_dir, clean_env, mark, tmp_path):
    command = [build_dir / "ronde", "bench", "allreduce", "--turns", "1000"]
    with (tmp_path / "err").open("w") as err:
        process = subprocess.Popen(command, env=clean_env | {"JOB_MARK": mark}, stdout=err, stderr=err)
    wait_until(lambda: len(alive(mark)) >= 5, "two ranks, their launcher, its guard and the benchmark")
    process.kill()
    process.wait()  # the fixture waits for the others
