"""ronde.trace: spans of the user's, Python call spans, and the timeline."""

import json
import os
import subprocess
import sys
import threading

import pytest
from python_package import PACKAGES, needs_package

pytest_plugins = ["job_fixtures"]
pytestmark = needs_package


@pytest.fixture(scope="module")
def trace():
    import ronde.trace

    return ronde.trace


@pytest.fixture
def recorded(trace, tmp_path):
    """Records what a function does; gives the events of Chrome's JSON, and the names of their rows."""

    def record(work):
        with trace.record(tmp_path / "trace"):
            work()
        trace.merge(tmp_path / "trace", tmp_path / "merged.json", format="chrome")
        events = json.loads((tmp_path / "merged.json").read_text())
        rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        return events, rows

    return record


def spans(events, row=None):
    return [event for event in events if event["ph"] == "X" and (row is None or event["tid"] == row)]


def holds(outer, inner):
    return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.001


def test_nothing_happens_when_nothing_is_recorded(trace):
    assert not trace.recording() and trace.file() is None
    with trace.span("load", "io", bytes=3):
        trace.counter("loss", 1)
        trace.instant("now", text="x")
    trace.step(1)
    trace.flush()


def test_spans_counters_and_steps(trace, recorded):
    @trace.span("augment", kind="flip")
    def augment(x):
        return 2 * x

    def work():
        assert trace.recording()
        for number in range(2):
            trace.step(number)
            with trace.span("load", "io", bytes=3, share=0.5, name_of="x"):
                assert augment(2) == 4
            trace.counter("loss", 0.25)
            trace.instant("saved", step=number)
        trace.end_step()
        trace.metadata("model", "tiny")

    events, rows = recorded(work)
    mine = [event for event in spans(events) if rows[event["tid"]] == "training"]
    loads = [event for event in mine if event["name"] == "load"]
    assert [event["args"] for event in loads] == [{"bytes": 3, "share": 0.5, "name_of": "x"}] * 2
    assert loads[0]["cat"] == "io" and sum(event["name"] == "augment" for event in mine) == 2
    assert holds(loads[0], next(event for event in mine if event["name"] == "augment"))
    assert [event["args"]["value"] for event in events if event["ph"] == "C" and event["name"] == "loss"] == [0.25] * 2
    assert [event["args"] for event in events if event["name"] == "saved"] == [{"step": 0}, {"step": 1}]
    assert sum(event["name"] == "step" for event in spans(events)) == 2
    assert any(event["name"] == "metadata" and "tiny" in json.dumps(event) for event in events)


def test_a_span_ends_with_an_exception(trace, recorded):
    def work():
        with pytest.raises(KeyError), trace.span("outer"):
            trace.span("inner").__enter__()  # is never left
            raise KeyError("x")
        with trace.span("after"):
            pass

    events, _ = recorded(work)
    assert [event["name"] for event in sorted(spans(events), key=lambda event: event["ts"])] == [
        "outer",
        "inner",
        "after",
    ]


def test_wrong_use_is_said(trace, tmp_path):
    with pytest.raises(TypeError, match="needs a name"):
        trace.span(3)
    with trace.record(tmp_path):
        with pytest.raises(ValueError, match="at most 4 arguments, got 5"), trace.span("x", a=1, b=2, c=3, d=4, e=5):
            pass
        with pytest.raises(ValueError, match="already being recorded"), trace.record(tmp_path / "other"):
            pass
        with (
            trace.calls("nothing"),
            pytest.raises(ValueError, match="another profiler|cannot be nested"),
            trace.calls(),
        ):
            pass


def test_threads_have_rows_of_their_own_and_may_outlive_the_recorder(trace, recorded):
    go_on, was_there = threading.Event(), threading.Event()

    def other():
        with trace.span("elsewhere"):
            pass
        was_there.set()
        assert go_on.wait(30)
        with trace.span("too late"):
            pass

    thread = threading.Thread(target=other, name="helper")

    def work():
        thread.start()
        assert was_there.wait(30)

    events, rows = recorded(work)
    go_on.set()
    thread.join()
    (event,) = [event for event in spans(events) if event["name"] == "elsewhere"]
    assert rows[event["tid"]] == "python helper"


class Model:
    def forward(self, x):
        return self.layer(x) + helper(x)

    def layer(self, x):
        return sum(item for item in range(x))


def helper(x):
    if x < 0:
        raise ValueError(x)
    return x


def test_calls_of_python_functions_are_spans(trace, recorded):
    def work():
        with trace.calls(f"{__name__}.*,-*.helper"):
            Model().forward(3)
            with pytest.raises(ValueError):
                helper(-1)
            thread = threading.Thread(target=Model().layer, args=(2,), name="worker")
            thread.start()
            thread.join()
        Model().forward(3)  # not recorded any more

    events, rows = recorded(work)
    calls = [event for event in spans(events) if event["cat"] == "python"]
    names = sorted((rows[event["tid"]], event["name"].removeprefix(f"{__name__}.")) for event in calls)
    assert names == [("python worker", "Model.layer"), ("training", "Model.forward"), ("training", "Model.layer")]
    forward = next(event for event in calls if event["name"].endswith("Model.forward"))
    assert any(holds(forward, event) for event in calls if event["name"].endswith("Model.layer"))


