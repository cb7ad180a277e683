"""`ronde tune SPACE.toml -- COMMAND`: a search whose trials are runs of any command."""

import datetime
import json
import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from job import alive, wait_until
from test_tensorboard import events_of

pytest_plugins = ["job_fixtures"]

SPACE = """
    [tune]
    metric = "score"
    concurrency = 2
    {more}

    [tune.space]
    x = {{grid_search = [1, 3, 2, 4]}}
"""

# Reports x, 2x, 3x.
TRAIN = """
    import json, sys, time
    for step in range(1, 4):
        print(json.dumps({"score": float(sys.argv[1]) * step}), flush=True)
        time.sleep(0.01)
"""


@pytest.fixture
def tune(ronde, mark, tmp_path):
    """Runs a search in tmp_path: tune("samples = 2", "--mode", "min", script=TRAIN)."""

    def tune(more="", *flags, script=TRAIN, words=("{x}",)):
        write(tmp_path, more, script)
        return ronde("tune", "space.toml", *flags, "--", sys.executable, "train.py", *words, env={"JOB_MARK": mark})

    return tune


@pytest.fixture
def start(build_dir, clean_env, mark, tmp_path):
    """Starts the search that lies in tmp_path, and comes back at once."""
    started = []

    def start(*flags, **options):
        command = [build_dir / "ronde", "tune", "space.toml", *flags, "--", sys.executable, "train.py", "{x}"]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        started.append(subprocess.Popen(command, cwd=tmp_path, env={**clean_env, "JOB_MARK": mark}, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def write(folder, more="", script=TRAIN):
    (folder / "space.toml").write_text(textwrap.dedent(SPACE).format(more=more))
    (folder / "train.py").write_text(textwrap.dedent(script))


def listed(ronde, *flags):
    done = ronde("tune", "list", "ronde-output/tune/space", "--json", *flags)
    assert done.returncode == 0, done.stderr
    return {each["number"]: each for each in json.loads(done.stdout)}


def test_lines_of_json_are_reports(tune, ronde, tmp_path):
    done = tune()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"x": 4}, "standard output has the best configuration, and nothing else"
    assert re.search(r"tune: 4/4 trials done, best score 12 \(trial 3\), \d+ s\n", done.stderr), done.stderr
    trials = listed(ronde)
    assert [each["config"]["x"] for each in trials.values()] == [4, 3, 2, 1], "the best first"
    assert all(each["reports"] == 3 and each["state"] == "TERMINATED" for each in trials.values())
    folder = tmp_path / "ronde-output/tune/space/trial_00001"
    assert json.loads((folder / "params.json").read_text()) == {"x": 3}
    assert [json.loads(line)["score"] for line in (folder / "result.json").read_text().splitlines()] == [3, 6, 9]
    table = ronde("tune", "list", "ronde-output/tune/space", "--best", "2").stdout.splitlines()
    assert table[0].split() == ["trial", "state", "iterations", "score", "time", "x"]
    assert [row.split()[0] for row in table[1:]] == ["3", "1"]


def test_flags_go_before_the_file(tune, ronde):
    done = tune('mode = "max"', "--mode", "min", "--stop", "training_iteration=2", "--samples", "2")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"x": 1}
    trials = listed(ronde)
    assert len(trials) == 8 and all(each["reports"] == 2 for each in trials.values())


def test_a_trial_knows_its_configuration_and_folder(tune, ronde):
    script = """
        import json, os
        here = os.environ["TUNE_TRIAL_DIR"]
        assert os.path.isdir(here) and here.endswith("trial_" + os.environ["TUNE_TRIAL_ID"])
        print(json.dumps({"score": json.loads(os.environ["TUNE_CONFIG"])["x"], "cwd": os.getcwd()}))
    """
    assert tune(script=script).returncode == 0
    assert {each["last_result"]["score"] for each in listed(ronde).values()} == {1, 2, 3, 4}


