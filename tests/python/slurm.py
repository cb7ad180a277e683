"""A Slurm of one node with four cpus, for tests: munged, slurmctld and slurmd in a folder of their own."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

from job import TEST_TIMEOUT, wait_until

DAEMONS = ("munged", "slurmctld", "slurmd")
# Debian keeps these in a folder that an ordinary user's path lacks.
PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"

CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# The node says how many cpus there are, whatever the machine has.
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=4
PartitionName=test Nodes=ALL Default=YES State=UP
"""


def why_not() -> str:
    """Why this machine cannot have a Slurm; empty when it can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    missing = [program for program in (*DAEMONS, "srun", "sbatch", "setpriv") if not shutil.which(program, path=PATH)]
    return f"there is no {missing[0]} (Debian: slurm-wlm, munge, util-linux)" if missing else ""


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in sockets]


class Slurm:
    def __init__(self, folder: pathlib.Path, env: dict[str, str]):
        self.folder = folder
        self.env = env | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "key").write_bytes(os.urandom(128))
        (folder / "key").chmod(0o400)
        config = CONFIG.format(host=socket.gethostname(), ports=free_ports(2), folder=folder)
        (folder / "slurm.conf").write_text(config)
        self._daemons: list[subprocess.Popen] = []

    def start(self) -> None:
        files = {name: self.folder / f"munge.{name}" for name in ("socket", "pid", "log", "seed")}
        flags = [f"--{name if name == 'socket' else f'{name}-file'}={file}" for name, file in files.items()]
        # By force: a test's folder is closed to others, which munged would refuse.
        self._daemon("munged", "--foreground", "--force", f"--key-file={self.folder / 'key'}", *flags)
        wait_until(files["socket"].exists, "munged's socket")
        self._daemon("slurmctld", "-D", "-c")
        self._daemon("slurmd", "-D", "-c")
        wait_until(
            lambda: self.tell("sinfo", "--noheader", "-o", "%T").stdout == "idle\n", lambda: f"a node: {self.logs()}"
        )

    def _daemon(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.log").open("wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            # They go with us, even when we are killed.
            words = ["setpriv", "--pdeathsig", "TERM", *command]
            self._daemons.append(subprocess.Popen(words, env=self.env, **streams, start_new_session=True))

    def logs(self) -> str:
        return "".join((self.folder / f"{name}.log").read_text(errors="replace")[-2000:] for name in DAEMONS)

    def tell(self, *command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """srun, sinfo, ...: runs to its end."""
        streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(command, env=self.env | (env or {}), timeout=TEST_TIMEOUT, **streams)

    def srun(self, mpi: str, tasks: int, *program: str, env: dict[str, str] | None = None):
        return self.tell("srun", "--quiet", f"--mpi={mpi}", f"--ntasks={tasks}", "--label", *program, env=env)

    def sbatch(self, tasks: int, script: str) -> tuple[int, str]:
        """Exit code and output of a batch job. Its end is asked for here: `sbatch --wait` looks every ten seconds."""
        output = self.folder / f"job{time.monotonic_ns()}"
        file = output.with_suffix(".sh")
        file.write_text(f"#!/bin/sh\n{script}\necho exit code $? >{output}.code\n")
        done = self.tell("sbatch", f"--ntasks={tasks}", f"--output={output}", str(file))
        assert done.returncode == 0, done.stderr
        code = pathlib.Path(f"{output}.code")
        wait_until(lambda: code.exists() and code.read_text().endswith("\n"), lambda: f"the job: {self.logs()}")
        return int(code.read_text().split()[-1]), output.read_text()

    def stop(self) -> None:
        self.tell("scancel", "--signal=KILL", "--full", "--user=root")
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(TEST_TIMEOUT)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
