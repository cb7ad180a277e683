"""`ronde run --stage` and `--unstage`: data on the node before the start, results back after the end."""

import os
import pathlib
import shutil
import stat
import subprocess

import pytest
from job import TEST_TIMEOUT, alive, wait_until

pytest_plugins = ["job_fixtures"]


@pytest.fixture
def scratch(tmp_path) -> pathlib.Path:
    """Storage of the node, for tests."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def env(scratch) -> dict[str, str]:
    return {"TMPDIR": str(scratch), "USER": "ann", "SLURM_TMPDIR": ""}


@pytest.fixture
def data(tmp_path) -> pathlib.Path:
    """A small data set."""
    folder = tmp_path / "data"
    (folder / "train/cats").mkdir(parents=True)
    for i in range(20):
        (folder / f"train/cats/{i}.txt").write_text(f"cat {i}\n" * 100)
    (folder / "labels").write_text("0 1\n")
    (folder / "link").symlink_to("labels")
    return folder


def same(a: pathlib.Path, b: pathlib.Path) -> bool:
    return subprocess.run(["diff", "-r", "--no-dereference", a, b], capture_output=True).returncode == 0


def test_a_folder_is_copied_once_and_found_the_next_time(run, data, scratch, env):
    arguments = (
        "-n",
        "2",
        "--stage",
        "data",
        "bash",
        "-c",
        "echo $STAGE_DIR $STAGE_DIR_DATA {stage} $(cat {stage}/labels)",
    )
    place = scratch / "ronde-ann/data"
    done = run(*arguments, env=env)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{rank}] {place} {place} {place} 0 1" for rank in (0, 1)]
    assert f"data is staged: {place}, 13 KiB in 21 files, took" in done.stderr
    assert "ranks find it as $STAGE_DIR\n" in done.stderr
    assert same(data, place)
    assert stat.S_IMODE((scratch / "ronde-ann").stat().st_mode) == 0o700, "others need not see it"

    again = run(*arguments, env=env)
    assert again.stderr == f"data is already staged: {place}; ranks find it as $STAGE_DIR\n"


@pytest.mark.parametrize("change", ["source", "copy", "lost", "more"])
def test_what_has_changed_is_staged_anew(run, data, scratch, env, change):
    place = scratch / "ronde-ann/data"
    run("-n", "1", "--stage", "data", "true", env=env)
    if change == "source":
        (data / "labels").write_text("0 1 2\n")
    elif change == "copy":
        (place / "labels").write_text("9 9\n")
    elif change == "lost":
        (place / "train/cats/7.txt").unlink()
    else:
        (data / "new").write_text("new\n")
    done = run("-n", "1", "--stage", "data", "true", env=env)
    assert "data is staged: " in done.stderr
    assert same(data, place)


def test_what_was_not_staged_is_never_removed(run, data, scratch, env):
    place = scratch / "ronde-ann/data"
    place.mkdir(parents=True)
    (scratch / "ronde-ann").chmod(0o700)
    (place / "thesis").write_text("years of work\n")
    refused = run("-n", "1", "--stage", "data", "true", env=env)
    assert refused.returncode == 2 and "was not staged" in refused.stderr
    shutil.rmtree(place)
    assert run("-n", "1", "--stage", "data", "true", env=env).returncode == 0
    (place / "thesis").write_text("years of work\n")
    assert "already staged" in run("-n", "1", "--stage", "data", "true", env=env).stderr, "more there does no harm"
    (data / "labels").write_text("changed\n")
    refused = run("-n", "1", "--stage", "data", "true", env=env)
    assert refused.returncode == 2 and "such as thesis" in refused.stderr
    assert (place / "thesis").read_text() == "years of work\n"


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "tar.zst", "tar.bz2", "zip"])
def test_archives_are_unpacked(run, data, scratch, env, tmp_path, ending):
    program = {"tar.zst": "zstd", "tar.bz2": "bzip2", "zip": "unzip"}.get(ending, "tar")
    if not shutil.which(program) or (ending == "zip" and not shutil.which("zip")):
        pytest.skip(f"{program} is not installed")
    archive = tmp_path / f"pets.{ending}"
    make = ["zip", "-qry", archive, "."] if ending == "zip" else ["tar", "-caf", archive, "."]
    subprocess.run(make, cwd=data, check=True)
    done = run("-n", "1", "--stage", archive.name, "cat", "{stage:pets}/labels", env=env)
    assert done.stdout == "[0] 0 1\n", done.stderr
    assert same(data, scratch / "ronde-ann/pets")
    assert "already staged" in run("-n", "1", "--stage", archive.name, "true", env=env).stderr


def test_an_archive_that_is_broken_leaves_nothing(run, scratch, env, tmp_path):
    (tmp_path / "bad.tar.gz").write_bytes(b"this is no archive" * 1000)
    done = run("-n", "1", "--stage", "bad.tar.gz", "true", env=env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ronde: cannot unpack ") and "bad.tar.gz" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1
    assert [each for each in os.listdir(scratch / "ronde-ann") if not each.endswith(".lock")] == []


def test_a_missing_program_is_named(run, env, tmp_path):
    (tmp_path / "x.zip").write_bytes(b"PK")
    bash = pathlib.Path(shutil.which("bash"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/true").symlink_to(bash)
    done = run("-n", "1", "--stage", "x.zip", "true", env=env | {"PATH": str(tmp_path / "bin")})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unzip is needed to unpack" in done.stderr


def test_one_file_and_names_and_places(run, data, scratch, env, tmp_path):
    (tmp_path / "weights.h5").write_text("weights")
    done = run("-n", "1", "--stage", "weights.h5", "cat", "{stage}", env=env)
    assert done.stdout == "[0] weights\n"
    assert (scratch / "ronde-ann/weights.h5").is_file()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    flags = ("--stage", "data:pets", "--stage", f"weights.h5:{elsewhere}/w", "--stage-to", str(elsewhere))
    done = run("-n", "1", *flags, "bash", "-c", "echo $STAGE_DIR $STAGE_DIR_PETS $STAGE_DIR_W; cat {stage:w}", env=env)
    assert done.stdout == f"[0] {elsewhere}/ronde-ann/pets {elsewhere}/ronde-ann/pets {elsewhere}/w\n[0] weights\n"
    assert "ranks find it as $STAGE_DIR_PETS\n" in done.stderr


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--stage", "nowhere"], ["--stage nowhere", "no such file"]),
        (["--stage", "data", "--stage", "data"], ["two items are called data"]),
        (["--stage", "data:"], ["--stage data:"]),
        (["--stage", "data:a/b"], ["a name or an absolute path"]),
        (["--stage", "data", "--stage-to", "/no/such"], ["/no/such cannot be written to", "--stage-to"]),
        (["--stage", "data:/no/such/place"], ["/no/such cannot be written to"]),
        (["--unstage", ":x"], ["--unstage"]),
    ],
)
def test_wrong_input_is_one_sentence(run, data, env, flags, parts):
    done = run("-n", "1", *flags, "true", env=env)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    for part in parts:
        assert part in done.stderr


def test_no_room_is_said_before_anything_is_copied(run, env, tmp_path):
    size = 8 << 40
    if any(shutil.disk_usage(folder).free > size for folder in (tmp_path, "/tmp")):
        pytest.skip("there is room for everything here")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(size)
    done = run("-n", "1", "--stage", "huge", "true", env=env)
    assert done.returncode == 2
    assert (
        "not enough space on this node for" in done.stderr
        and "/tmp has" in done.stderr
        and "scratch has" in done.stderr
    )


def test_a_command_that_is_not_there_is_found_before_the_copying(run, data, scratch, env):
    done = run("-n", "1", "--stage", "data", "no-such-program", env=env)
    assert done.returncode == 2 and "command not found" in done.stderr
    assert os.listdir(scratch) == []
    wrong = run("-n", "1", "--stage", "data", "echo", "{stage:dada}", env=env)
    assert wrong.returncode == 2 and "{stage:dada}" in wrong.stderr


@pytest.fixture
def slow_tar(tmp_path, env) -> dict[str, str]:
    """An environment in which unpacking takes until the file `go` is there, and is counted."""
    folder = tmp_path / "slow"
    folder.mkdir()
    script = folder / "tar"
    script.write_text(
        "#!/bin/bash\ncat >/dev/null\nfor word; do case $word in --directory=*) cd ${word#*=};; esac; done\n"
        f"echo part >content; echo >>{tmp_path}/count; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done\n"
    )
    script.chmod(0o755)
    (tmp_path / "slow.tar").write_bytes(b"x" * 1000)
    return env | {"PATH": f"{folder}:{os.environ['PATH']}"}


def start_staging(build_dir, clean_env, slow_tar, mark, tmp_path, **options):
    return subprocess.Popen(
        [
            build_dir / "ronde",
            "run",
            "-n",
            "1",
            "--log-level",
            "error",
            "--stage",
            "slow.tar",
            "cat",
            "{stage}/content",
        ],
        env=clean_env | slow_tar | {"JOB_MARK": mark},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("signal", [2, 15, 9])
def test_staging_that_is_interrupted_leaves_nothing(build_dir, clean_env, slow_tar, mark, tmp_path, scratch, signal):
    place = scratch / "ronde-ann"
    job = start_staging(build_dir, clean_env, slow_tar, mark, tmp_path)
    wait_until(lambda: (place / ".slow.partial/content").exists(), "the beginning")
    os.kill(job.pid, signal)
    out, err = job.communicate(timeout=TEST_TIMEOUT)
    assert out == ""
    if signal != 9:
        assert job.returncode == 128 + signal
        assert err.startswith(f"staging stopped by signal {signal} ")
    wait_until(lambda: not alive(mark), "the end of all")
    assert os.listdir(place) == [".slow.lock"]


def test_two_jobs_stage_once(build_dir, clean_env, slow_tar, mark, tmp_path, scratch):
    jobs = [start_staging(build_dir, clean_env, slow_tar, mark, tmp_path) for _ in range(2)]
    wait_until(lambda: (scratch / "ronde-ann/.slow.partial/content").exists(), "the beginning")
    (tmp_path / "go").touch()
    ends = [job.communicate(timeout=TEST_TIMEOUT) for job in jobs]
    assert [out for out, _ in ends] == ["[0] part\n"] * 2
    assert sorted("already" in err for _, err in ends) == [False, True], ends
    assert (tmp_path / "count").read_text() == "\n", "unpacked once"


def test_the_rest_of_one_who_was_killed_is_swept_away(run, data, scratch, env):
    partial = scratch / "ronde-ann/.data.partial"
    partial.mkdir(parents=True)
    (partial / "junk").write_text("junk")
    assert run("-n", "1", "--stage", "data", "true", env=env).returncode == 0
    assert not partial.exists()
    assert same(data, scratch / "ronde-ann/data")


def test_results_are_brought_back_also_when_the_job_fails(run, scratch, env, tmp_path):
    script = "mkdir -p {unstage}/logs; echo rank $RANK > $UNSTAGE_DIR/logs/$RANK; [ $RANK = 0 ] || exit 4; sleep 1"
    (tmp_path / "results").mkdir()
    (tmp_path / "results/older").write_text("stays")
    done = run("-n", "2", "--unstage", "results", "bash", "-c", script, env=env)
    assert done.returncode == 4
    assert (tmp_path / "results/logs/1").read_text() == "rank 1\n"
    assert (tmp_path / "results/older").read_text() == "stays"
    assert f"results was copied back to {tmp_path}/results: " in done.stderr
    assert os.listdir(scratch / "ronde-ann") == [], "and removed from the node"


def test_results_elsewhere_and_none_at_all(run, scratch, env, tmp_path):
    done = run("-n", "1", "--unstage", "res:back/here", "bash", "-c", "echo 1 > {unstage:res}/x", env=env)
    assert (tmp_path / "back/here/x").read_text() == "1\n", done.stderr
    none = run("-n", "1", "--unstage", "res:back/none", "true", env=env)
    assert none.returncode == 0 and "left no results in" in none.stderr
    assert not (tmp_path / "back/none").exists()
    full = tmp_path / "by-itself"
    done = run("-n", "1", "--unstage", f"{full}:copy", "bash", "-c", "mkdir {unstage}; echo 2 > {unstage}/y", env=env)
    assert (tmp_path / "copy/y").read_text() == "2\n", done.stderr
    assert (full / "y").exists(), "what was not made for the job stays"


def test_results_that_cannot_be_brought_back_stay(run, scratch, env, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run("-n", "1", "--unstage", "res:file/x", "bash", "-c", "echo 1 > {unstage}/x", env=env)
    assert done.returncode == 1
    assert "they are still in" in done.stderr
    (kept,) = (scratch / "ronde-ann").iterdir()
    assert (kept / "x").read_text() == "1\n"
    both = run("-n", "1", "--unstage", "res:file/x", "bash", "-c", "echo 1 > {unstage}/x; exit 6", env=env)
    assert both.returncode == 6, "what the job has to say is worth more"
    assert "they are still in" in both.stderr


def test_once_a_node_by_a_command_of_its_own(ronde, data, scratch, env, tmp_path):
    done = ronde("stage", "--job", "17", "--stage", "data", "--unstage", "res", env=env)
    found = dict(line.split("=") for line in done.stdout.splitlines())
    assert found == {
        "STAGE_DIR": f"{scratch}/ronde-ann/data",
        "STAGE_DIR_DATA": f"{scratch}/ronde-ann/data",
        "UNSTAGE_DIR": f"{scratch}/ronde-ann/res-17",
        "UNSTAGE_DIR_RES": f"{scratch}/ronde-ann/res-17",
    }
    (pathlib.Path(found["UNSTAGE_DIR"]) / "x").write_text("1")
    back = ronde("stage", "--job", "17", "--unstage", "res", "--back", "--host-folders", env=env)
    assert back.returncode == 0, back.stderr
    assert (tmp_path / "res" / os.uname().nodename / "x").read_text() == "1"
