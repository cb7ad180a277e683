"""The program as a user meets it: what it prints, what it refuses, and with which exit code."""

import json
import os
import pty
import subprocess

import pytest
from conftest import ROOT


def refused(done, *parts: str) -> None:
    """One sentence on standard error, nothing else, exit code 2."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("ronde: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_version_and_help(ronde):
    assert ronde("--version").stdout.startswith("ronde 0.")
    for arguments in ([], ["--help"], ["info", "--help"], ["bench", "--help"]):
        done = ronde(*arguments)
        assert done.returncode == 0
        assert "Usage" in done.stdout


def test_info_shows_build_machine_and_settings(ronde):
    done = ronde("info", env={"RONDE_TRACE_BYTES": "1MiB"})
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("Built in", "hwloc", "Machine", "memory", "/dev/shm", "this folder", "GPUs", "RONDE_TRACE_BYTES"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout, "colours only on a terminal"


def test_info_is_coloured_on_a_terminal(build_dir, clean_env):
    ours, theirs = pty.openpty()
    env = {name: value for name, value in clean_env.items() if name != "NO_COLOR"}
    subprocess.run([build_dir / "ronde", "info"], stdout=theirs, env=env, check=True, timeout=60)
    assert b"\x1b[1m" in os.read(ours, 4096)


def test_info_as_json(ronde):
    info = json.loads(ronde("info", "--json").stdout)
    assert info["ronde"]["version"]
    assert {"libtorch", "CUDA", "MPI", "hwloc"} <= {part["name"] for part in info["parts"]}
    for part in info["parts"]:
        assert part["version"] if part["built_in"] else part["package"]
    assert len(info["machine"]["cores"]) <= os.cpu_count()
    assert info["memory"]["bytes"] > info["memory"]["free_bytes"] > 0
    assert info["working_directory"]["file_system"]["type"]
    assert info["settings"][0].keys() == {"key", "value", "origin", "help"}


def test_torch_says_what_it_uses(ronde):
    info = json.loads(ronde("info", "--json").stdout)
    built_in = {part["name"]: part["built_in"] for part in info["parts"]}
    if not built_in["libtorch"]:
        pytest.skip("this build has no libtorch")
    assert info["torch"]["version"].startswith("2.")
    assert info["torch"]["cpu_capability"]


def test_settings_say_where_they_come_from(ronde, tmp_path):
    (tmp_path / "run.toml").write_text('[trace]\nsteps = "1..2"\nbytes = "1MiB"\n')
    done = ronde("info", "--settings", "--config", "run.toml", "--log-level=warn", env={"RONDE_TRACE_BYTES": "2MiB"})
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "run.toml:2" in rows["trace.steps"]
    assert "2MiB" in rows["trace.bytes"] and "RONDE_TRACE_BYTES" in rows["trace.bytes"]
    assert "--log-level" in rows["log.level"]
    assert "default" in rows["cli.color"]


def test_log_level_shows_what_happens(ronde):
    assert ronde("info").stderr == ""
    assert "debug: reading the topology" in ronde("info", "--log-level", "debug").stderr


def test_the_settings_page_is_current(ronde):
    page = ronde("info", "--settings", "--markdown").stdout
    assert page == (ROOT / "docs" / "settings.md").read_text(), (
        "run: ./ronde-dev exec ronde info --settings --markdown > docs/settings.md"
    )


@pytest.mark.parametrize(
    ("arguments", "env", "parts"),
    [
        (["info", "--jsn"], {}, ["--jsn", "did you mean --json?"]),
        (["inof"], {}, ["inof", "did you mean info?"]),
        (["info", "--frobnicate"], {}, ["--frobnicate"]),
        (["info", "--set", "trace.byets=1"], {}, ["trace.byets", "did you mean trace.bytes?"]),
        (["info", "--set", "trace.bytes"], {}, ["key=value"]),
        (["info", "--trace-bytes", "64M"], {}, ["trace.bytes", "--trace-bytes", "64M"]),
        (["info", "--trace-bytes"], {}, ["--trace-bytes"]),
        (["info", "--markdown"], {}, ["--settings"]),
        (["info"], {"RONDE_TRACE_BYTES": "128 bananas"}, ["RONDE_TRACE_BYTES", "trace.bytes", "128 bananas"]),
        (["info"], {"RONDE_COMM_FUSION_BYTES": "128 bananas"}, ["RONDE_COMM_FUSION_BYTES", "128 bananas"]),
        (["info"], {"RONDE_TRACE_STEP": "1"}, ["did you mean RONDE_TRACE_STEPS?"]),
        (["info", "--config", "missing.toml"], {}, ["missing.toml"]),
        (["bench", "spam"], {}, ["spam", "span"]),
        (["bench"], {}, ["ronde bench --list"]),
        (["info", "bench", "span"], {}, ["'bench' is a separate command"]),
        (["info", "--trace-steps", "5..1"], {}, ["trace.steps", "5..1"]),
        (["--log-level", "bananas"], {}, ["log.level", "bananas"]),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(ronde, arguments, env, parts):
    refused(ronde(*arguments, env=env), *parts)


def test_a_misspelt_key_in_a_file_is_named_with_its_line(ronde, tmp_path):
    (tmp_path / "run.toml").write_text("[log]\n\nlevle = 'info'\n")
    refused(ronde("info", "--config", "run.toml"), "run.toml:3", "log.levle", "did you mean log.level?")


def test_an_mpi_library_that_cannot_start(ronde, tmp_path):
    (tmp_path / "libmpi.so").write_text("this is no library")
    done = ronde("info", "--mpi-library", str(tmp_path / "libmpi.so"))
    assert "Machine" in done.stdout, "what else is known is still shown"
    refused(done, "MPI library cannot be loaded", "libmpi.so", "mpi.library")
    refused(ronde("info", "--mpi-library", "libm.so.6"), "MPI_Get_library_version")


def test_output_that_cannot_be_written_is_an_error(build_dir, clean_env):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [build_dir / "ronde", "info"], stdout=full, stderr=subprocess.PIPE, env=clean_env, text=True
        )
        assert (done.returncode, done.stderr) == (1, "ronde: cannot write the output: No space left on device\n")
        done = subprocess.run([build_dir / "ronde", "inof"], stderr=full, env=clean_env)
        assert done.returncode == 2, "a complaint that cannot be written changes nothing"


def test_names_that_are_no_utf8_do_not_stop_json(build_dir, clean_env, tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xff")
    os.mkdir(folder)
    done = subprocess.run([build_dir / "ronde", "info", "--json"], cwd=folder, env=clean_env, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert "caf\ufffd" in json.loads(done.stdout)["working_directory"]["path"]


def test_bench_as_json(ronde):
    done = ronde("bench", "span", "--json")
    report = json.loads(done.stdout)
    assert (report["bench"], report["version"]) == ("span", 1)
    assert report["host"]["cpu"]
    assert report["rows"]