def test_failures_are_named_and_tried_again(tune, ronde, tmp_path):
    script = """
        import json, os, sys
        mark = os.environ["TUNE_TRIAL_DIR"] + "/mark"
        if sys.argv[1] == "3" and not os.path.exists(mark):
            open(mark, "w").close()
            raise ValueError("the loss is not finite")
        if sys.argv[1] == "4":
            sys.exit("no data")
        print(json.dumps({"score": float("nan") if sys.argv[1] == "2" else 1}))
    """
    done = tune("max_failures = 1", script=script)
    assert done.returncode == 0, done.stderr
    assert "trial 1 failed and is started again: exit code 1: ValueError: the loss is not finite (" in done.stderr
    assert "trial 3 failed: exit code 1: no data (" in done.stderr
    trials = listed(ronde)
    assert [trials[i]["state"] for i in range(4)] == ["TERMINATED", "TERMINATED", "TERMINATED", "ERROR"]
    assert trials[2]["last_result"]["score"] is None
    assert "no data" in (tmp_path / "ronde-output/tune/space/trial_00003/error.txt").read_text()


def test_a_silent_trial_is_ended_with_what_it_started(tune, ronde):
    script = """
        import json, subprocess, sys, time
        if sys.argv[1] == "1":
            subprocess.Popen(["sleep", "600"], start_new_session=True)
            time.sleep(600)
        print(json.dumps({"score": 1}))
    """
    assert tune("", "--trial-timeout", "1s", script=script).returncode == 0  # `mark` looks for orphans
    trials = listed(ronde)
    assert "no report for 1.0 s" in trials[0]["error"]
    assert all(trials[i]["state"] == "TERMINATED" for i in (1, 2, 3))


