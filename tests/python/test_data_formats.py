"""`ronde data convert`: files of one format become another, whole or not at all; errors are one sentence."""

import pathlib
import signal
import struct
import subprocess
import time

import pytest

CSV = "height,width,class\n1,2,dog\n3.5,4,cat\n-5,6e3,dog\n"


@pytest.fixture
def table(tmp_path) -> pathlib.Path:
    (tmp_path / "table.csv").write_text(CSV)
    return tmp_path / "table.csv"


def names(folder: pathlib.Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != "cache"}


@pytest.mark.parametrize("middle", ["tfrecord", "lmdb", "hdf5", "npy", "pack"])
def test_a_table_goes_through_every_format_and_back(ronde, tmp_path, table, middle):
    to = ronde("data", "convert", "table.csv", "middle.h5" if middle == "hdf5" else "middle", "--to", middle)
    assert to.returncode == 0, to.stderr
    assert "3 samples" in to.stdout
    back = ronde("data", "convert", "middle.h5" if middle == "hdf5" else "middle", "back.csv", "--to", "csv")
    assert back.returncode == 0, back.stderr
    lines = (tmp_path / "back.csv").read_text().splitlines()
    header = lines[0].split(",")
    rows = [dict(zip(header, line.split(","), strict=True)) for line in lines[1:]]
    found = {(float(row["features.0"]), float(row["features.1"]), row["class"]) for row in rows}
    assert found == {(1, 2, "dog"), (3.5, 4, "cat"), (-5, 6000, "dog")}


def test_what_is_there_is_not_written_over(ronde, tmp_path, table):
    (tmp_path / "there").mkdir()
    done = ronde("data", "convert", "table.csv", "there", "--to", "npy")
    assert done.returncode == 2
    assert done.stderr.strip().endswith("there already exists and is not overwritten")


def test_half_of_it_is_taken_away(ronde, tmp_path, table):
    table.write_text(CSV + "x,1,dog\n")
    done = ronde("data", "convert", "table.csv", "out", "--to", "tfrecord")
    assert done.returncode == 2
    assert "table.csv: line 5: field 1 ('height') must be a number, got 'x'" in done.stderr
    assert names(tmp_path) == {"table.csv"}


@pytest.mark.parametrize("to", ["tfrecord", "npy"])
def test_a_killed_conversion_goes_on_with_the_same_bytes(ronde, build_dir, clean_env, tmp_path, to):
    header = repr({"descr": "|u1", "fortran_order": False, "shape": (100, 1_000_000)})
    with open(tmp_path / "x.npy", "wb") as file:  # mostly a hole: reading it is fast, writing it is not
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode().ljust(117) + b"\n")
        file.truncate(128 + 100_000_000)
    command = [build_dir / "ronde", "data", "convert", "x.npy", "again", "--to", to]
    killed = subprocess.Popen(command, env=clean_env, cwd=tmp_path)
    while not (tmp_path / ".part-again.json").exists() and killed.poll() is None:
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "again").exists()
    other = ronde("data", "convert", "x.npy", "again", "--to", "hdf5")
    assert other.returncode == 2
    assert "again was started from 100 samples of x.npy" in other.stderr and "--overwrite" in other.stderr
    done = ronde("data", "convert", "x.npy", "again", "--to", to)
    assert done.returncode == 0, done.stderr
    assert "resumed after sample" in done.stdout
    assert ronde("data", "convert", "x.npy", "whole", "--to", to, "--data-threads", "1").returncode == 0
    files = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == files
    for name in files:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert names(tmp_path) == {"x.npy", "again", "whole"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["table.csv", "out", "--to", "hdf"], "cannot write the format 'hdf'; did you mean hdf5?"),
        (["table.csv", "out"], "missing --to FORMAT"),
        (["none.csv", "out", "--to", "npy"], "none.csv"),
        (["table.csv/x.npy", "out", "--to", "csv"], "x.npy"),
        (["table.csv", "table.csv/x", "--to", "npy"], "cannot write"),
    ],
)
def test_wrong_words_are_one_sentence(ronde, tmp_path, table, arguments, message):
    done = ronde("data", "convert", *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert names(tmp_path) == {"table.csv"}


def test_a_damaged_record_and_a_missing_shard_are_named(ronde, tmp_path, table):
    assert ronde("data", "convert", "table.csv", "a.tfrecord", "--to", "tfrecord").returncode == 0
    whole = (tmp_path / "a.tfrecord").read_bytes()
    (length,) = struct.unpack_from("<Q", whole)
    damaged = bytearray(whole)
    damaged[16 + length + 20] ^= 1  # in the second record
    (tmp_path / "b.tfrecord").write_bytes(damaged)
    done = ronde("data", "convert", "b.tfrecord", "out", "--to", "npy")
    assert done.returncode == 2
    assert f"b.tfrecord: byte {16 + length + 12}: the checksum of a record does not match" in done.stderr
    (tmp_path / "c.tfrecord").write_bytes(whole[:-1])
    done = ronde("data", "convert", "c.tfrecord", "out", "--to", "npy")
    assert done.returncode == 2
    assert f"c.tfrecord: the file ends at byte {len(whole) - 1}, inside the record" in done.stderr
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "t-00001-of-00003").write_bytes(whole)
    done = ronde("data", "convert", "set", "out", "--to", "npy")
    assert done.returncode == 2
    assert "shard t-00000-of-00003 is missing; 1 of 3 are there" in done.stderr
