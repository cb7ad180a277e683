"""A cluster of network namespaces (tests/cluster), for tests: ranks on several hosts, and cables that can be cut."""

import contextlib
import os
import pathlib
import re
import subprocess
import uuid

from job import TEST_TIMEOUT, Job

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "cluster"


def why_not() -> str:
    """Why this machine cannot have a cluster; empty when it can."""
    return subprocess.run([SCRIPT, "check"], capture_output=True, text=True, timeout=TEST_TIMEOUT).stderr.strip()


class Cluster:
    """Hosts node1, node2, ...; gone when the test is over, and when it has died, with the next cluster."""

    def __init__(self, hosts: int, env: dict[str, str], folder: pathlib.Path):
        self.name = f"t{uuid.uuid4().hex[:8]}"
        self.hosts = [f"node{number}" for number in range(1, hosts + 1)]
        self.folder = folder
        self.env = env | {"CLUSTER": self.name, "CLUSTER_OWNER": str(os.getpid())}
        self._jobs: list[Job] = []
        self.tell("up", str(hosts))

    def tell(self, *words: str) -> None:
        done = subprocess.run([SCRIPT, *words], env=self.env, capture_output=True, text=True, timeout=TEST_TIMEOUT)
        assert done.returncode == 0, done.stderr

    def execute(self, host: str, *command: str, timeout: float = TEST_TIMEOUT) -> subprocess.CompletedProcess:
        words = [SCRIPT, "exec", host, *command]
        return subprocess.run(words, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=timeout)

    def start(self, *program: str, ranks: int = 2, mpi: str = "openmpi", recovery: bool = False) -> Job:
        """`ranks` a host under mpirun, each line with its rank in front (`text_of`). Returns at once."""
        flags = {"openmpi": ["--tag-output"], "mpich": ["-prepend-rank"]}[mpi]
        if mpi == "openmpi":  # hydra passes everything on by itself
            flags += [word for name in self.env if name.startswith("RONDE_") for word in ("-x", name)]
        # Otherwise the launcher ends all ranks as soon as one dies, and nobody hears what they have to say.
        flags += {"openmpi": ["--enable-recovery"], "mpich": ["-disable-auto-cleanup"]}[mpi] if recovery else []
        words = ["-n", str(ranks), "-m", mpi, *(f"-f{flag}" for flag in flags), *program]
        self._jobs.append(Job(SCRIPT, self.env, self.folder, tuple(words)))
        return self._jobs[-1]

    def pids(self, host: str) -> list[int]:
        """The processes on a host, in the order of their starts."""
        listed = subprocess.run(["ip", "netns", "pids", f"{self.name}-{host}"], capture_output=True, text=True)
        return sorted(map(int, listed.stdout.split()))

    def ranks_on(self, host: str, program: str) -> list[int]:
        """The processes on a host that run a program of this name."""
        found = []
        for pid in self.pids(host):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe").rpartition("/")[2] == program:
                    found.append(pid)
        return found

    def down(self) -> None:
        subprocess.run([SCRIPT, "down"], env=self.env, check=True, timeout=TEST_TIMEOUT)
        for job in self._jobs:
            job.process.kill()
            job.process.wait()


def text_of(output: str, rank: int) -> str:
    """What a rank has said, from the output of either mpirun."""
    return "".join(re.findall(rf"^\[(?:1,)?{rank}\](?:<std\w+>:)? ?(.*\n)", output, re.MULTILINE))


def complaints(job: Job) -> str:
    """What a job has written to stderr, without a race of mpirun's own that means nothing."""
    return "".join(line for line in job.err.splitlines(True) if "plm:rsh: Warning: setpgid" not in line)