def test_a_report_shows_python_functions(trace, tmp_path):
    import ronde.report

    with trace.record(tmp_path), trace.calls(f"{__name__}.*"):
        for number in range(4):
            trace.step(number)
            Model().forward(20000)
        trace.end_step()
    assert "Model.forward" in json.dumps(ronde.report.report(tmp_path).document)


JOB = """
import os, sys, threading, torch, ronde.trace
from ronde import _core
from ronde.common.timeline import Timelines

timelines = Timelines()
_core.start(timelines.settings(os.environ.get("HOROVOD_TIMELINE", ""), os.environ.get("RONDE_TRACE_DIR", "")))
timelines.begun(mark_cycles=False)

def reduce(name):
    _core.synchronize(_core.allreduce_async_(torch.ones(4), name=name))

def start_timeline(file, mark_cycles=False):
    _core.timeline_start(file, mark_cycles)

stop_timeline = _core.timeline_stop

BODY
_core.stop("")
timelines.ended()
"""


@pytest.fixture
def job(run, tmp_path):
    def start(ranks, body, **env):
        (tmp_path / "job.py").write_text(JOB.replace("BODY", body))
        done = run("-n", str(ranks), sys.executable, str(tmp_path / "job.py"), env={"PYTHONPATH": str(PACKAGES)} | env)
        assert done.returncode == 0, done.stderr
        return done

    return start


def test_spans_of_two_ranks_are_in_their_traces(job, trace, tmp_path):
    body = """
with ronde.trace.span("mine"):
    reduce("a")
thread = threading.Thread(target=lambda: ronde.trace.span("other").__enter__())
thread.start()
thread.join()
"""
    job(2, body, RONDE_TRACE_DIR=str(tmp_path / "trace"))
    merged = trace.merge(tmp_path / "trace", tmp_path / "merged.json", format="chrome")
    assert merged["ranks"] == 2
    events = json.loads((tmp_path / "merged.json").read_text())
    assert {event["pid"] for event in spans(events) if event["name"] == "mine"} == {0, 1}
    assert any(event["name"] == "other" for event in events)


def test_a_timeline_between_start_and_stop(job, tmp_path):
    body = f"""
reduce("before")
start_timeline({str(tmp_path / "timeline.json")!r}, MARK)
for i in range(3):
    reduce("during")
stop_timeline()
reduce("after")
start_timeline({str(tmp_path / "second.json")!r})
reduce("second")
"""
    for mark in (False, True):
        job(2, body.replace("MARK", str(mark)), HOROVOD_TIMELINE="DYNAMIC")
        events = json.loads((tmp_path / "timeline.json").read_text())
        names = [event["name"] for event in events]
        assert names.count("ALLREDUCE") == 3 and "NEGOTIATE_ALLREDUCE" in names
        assert ("CYCLE_START" in names) == mark
        assert {event["pid"] for event in events} == {0}
    assert "ALLREDUCE" in (tmp_path / "second.json").read_text(), "what nobody stopped is written at the end"
    assert not list(tmp_path.glob("*.partial"))


def test_another_timeline_ends_the_first(job, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "made" / "second.json"
    body = f"""
start_timeline({str(first)!r})
start_timeline({str(first)!r})
reduce("one")
if _core.rank() == 0:
    os.makedirs({str(second.parent)!r})  # the other rank may not see it yet
start_timeline({str(second)!r})
reduce("two")
"""
    job(2, body, HOROVOD_TIMELINE="DYNAMIC")
    for file in (first, second):
        names = [event["name"] for event in json.loads(file.read_text())]
        assert names.count("ALLREDUCE") == 1


def test_training_goes_on_without_a_timeline(job, tmp_path):
    done = job(1, 'reduce("a")', HOROVOD_TIMELINE=str(tmp_path / "nowhere" / "x.json"))
    assert "there is no folder" in done.stderr


def test_a_timeline_of_the_whole_job(job, tmp_path):
    job(1, 'reduce("a")', HOROVOD_TIMELINE=str(tmp_path / "whole.json"))
    assert any(event["name"] == "ALLREDUCE" for event in json.loads((tmp_path / "whole.json").read_text()))


def test_a_timeline_needs_to_be_announced(job):
    body = """
try:
    start_timeline("x.json")
except ValueError as error:
    assert "HOROVOD_TIMELINE" in str(error), error
else:
    sys.exit("no error")
"""
    job(1, body)


def test_a_span_costs_little(trace, tmp_path):
    """Prints what spans and calls cost, with and without a trace; no figure fails."""
    script = f"""
import timeit, ronde.trace as trace
def ns(statement, number=100000):
    return min(timeit.repeat(statement, number=number, repeat=3, globals=globals())) / number * 1e9
def empty(): pass
with_span = "with span('x'): pass"
span = trace.span
plain = ns("empty()")
print(f"off: span {{ns(with_span):.0f}} ns")
with trace.record({str(tmp_path)!r}):
    print(f"on: span {{ns(with_span, 5000):.0f}} ns")
    with trace.calls("__main__.empty"):
        print(f"on: call {{ns('empty()', 5000) - plain:.0f}} ns")
    with trace.calls("nothing"):
        print(f"on: call left out {{ns('empty()') - plain:.0f}} ns")
"""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RONDE_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=env | {"PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    print(done.stdout)
    assert done.returncode == 0 and done.stdout.count(" ns") == 4, done.stderr
