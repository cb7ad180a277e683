"""`ronde run` on several machines: which launcher is asked, in which words, and what its ranks make of it.

Launchers are fakes on the PATH that write down how they were called (fake_launcher.py), and start the ranks where a
test wants it; the real ones are in test_run_launchers.py.
"""

import os
import re
import subprocess
import sys

import pytest

pytest_plugins = ["job_fixtures", "launcher_fixtures"]

NAMES = {"mpirun": "mpirun", "hydra": "mpiexec", "srun": "srun", "jsrun": "jsrun"}


@pytest.fixture
def launch(fakes, run):
    """Runs `ronde run` with fakes alone on the PATH."""
    return lambda *arguments, env=None: run(*arguments, env=fakes.env | (env or {}))


def words(text: str) -> list[str]:
    return text.split()


def before_ronde(argv: list[str]) -> list[str]:
    return argv[: argv.index("start-rank") - 1]


def without_passed(argv: list[str]) -> list[str]:
    """mpirun's words without the variables that it passes on, which depend on who runs the tests."""
    return words(re.sub(r" -x \S+", "", " ".join(argv)).replace(" --allow-run-as-root", ""))


def test_mpirun_is_asked(fakes, launch):
    fakes.install("mpirun")
    done = launch("-H", "a:2,b:1", "--trace-bytes", "2MiB", "prog", "--flag", env={"RONDE_TRACE_STEPS": "1..2"})
    assert done.returncode == 0, done.stderr
    assert without_passed(before_ronde(fakes.argv)) == words("-np 3 --host a:2,b:1 --map-by slot --bind-to none")
    assert "-x RONDE_TRACE_BYTES" in " ".join(fakes.argv) and "-x RONDE_TRACE_STEPS" in " ".join(fakes.argv)
    assert fakes.launcher_env["RONDE_TRACE_BYTES"] == "2MiB"
    start = fakes.argv[fakes.argv.index("start-rank") :]
    master = start.pop(start.index("--master") + 1)
    assert re.fullmatch(r"a:\d+", master)
    assert start == words("start-rank --launcher mpirun --layout 2,1 --master --bind auto --relay -- prog --flag")


def test_ranks_on_this_machine_need_no_launcher(fakes, launch):
    done = launch("-H", "localhost:2", sys.executable, "-c", "import os; print(os.environ['RANK'])")
    assert sorted(done.stdout.split("\n")) == ["", "[0] 0", "[1] 1"], done.stderr
    assert not fakes.log.exists()


def test_a_hostfile(fakes, launch, tmp_path):
    fakes.install("mpiexec")
    (tmp_path / "hosts").write_text("a slots=2 # the first\nb slots=2\n")
    assert launch("-hostfile", "hosts", "-np", "3", "prog").returncode == 0
    assert before_ronde(fakes.argv) == words("-n 3 -hosts a:2,b:1 -bind-to none")


def test_in_a_slurm_job_nothing_needs_to_be_said(fakes, launch):
    fakes.install("mpirun", "srun")
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)"}
    done = launch("prog", env=slurm | {"SLURM_JOB_END_TIME": "99999999999"})
    assert done.returncode == 0, done.stderr
    asked = [word for word in before_ronde(fakes.argv) if not word.startswith("--mpi=")]
    assert asked == words(
        "--ntasks=4 --nodes=2 --nodelist=n1,n2 --ntasks-per-node=2 --distribution=block --cpu-bind=none "
        "--mem-bind=none --kill-on-bad-exit=1 --input=0 --export=ALL"
    )
    assert fakes.launcher_env["RONDE_LAUNCH_DEADLINE"] == "99999999999"