LONG = """
    import json, os, signal, sys, time
    def tidy(*_):
        open("tidied", "a").write(sys.argv[1] + "\\n")
        sys.exit(0)
    signal.signal(signal.SIGTERM, tidy)
    open("ready", "a").write(sys.argv[1] + "\\n")
    for step in range(1, 4):
        print(json.dumps({"score": float(sys.argv[1])}), flush=True)
        while sys.argv[1] == "3" and not os.path.exists("go on"):
            time.sleep(0.01)
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_search_that_is_ended_goes_on(start, ronde, mark, tmp_path, how):
    write(tmp_path, script=LONG)
    first = start()
    wait_until(lambda: (tmp_path / "ready").exists() and "3" in (tmp_path / "ready").read_text(), lambda: "not ready")
    wait_until(lambda: sum(each["state"] == "TERMINATED" for each in listed(ronde).values()) == 3, lambda: "not there")
    first.send_signal(how)
    _, errors = first.communicate(timeout=30)
    wait_until(lambda: not alive(mark), lambda: f"orphans {alive(mark)}")
    if how != signal.SIGKILL:
        assert first.returncode == {signal.SIGTERM: 75, signal.SIGINT: 130}[how], errors
        assert "goes on when this command is started again" in errors
        assert (tmp_path / "tidied").read_text() == "3\n", "a trial may tidy up"
    (tmp_path / "go on").touch()
    second = start()
    _, errors = second.communicate(timeout=30)
    assert second.returncode == 0, errors
    assert "going on with 4 trials" in errors
    trials = listed(ronde)
    assert len(trials) == 4 and all(each["state"] == "TERMINATED" for each in trials.values())
    assert (tmp_path / "ready").read_text().count("1\n") == 1, "what has ended is not repeated"


def test_a_deadline_ends_in_75(start, tmp_path):
    write(tmp_path, script=LONG)
    job = start("--deadline", "500ms")
    _, errors = job.communicate(timeout=30)
    assert job.returncode == 75, errors


def test_several_jobs_share_a_search(start, ronde, tmp_path):
    script = """
        import json, os, sys, time
        open("ran", "a").write(f"{os.environ['TUNE_TRIAL_ID']}\\n")
        time.sleep(0.05)
        print(json.dumps({"score": 1}))
    """
    write(tmp_path, "samples = 5", script)
    jobs = [start(), start()]
    for job in jobs:
        _, errors = job.communicate(timeout=60)
        assert job.returncode == 0, errors
    assert sorted((tmp_path / "ran").read_text().split()) == [f"{i:05d}" for i in range(20)], "each trial once"
    assert len(listed(ronde)) == 20


def test_another_search_in_the_folder_is_refused(tune):
    assert tune().returncode == 0
    done = tune(words=("{x}", "--more"))
    assert done.returncode == 2 and "command differ" in done.stderr, done.stderr
    done = tune('mode = "min"')
    assert done.returncode == 2 and "mode differ" in done.stderr, done.stderr


def test_files_for_tensorboard(tune, tmp_path):
    assert tune().returncode == 0
    (file,) = (tmp_path / "ronde-output/tune/space/trial_00001").glob("events.out.tfevents.*")
    events = events_of(file.read_bytes())
    assert events[0].file_version == "brain.Event:2"
    tags = [value.tag for event in events for value in event.summary.value]
    assert tags[0] == "_hparams_/session_start_info" and tags[-1] == "_hparams_/session_end_info"
    scores = [
        (event.step, value.simple_value) for event in events for value in event.summary.value if value.tag == "score"
    ]
    assert scores == [(1, 3.0), (2, 6.0), (3, 9.0)]


def test_export_for_optuna(tune, ronde, tmp_path):
    began = time.time()
    assert tune('mode = "min"', "--stop", "training_iteration=2").returncode == 0
    done = ronde("tune", "export", "ronde-output/tune/space", "--optuna", "optuna.jsonl")
    assert done.returncode == 0 and "4 trials" in done.stdout, done.stderr
    study, *trials = [json.loads(line) for line in (tmp_path / "optuna.jsonl").read_text().splitlines()]
    assert (study["op_code"], study["study_name"], study["directions"]) == (0, "space", [1])
    assert [each["value"] for each in trials] == [2, 6, 4, 8]
    assert all(each["op_code"] == 4 and each["state"] == 1 for each in trials)
    assert trials[1]["intermediate_values"] == {"1": 3, "2": 6} and trials[1]["params"] == {"x": 1}
    assert json.loads(trials[1]["distributions"]["x"])["attributes"]["choices"] == [1, 3, 2, 4]
    ended = datetime.datetime.fromisoformat(trials[0]["datetime_complete"]).timestamp()
    assert began - 2 < ended < time.time() + 2


def test_on_a_terminal_there_is_a_table(start, tmp_path):
    write(tmp_path)
    ours, theirs = pty.openpty()
    job = start(stderr=theirs)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert job.wait(timeout=30) == 0, shown
    last = re.split(rb"\x1b\[\d+A\x1b\[J", shown)[-1].decode().splitlines()
    assert last[0].startswith("4/4 trials done, best score 12 (trial 3)"), shown
    assert last[1].split() == ["trial", "state", "iterations", "score", "time", "x"]
    assert [row.split()[0] for row in last[2:]] == ["3", "1", "2", "0"]


def test_wrong_words_are_refused(tune, ronde, tmp_path):
    def refused(done, *parts):
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        for part in parts:
            assert part in done.stderr

    refused(tune(words=("{y}",)), "{y}", "search space", "{{y}}")
    refused(tune('schedular = "asha"'), "space.toml", "did you mean tune.scheduler?")
    refused(tune('scheduler = "pbt"'), "checkpoints")
    refused(tune("", "--sampler", "magic"), "tune.sampler", "magic", "random")
    refused(tune("", "--stop", "score"), "--stop score")
    refused(tune("", "--time-budget", "5"), "tune.time_budget")
    refused(ronde("tune", "space.toml"), "missing command")
    refused(ronde("tune", "space.toml", "--", "no-such-program"), "command not found: no-such-program")
    refused(ronde("tune", "list", "."), "holds no search")
    refused(ronde("tune", "export", "."), "missing file")
    refused(ronde("tune", "export", ".", "--optuna", "x"), "holds no search")
    (tmp_path / "space.toml").write_text("[tune]\nmetric =")
    refused(ronde("tune", "space.toml", "--", "true"), "space.toml:2")
