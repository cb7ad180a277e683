"""ronde.report: what `ronde report` tells, as an object."""

import json

import pytest
from python_package import needs_package

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


def test_wrong_input_is_said(tmp_path):
    import ronde.report

    with pytest.raises(ValueError, match="trace"):
        ronde.report.report(tmp_path)
    with pytest.raises(ValueError, match="missing trace"):
        ronde.report.report([])
