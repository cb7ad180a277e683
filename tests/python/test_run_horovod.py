"""`ronde run` in the words of horovodrun: which settings its flags become, what is said, and what is refused."""

import re

import pytest

pytest_plugins = ["job_fixtures", "launcher_fixtures"]


@pytest.fixture
def settings(ronde, mark, no_batch):
    """Runs `env` as one rank: (the settings that it finds, what was said)."""

    def settings(*flags: str) -> tuple[dict[str, str], str]:
        done = ronde("run", "-np", "1", *flags, "env", env={"JOB_MARK": mark})
        assert done.returncode == 0, done.stderr
        return dict(re.findall(r"^\[0\] (RONDE_[A-Z]\w*)=(.*)$", done.stdout, re.MULTILINE)), done.stderr

    return settings


def test_flags_become_settings(settings):
    found, said = settings(
        "--fusion-threshold-mb", "32", "--no-autotune", "--stall-check-warning-time-seconds=60", "--start-timeout", "45"
    )
    assert found == {
        "RONDE_COMM_FUSION_BYTES": "32MiB",
        "RONDE_COMM_AUTOTUNE": "false",
        "RONDE_COMM_STALL_WARN": "60s",
        "RONDE_COMM_START_TIMEOUT": "45s",
    }
    assert said == ""


def test_a_timeline_is_a_folder_of_traces(settings):
    found, said = settings("--timeline-filename", "out/timeline.json")
    assert found["RONDE_TRACE_DIR"] == "out/timeline"
    assert "the folder out/timeline" in said


def test_what_is_not_needed_is_said_once(settings):
    found, said = settings("--cycle-time-ms", "5", "--cache-capacity", "2048", "--mpi")
    assert found == {}
    assert [line.split("info: ")[1].split()[0] for line in said.splitlines()] == [
        "--cycle-time-ms",
        "--cache-capacity",
        "--mpi",
    ]


def test_a_config_file_and_flags_that_override_it(settings, tmp_path):
    (tmp_path / "c.yaml").write_text("params:\n  fusion_threshold_mb: 16\nautotune:\n  enabled: true\n")
    found, _ = settings("--config-file", "c.yaml", "--fusion-threshold-mb", "8")
    assert found == {"RONDE_COMM_FUSION_BYTES": "8MiB", "RONDE_COMM_AUTOTUNE": "true"}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--fusion-threshold-mb", "128MB"], ["--fusion-threshold-mb 128MB", "whole number"]),
        (["--min-np", "2"], ["--min-np", "elastic", "--restart"]),
        (["--host-discovery-script", "x.sh"], ["elastic"]),
        (["-p", "2222"], ["-p", "ssh/config"]),
        (["--log-level", "LOUD"], ["log.level", "loud"]),
        (["--config-file", "wrong.yaml"], ["wrong.yaml:2", "params.cycle_time"]),
        (["--config-file", "none.yaml"], ["none.yaml", "No such file"]),
    ],
)
def test_wrong_input_is_one_sentence(ronde, tmp_path, arguments, parts):
    (tmp_path / "wrong.yaml").write_text("params:\n  cycle_time: 1\n")
    done = ronde("run", "-np", "1", *arguments, "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ronde: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_check_build(ronde):
    done = ronde("run", "-cb")
    assert done.returncode == 0
    for title in (
        "Available Frameworks",
        "Available Controllers",
        "Available Tensor Operations",
        "Launchers on the PATH",
    ):
        assert f"\n{title}:\n" in done.stdout
    assert "    [X] shared memory" in done.stdout
