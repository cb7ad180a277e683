"""What `ronde run` does on the node: binding, what ranks are told about it, and the look at jobs that run."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest
from job import wait_until

pytest_plugins = ["job_fixtures"]

CPUS = sorted(os.sched_getaffinity(0))
several_cores = pytest.mark.skipif(len(CPUS) < 2, reason="on one core there is nothing to choose from")


def variables_of(done: subprocess.CompletedProcess, rank: int = 0) -> dict[str, str]:
    return dict(re.findall(rf"^\[{rank}\] (\w+)=(.*)$", done.stdout, re.MULTILINE))


def at_a_terminal(build_dir, env: dict[str, str], *arguments: str) -> str:
    command = " ".join([str(build_dir / "ronde"), *arguments])
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        env=env | {"NO_COLOR": "1", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.replace("\r\n", "\n")


def test_ranks_are_told_what_they_own(run):
    found = variables_of(run("-n", "1", "env"))
    assert found["RONDE__CPUS"] and found["RONDE__ENGINE_CPUS"]
    assert found["RONDE__JOB"].isdigit() and found["RONDE__ATTEMPT"] == "1"
    assert found["OMP_PROC_BIND"] == "close" and found["OMP_PLACES"].startswith("{")
    assert found["KMP_AFFINITY"] == "nowarnings,norespect"


def test_the_flag_wins_over_the_variable_and_both_over_the_plan(run):
    env = {"OMP_NUM_THREADS": "3"}
    assert variables_of(run("-n", "1", "env", env=env))["OMP_NUM_THREADS"] == "3"
    assert variables_of(run("-n", "1", "--threads", "2", "env", env=env))["OMP_NUM_THREADS"] == "2"


@pytest.mark.parametrize("policy", ["auto", "core", "numa", "socket", "gpu"])
def test_every_policy_binds_and_none_does_not(sh, policy):
    script = "grep Cpus_allowed_list /proc/self/status; grep -o -m1 'prefer:.\\|default' /proc/self/numa_maps"
    bound = sh(2, script, "--bind", policy)
    assert bound.returncode == 0, bound.stderr
    assert bound.stdout.count("Cpus_allowed_list") == 2
    free = sh(2, script, "--bind", "none")
    assert "prefer" not in free.stdout


def test_memory_comes_from_the_domain_of_the_rank(sh):
    done = sh(1, "head -1 /proc/self/numa_maps")
    if done.returncode != 0:
        pytest.skip("this kernel does not tell where memory comes from")
    domains = [name for name in os.listdir("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]
    if len(domains) != 1:
        pytest.skip("one rank spans several domains here")
    if " default " in done.stdout:
        pytest.skip("the kernel lets nobody choose where memory comes from, as in many containers")
    assert " prefer:0 " in done.stdout


@several_cores
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no torch here")
@pytest.mark.parametrize(("flags", "confined"), [((), False), (("--pin-threads",), True)])
def test_what_a_rank_starts_may_use_all_its_cores(run, flags, confined):
    """OpenMP binds the main thread when it is loaded, and workers that load data inherit that."""
    script = "import os, torch; torch.ones(9).sum(); print('cpus', len(os.sched_getaffinity(0)))"
    done = run("-n", "1", *flags, sys.executable, "-W", "ignore", "-c", script)
    cpus = int(re.search(r"cpus (\d+)", done.stdout)[1])
    assert cpus == (1 if confined else len(CPUS))


@pytest.mark.skipif(not shutil.which("script"), reason="script(1), which makes a terminal, is not installed")
def test_the_table_at_a_terminal_and_a_line_elsewhere(build_dir, clean_env, ronde, mark):
    shown = at_a_terminal(build_dir, clean_env | {"JOB_MARK": mark}, "run", "-n", "2", "echo", "hello")
    assert re.search(r"^2 ranks, bound by core: \d+ threads? each, on \d+ cores?$", shown, re.MULTILINE), shown
    assert re.search(r"^rank +cores +compute cpus", shown, re.MULTILINE), shown
    assert shown.index("rank  cores") < shown.index("[0] hello")

    one = at_a_terminal(build_dir, clean_env | {"JOB_MARK": mark}, "run", "-n", "1", "echo", "hello")
    assert one == "[0] hello\n", "one rank has the machine for itself"

    line = ronde("run", "-n", "2", "true", env={"JOB_MARK": mark})
    if len(CPUS) > 1:
        assert line.stderr.count("\n") == 1 and "2 ranks, bound by core" in line.stderr
    assert ronde("run", "-n", "2", "--quiet", "--log-level", "error", "true").stderr == ""
    assert "rank  cores" in ronde("run", "-n", "1", "--verbose", "true", env={"JOB_MARK": mark}).stderr


def test_a_pretended_machine_shows_its_table(ronde, mark):
    """The table for machines that are not here: hwloc reads them from a file."""
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    machine = {"HWLOC_XMLFILE": os.path.join(root, "src/topology/testdata/four_gpus.xml"), "HWLOC_THISSYSTEM": "0"}
    table = ronde("run", "-n", "4", "--verbose", "true", env=machine | {"JOB_MARK": mark}).stderr
    assert "4 ranks, bound by gpu: 4 threads each, on 16 cores" in table
    assert "   0  4-7    4-7           23                 4  1     ib0           0\n" in table
    hidden = ronde("run", "-n", "2", "--verbose", "true", env=machine | {"CUDA_VISIBLE_DEVICES": "3,2"}).stderr
    assert re.search(r"^ +0  8-11 ", hidden, re.MULTILINE), "rank 0 sits next to the first GPU that it sees"
    used = ronde("run", "-n", "4", "--verbose", "--hyperthreads", "use", "true", env=machine).stderr
    assert "4-7,20-23" in used


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--threads", "0"], ["--threads"]),
        (["--threads", "x"], ["--threads"]),
        (["--hyperthreads", "some"], ["--hyperthreads", "some"]),
        (["--restart", "-1"], ["--restart"]),
        (["--output-dir", "/proc/no"], ["/proc/no"]),
        (["--where", "999999999"], ["999999999"]),
    ],
)
def test_wrong_flags_are_one_sentence(run, flags, parts):
    done = run("-n", "1", *flags, "true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_where_finds_jobs_and_names_threads_that_sit_elsewhere(start, ronde, tmp_path):
    script = "touch here.$RANK; while [ ! -e go ]; do sleep 0.05; done; touch moved.$RANK; sleep 1000; true"
    if len(CPUS) > 1:
        script = script.replace("touch moved", f"taskset -p -c {CPUS[0]}-{CPUS[-1]} $$; touch moved")
    job = start(2, script)
    await_files(tmp_path, "here")
    number = str(job.pid)
    for which in ([number], []):
        seen = ronde("run", "--where", *which)
        assert f"job {number}: bash -c" in seen.stdout
        assert re.search(r"^ +1 +\d+ ", seen.stdout, re.MULTILINE)
    mine = ronde("run", "--where", number)
    assert (mine.returncode, "stays on the cpus of its rank" in mine.stdout) == (0, True), mine.stdout
    rank_1 = re.search(r"^ +1 +(\d+) ", mine.stdout, re.MULTILINE)[1]
    assert ronde("run", "--where", rank_1).stdout.startswith(f"job {number}:"), "a process of it means it too"
    (tmp_path / "go").touch()
    await_files(tmp_path, "moved")
    if len(CPUS) > 1:
        stray = ronde("run", "--where", number)
        assert stray.returncode == 1
        assert re.search(rf"^rank 1: thread {rank_1} \(bash\) of process {rank_1} may run on cpus", stray.stdout, re.M)
    job.signal(15)
    assert job.wait() == 143
    gone = ronde("run", "--where", number)
    assert gone.returncode == 2 and f"there is no job {number} on this machine" in gone.stderr


def await_files(folder, name: str) -> None:
    wait_until(lambda: all((folder / f"{name}.{rank}").exists() for rank in (0, 1)), name)
