"""`ronde run` in the words of horovodrun, and Horovod's variables: the settings that they become, what is refused."""

import json
import os
import re
import shutil
import subprocess
import sys

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


def test_variables_are_settings_with_their_names_as_origin(ronde):
    variables = {
        "HOROVOD_FUSION_THRESHOLD": "1048576",
        "HOROVOD_AUTOTUNE": "1",
        "HOROVOD_STALL_CHECK_TIME_SECONDS": "9",
    }
    done = ronde(
        "info", "--settings", "--json", "--comm-autotune", "off", env=variables | {"RONDE_COMM_STALL_WARN": "7s"}
    )
    assert done.returncode == 0, done.stderr
    found = {row["key"]: (row["value"], row["origin"]) for row in json.loads(done.stdout)["settings"]}
    assert found["comm.fusion_bytes"] == ("1048576B", "HOROVOD_FUSION_THRESHOLD")
    assert found["comm.autotune"] == ("off", "--comm-autotune")
    assert found["comm.stall_warn"] == ("7s", "RONDE_COMM_STALL_WARN")


def test_a_variable_that_does_not_parse_is_named(ronde):
    for name, value in (
        ("HOROVOD_FUSION_THRESHOLD", "128MB"),
        ("HOROVOD_AUTOTUNE", "maybe"),
        ("HOROVOD_LOG_LEVEL", "x"),
    ):
        done = ronde("run", "-n", "1", "true", env={name: value})
        assert (done.returncode, done.stdout) == (2, "")
        assert name in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_variables_that_change_nothing_are_no_hindrance(ronde, no_batch, mark):
    env = {"HOROVOD_CYCLE_TIME": "0.1", "HOROVOD_NO_SUCH": "x", "HOROVOD_RANK": "3", "JOB_MARK": mark}
    done = ronde("run", "-n", "1", "true", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    said = ronde("--log-level", "debug", "run", "-n", "1", "true", env=env).stderr
    assert "HOROVOD_CYCLE_TIME is not needed" in said and "HOROVOD_NO_SUCH changes nothing" in said
    assert "HOROVOD_RANK" not in said


SCRIPT = """
import json, os, horovod
found = {name: value for name, value in os.environ.items() if name.startswith("HOROVOD_")}
print(json.dumps(found | {"PYTHONPATH": os.environ["PYTHONPATH"], "horovod": horovod.NAME}))
"""


class Installed:
    """The program where pip puts it, beside a package `horovod` of our own."""

    def __init__(self, program, packages, env):
        self.packages, self.env = packages, env
        self.program = packages / "ronde" / "bin" / "ronde"
        self.shim = packages / "ronde" / "shim"
        self.program.parent.mkdir(parents=True)
        try:
            os.link(program, self.program)
        except OSError:  # another file system
            shutil.copy2(program, self.program)

    def add_shim(self):
        (self.shim / "horovod").mkdir(parents=True)
        (self.shim / "horovod" / "__init__.py").write_text("NAME = 'ours'\n")

    def run(self, *arguments: str, env=None) -> subprocess.CompletedProcess:
        command = [self.program, "--log-level", "error", "run", *arguments]
        return subprocess.run(
            command, env=self.env | (env or {}), cwd=self.packages, capture_output=True, text=True, timeout=60
        )

    def ranks(self, *arguments: str, env=None) -> list[dict[str, str]]:
        """What each rank finds in its environment."""
        done = self.run(*arguments, "--horovod", sys.executable, "-c", SCRIPT, env=env)
        assert done.returncode == 0, done.stderr
        lines = dict(re.findall(r"^\[(\d+)\] (\{.*)$", done.stdout, re.MULTILINE))
        return [json.loads(lines[str(rank)]) for rank in range(len(lines))]


@pytest.fixture
def installed(build_dir, tmp_path, clean_env, mark, no_batch):
    kept = {name: value for name, value in clean_env.items() if name in os.environ or name == "XDG_CACHE_HOME"}
    return Installed(build_dir / "ronde", tmp_path / "site-packages", kept | {"JOB_MARK": mark})


def test_scripts_of_horovod_find_ranks_and_shim(installed):
    installed.add_shim()
    ranks = installed.ranks("-n", "2", env={"PYTHONPATH": "/mine"})
    host = os.uname().nodename
    for rank, found in enumerate(ranks):
        assert found == {
            "HOROVOD_RANK": str(rank),
            "HOROVOD_SIZE": "2",
            "HOROVOD_LOCAL_RANK": str(rank),
            "HOROVOD_LOCAL_SIZE": "2",
            "HOROVOD_CROSS_RANK": "0",
            "HOROVOD_CROSS_SIZE": "1",
            "HOROVOD_HOSTNAME": host,
            "HOROVOD_CONTROLLER": "gloo",
            "HOROVOD_CPU_OPERATIONS": "gloo",
            "PYTHONPATH": f"{installed.shim}:{installed.packages}:/mine",
            "horovod": "ours",
        }
    assert len(ranks) == 2


@pytest.mark.parametrize("launcher,program", [("mpirun", "mpirun"), ("hydra", "mpiexec"), ("srun", "srun")])
def test_scripts_of_horovod_on_several_machines(installed, fakes, launcher, program):
    installed.add_shim()
    fakes.install(program)
    ranks = installed.ranks("-H", "a:2,b:1", "--launcher", launcher, env=fakes.env | {"FAKE_RUN": "1"})
    kinds = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
    assert [" ".join(found[f"HOROVOD_{kind}"] for kind in kinds) for found in ranks] == [
        "0 3 0 2 0 2",
        "1 3 1 2 0 1",
        "2 3 0 1 1 2",
    ]
    assert all(found["horovod"] == "ours" for found in ranks)


def test_what_would_be_started_has_it_too(installed, fakes):
    installed.add_shim()
    here = installed.run("-n", "2", "--horovod", "--dry-run", "python", "train.py").stdout
    assert "HOROVOD_RANK=1" in here and "HOROVOD_SIZE=2" in here
    assert f"PYTHONPATH={installed.shim}:{installed.packages}" in here
    fakes.install("mpirun")
    there = installed.run("-H", "a:1,b:1", "--horovod", "--dry-run", "python", "train.py", env=fakes.env).stdout
    assert re.search(r"start-rank .*--horovod .*-- python train.py", there, re.DOTALL), there
    script = installed.run("-n", "2", "--horovod", "--script", "slurm", "python", "train.py").stdout
    assert "ronde --log-level error run --horovod -- python train.py" in script, script


def test_a_package_that_is_not_there_is_said(installed, fakes):
    fakes.install("mpirun")
    for where in (["-n", "1"], ["-H", "a:1,b:1"]):
        done = installed.run(*where, "--horovod", "true", env=fakes.env)
        assert (done.returncode, done.stdout) == (2, "")
        assert str(installed.shim / "horovod") in done.stderr and "pip install" in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


def test_without_the_flag_nothing_is_added(ronde, mark, no_batch):
    done = ronde("run", "-n", "1", "env", env={"JOB_MARK": mark, "PYTHONPATH": "/mine"})
    assert "HOROVOD_" not in done.stdout and "[0] PYTHONPATH=/mine\n" in done.stdout
