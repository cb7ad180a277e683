"""ronde.report: what `ronde report` tells, as an object."""

import json

import pytest
from python_package import needs_package

pytest_plugins = ["job_fixtures", "python_fixtures"]
pytestmark = needs_package


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import ronde.trace as trace

    folder = tmp_path_factory.mktemp("trace")
    with trace.record(folder):
        for number in range(5):
            trace.step(number)
            with trace.span("forward"):
                sum(range(20000))
        trace.end_step()
    return folder


def test_it_is_what_the_program_prints(folder, ronde):
    import ronde.report as reports

    found = reports.report(folder)
    printed = ronde("report", str(folder), "--json")
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout) == found.document
    assert found.text() == ronde("report", str(folder), "--text").stdout == str(found)
    assert found.guide() == ronde("report", str(folder), "--guide").stdout
    assert found["steps"] == found.document["steps"]


def test_a_page_and_two_runs(folder, tmp_path):
    import ronde.report

    page = ronde.report.report(folder, steps="1..3").html(tmp_path / "page.html")
    assert page.read_text().lstrip().lower().startswith("<!doctype html>") and "forward" in page.read_text()
    assert "compare" in ronde.report.report([folder, folder]).document


FAILS = """
import torch
import ronde.torch as hvd
import ronde.trace as trace

hvd.init()
for number in range(12):
    trace.step(number)
    with trace.span("forward"):
        hvd.allreduce(torch.ones(4), name="x")
raise ValueError("these labels are wrong")
"""


def test_a_program_that_ends_by_an_exception_gets_no_grade(python_job, tmp_path):
    import ronde.report

    (tmp_path / "fails.py").write_text(FAILS)
    job = python_job(2, "fails.py", env={"RONDE_TRACE_DIR": str(tmp_path / "trace")})
    assert job.returncode != 0
    found = ronde.report.report(tmp_path / "trace")
    assert found["state"] == "unknown", found["verdict"]
    assert found["verdict"].startswith("The run failed after "), found["verdict"]
    assert "ValueError: these labels are wrong" in found["verdict"], found["verdict"]


def test_a_recording_that_ends_by_an_exception_gets_no_grade(tmp_path):
    import ronde.report
    import ronde.trace as trace

    with pytest.raises(KeyError), trace.record(tmp_path):
        for number in range(20):
            trace.step(number)
            with trace.span("forward"):
                sum(range(20000))
        raise KeyError("no such layer")
    found = ronde.report.report(tmp_path)
    assert found["state"] == "unknown", found["verdict"]
    assert found["verdict"].startswith("The run failed after "), found["verdict"]
    assert "KeyError: 'no such layer'" in found["verdict"], found["verdict"]


def test_wrong_input_is_said(tmp_path):
    import ronde.report

    with pytest.raises(ValueError, match="trace"):
        ronde.report.report(tmp_path)
    with pytest.raises(ValueError, match="missing trace"):
        ronde.report.report([])