def test_in_jobs_of_lsf_and_pbs(fakes, launch, tmp_path):
    fakes.install("mpirun", "jsrun")
    (tmp_path / "nodes").write_text("a\na\nb\nb\n")
    launch("prog", env={"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path / "nodes")})
    assert "a:2,b:2" in fakes.argv
    launch("prog", env={"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "batch1 1 a 2 b 2"})
    assert fakes.argv[:6] == words("--nrs 2 --rs_per_host 1 --tasks_per_rs 2")


@pytest.mark.parametrize("launcher", NAMES)
def test_ranks_find_the_same_under_every_launcher(fakes, launch, launcher):
    fakes.install(NAMES[launcher])
    names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR RONDE__BOOTSTRAP RONDE_TRACE_BYTES"
    script = f"import os\nfor name in '{names}'.split(): print(name + '=' + os.environ.get(name, ''))"
    env = {"FAKE_RUN": "1"}
    if launcher == "jsrun":  # takes its hosts from a job
        where = ["--launcher", launcher]
        env |= {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "batch1 1 a 2 b 2"}
    else:
        where = ["--launcher", launcher, "-H", "a:2,b:2"]
    done = launch(*where, "--bind", "none", "--trace-bytes", "2MiB", sys.executable, "-c", script, env=env)
    assert done.returncode == 0, done.stderr
    for rank in range(4):
        found = re.findall(rf"^\[{rank}\] \w+=(.*)$", done.stdout, re.MULTILINE)
        assert found == [str(rank), "4", str(rank % 2), "2", str(rank // 2), "a", "", "2MiB"]
    assert f"{launcher}: a word of the launcher itself" in done.stderr


def test_a_rank_is_bound_as_on_one_machine(fakes, launch):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core there is nothing to choose from")
    fakes.install("mpirun")
    script = (
        "import os; print(sorted(os.sched_getaffinity(0)), os.environ['OMP_PLACES'], os.environ['OMP_NUM_THREADS'])"
    )
    here = launch("-n", "2", sys.executable, "-c", script)
    there = launch("--launcher", "mpirun", "-H", "a:2", sys.executable, "-c", script, env={"FAKE_RUN": "1"})
    assert sorted(there.stdout.splitlines()) == sorted(here.stdout.splitlines()) != []


def test_the_first_rank_that_fails_is_named_with_its_host(fakes, launch):
    fakes.install("mpiexec")
    script = "import os, sys, time\nif os.environ['RANK'] == '1': print('why'); sys.exit(7)\ntime.sleep(60)"
    done = launch("--launcher", "hydra", "-H", "a:2,b:1", sys.executable, "-c", script, env={"FAKE_RUN": "1"})
    assert done.returncode == 7, done.stderr
    assert re.search(
        rf"--- the last line of rank 1:\n  why\nrank 1 on {os.uname().nodename} failed first: exit code 7\n$",
        done.stderr,
    )


def test_a_rank_that_is_killed(fakes, launch):
    fakes.install("mpirun")
    script = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    done = launch("--launcher", "mpirun", "-H", "a:1", sys.executable, "-c", script, env={"FAKE_RUN": "1"})
    assert done.returncode == 137
    assert done.stderr.endswith("failed first: signal 9 (killed)\n")


def test_a_command_that_is_not_there(fakes, launch):
    fakes.install("mpirun")
    done = launch("--launcher", "mpirun", "-H", "a:2", "no-such-program", env={"FAKE_RUN": "1"})
    assert done.returncode == 2
    assert "[0] ronde: command not found: no-such-program\n" in done.stderr


def test_a_launcher_that_fails_is_named(fakes, launch):
    script = fakes.folder / "mpirun"
    script.write_text("#!/bin/sh\n[ $1 = --version ] && echo '(Open MPI) 4.1.4' && exit\necho no route >&2; exit 3\n")
    script.chmod(0o755)
    done = launch("-H", "a:2", "prog")
    assert done.returncode == 3
    assert done.stderr == "mpirun: no route\nmpirun failed: exit code 3\n"


def test_lines_of_many_ranks_stay_whole(fakes, launch):
    fakes.install("mpirun")
    script = "for i in range(3000): print('x' * 50, i, flush=i % 7 == 0)"
    done = launch(
        "--launcher", "mpirun", "-H", "a:4", "--bind", "none", sys.executable, "-c", script, env={"FAKE_RUN": "1"}
    )
    lines = done.stdout.splitlines()
    for rank in range(4):
        mine = [line for line in lines if line.startswith(f"[{rank}] ")]
        assert mine == [f"[{rank}] {'x' * 50} {i}" for i in range(3000)]
    assert len(lines) == 12000


def test_dry_run_prints_what_can_be_pasted(fakes, launch, ronde, tmp_path):
    fakes.install("mpirun")
    done = launch("-H", "a:1,b:1", "--dry-run", "--trace-bytes", "2MiB", "prog", "two words")
    assert done.returncode == 0, done.stderr
    assert not fakes.log.exists(), "nothing was started"
    assert "# 2 ranks on 2 hosts: a:1 b:1\n" in done.stdout
    assert "\nexport RONDE_TRACE_BYTES=2MiB\n" in done.stdout
    assert re.search(r"^#   rank +cores", done.stdout, re.MULTILINE), done.stdout
    shell = subprocess.run(["/bin/sh", "-c", done.stdout], env=fakes.env, capture_output=True, text=True, timeout=60)
    assert (shell.returncode, shell.stdout) == (0, ""), shell.stderr
    assert fakes.argv[-3:] == ["--", "prog", "two words"]
    assert fakes.launcher_env["RONDE_TRACE_BYTES"] == "2MiB"


def test_dry_run_on_one_machine_is_a_line_a_rank(fakes, launch):
    done = launch("-n", "2", "--dry-run", "prog")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^env .*(?:\\\n.*)*LOCAL_RANK=\d.*(?:\\\n.*)* prog$", done.stdout, re.MULTILINE)) == 2


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-H", "a:2,b:2", "-n", "5", "prog"], ["5 ranks", "4 slots of 2 hosts", "--oversubscribe"]),
        (["-H", "a:x", "prog"], ["-H a:x", "slots"]),
        (["--hostfile", "none", "prog"], ["none", "No such file"]),
        (["-H", "a:2", "prog"], ["there is none on the PATH", "openmpi-bin"]),
        (["-H", "a:2", "--launcher", "ssh", "prog"], ["--launcher ssh", "hydra"]),
        (["-H", "a:2", "--launcher", "srun", "prog"], ["--launcher srun", "not on the PATH"]),
        (["-H", "a:2", "--hostfile", "x", "prog"], ["cannot be used together"]),
        (["-H", "a:2", "--mpi-args", "'open", "prog"], ["--mpi-args", "missing closing"]),
    ],
)
def test_wrong_input_is_one_sentence(launch, arguments, parts):
    done = launch(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ronde: ") and done.stderr.count("\n") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def test_srun_that_cannot_start_open_mpi_is_a_sentence(fakes, launch, ronde):
    if "Open MPI" not in ronde("info").stdout:
        pytest.skip("the MPI library of this build is not Open MPI")
    fakes.install("srun")
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_END_TIME": "99999999999"}
    done = launch("--mpi-args=--mpi=pmi2", "prog", env=slurm)
    assert done.returncode == 2
    assert "'srun --mpi=pmi2' does not start Open MPI" in done.stderr
    done = launch("prog", env=slurm | {"FAKE_MPI_TYPES": "none\npmi2"})
    assert done.returncode == 2
    assert "srun cannot start Open MPI here" in done.stderr


def test_start_rank_is_for_launchers(ronde, no_batch):
    done = ronde("start-rank", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'ronde start-rank' is for launchers" in done.stderr
    assert "start-rank" not in ronde("--help").stdout
