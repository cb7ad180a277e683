"""The preflight of `ronde run --check`: what its ranks find out and say."""

import re

import pytest
from cluster import text_of

pytest_plugins = ["job_fixtures", "cluster_fixtures"]


@pytest.fixture
def check(run, build_dir):
    """The preflight of a job on this machine; lines without the number of the rank in front."""

    def check(ranks: int, *command: str, env: dict[str, str] | None = None):
        words = ("-n", str(ranks), "--bind=none", "--", str(build_dir / "ronde"), "check-rank", "--", *command)
        done = run(*words, env=env)
        return done.returncode, re.sub(r"^\[0\] ", "", done.stdout, flags=re.MULTILINE).splitlines(), done.stderr

    return check


def test_a_machine_that_is_well(check):
    code, lines, errors = check(3, "sh", "-c", "true")
    assert (code, errors) == (0, ""), lines
    for title in ("node", "ranks", "cores", "memory free", "GPUs", "clock", "most latency", "least bandwidth"):
        assert title in lines[0]
    assert lines[1].split()[1] == "0-2"
    assert lines[2].startswith("start-up took at most ")
    assert lines[-1] == "check: all is well with 3 ranks on 1 node"


def test_links_between_nodes_are_measured(check):
    code, lines, errors = check(3, env={"RONDE_TOPOLOGY_PRETEND_NODES": "3"})
    # They share a machine: who is slow there is a matter of luck.
    assert code == 0 or all("link" in line for line in lines if line.startswith("wrong")), (lines, errors)
    for line in lines[1:4]:
        assert re.search(r"[mun]?s \(.*\) +[\d.]+ [MG]B/s \(", line)
    assert "with 3 ranks on 3 nodes" in lines[-1]


def test_a_program_that_is_not_there(check):
    code, lines, errors = check(2, "no-such-program", "--flag")
    assert code == 1
    assert "wrong: program no-such-program is missing on all nodes" in lines
    assert lines[-1].startswith("check: one thing is wrong with 2 ranks on 1 node: program no-such-program")
    assert "rank 0" in errors


def test_a_slow_cable_is_named(cluster, mpi, build_dir):
    three = cluster(3)
    three.tell("limit", "node3", "100mbit")
    job = three.start(str(build_dir / "ronde"), "check-rank", ranks=1, mpi=mpi)
    assert job.wait() == 1, job.out + job.err
    said = text_of(job.out, 0)
    # On a busy machine other links may be late as well; none of them is as slow as this.
    assert re.search(r"^wrong: every link of node3 is slow: 1\d(\.\d)? MB/s, but the best reaches", said, re.MULTILINE)
    assert re.search(r"^check: .* wrong with 3 ranks on 3 nodes.*\n\Z", said, re.MULTILINE)
