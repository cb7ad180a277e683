"""Trainings with a fault put in on purpose (tests/faults): their traces show it, so a report has something to find.
Faults are large, and what is asked for holds however busy the machine is."""

import itertools
import json
import statistics
import subprocess

import pytest
from test_trace_file import Trace


@pytest.fixture
def traces(build_dir, clean_env, tmp_path):
    """traces("slow-rank"): the traces of two ranks."""

    def run(kind: str) -> list[Trace]:
        job = subprocess.run(
            [build_dir / "ronde", "run", "-n", "2", "--log-level", "error", build_dir / "report_fault", kind],
            env=clean_env | {"RONDE_TRACE_DIR": str(tmp_path / "trace")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )  # fmt: skip
        assert job.returncode == 0, job.stderr
        return [Trace((tmp_path / "trace" / f"trace-{rank:05}.perfetto-trace").read_bytes()) for rank in range(2)]

    return run


def median_ms(trace: Trace, name: str) -> float:
    return statistics.median(entry["end"] - entry["begin"] for entry in trace.named(name)) / 1e6


def test_a_healthy_training_has_what_a_report_needs(traces):
    both = traces("healthy")
    for trace in both:
        assert [entry["args"]["step"] for entry in trace.named("step")] == list(range(1, 41))
        for name in ("forward", "backward", "wait for input"):
            assert len(trace.named(name)) == 40
        assert [stage.get("name") for stage in json.loads(trace.metadata()["input stages"])].count("augment") == 1
    assert json.loads(both[0].metadata()["job"])["parameters"] > 1_000_000


def test_one_rank_computes_longer(traces):
    first, second = traces("slow-rank")
    # Spun in the forward pass, three times as long as forward and backward take together.
    assert median_ms(second, "forward") > 3 * median_ms(first, "forward")


def test_the_input_sleeps(traces):
    for trace in traces("slow-input"):
        assert min(entry["end"] - entry["begin"] for entry in trace.named("augment")) > 0.3e6
        # 128 samples sleep for 38 ms; where computing is as slow as that, on a busy machine, none of it is waited for.
        waits = sorted(entry["begin"] for entry in trace.named("wait for input"))
        steps = [after - before for before, after in itertools.pairwise(waits)]
        assert statistics.median(steps) > 5e6


def test_the_link_is_late(traces):
    for trace in traces("slow-link"):
        moves = [entry for entry in trace.named("allreduce") if entry["categories"] == ["comm"]]
        assert moves and min(entry["end"] - entry["begin"] for entry in moves) > 4.9e6


def test_rank_0_evaluates_alone(traces):
    first, second = traces("rank0-eval")
    evaluations = first.named("evaluate")
    assert len(evaluations) == 4 and not second.named("evaluate")
    for number, one in enumerate(evaluations, start=1):
        before = [entry for entry in second.named("forward") if entry["begin"] < one["end"]]
        assert len(before) == 10 * number, "rank 1 goes on when rank 0 has evaluated"
        assert before[-1]["end"] < one["begin"]


def test_all_gradients_travel_at_the_end(traces):
    for trace in traces("late-bucket"):
        moves = [entry for entry in trace.named("allreduce") if entry["args"]["bytes"] > 1 << 20]
        moves.sort(key=lambda entry: entry["begin"])  # whichever thread moved them, and was written first
        whole = [entry for entry in moves if entry["args"]["requests"] == 10]  # the first steps have no plan yet
        assert len(whole) >= 35 and moves[-35:] == whole[-35:]
        for move, backward in zip(whole[-35:], trace.named("backward")[-35:], strict=True):
            first = move["begin"] - 1e3 * move["args"]["first_arrived_us"]
            assert backward["begin"] < first < backward["end"], "the first gradient was there early"
            assert move["begin"] > first
