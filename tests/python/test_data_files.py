"""`ronde data pack`, `inspect` and `verify` on image folders, tar files and packs, and how bad ones are refused."""

import io
import json
import pathlib
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import zlib

import pytest
from test_cli import refused


def png(shade: int, side: int = 16) -> bytes:
    """A grey picture, made here: no library is needed."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes((shade + x * y) % 256 for x in range(side)) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def pictures(tmp_path) -> pathlib.Path:
    """30 pictures of 3 classes."""
    for i in range(30):
        folder = tmp_path / "pictures" / f"class{i % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:03}.png").write_bytes(png(i))
    return tmp_path / "pictures"


def inspect(ronde, path) -> dict:
    done = ronde("data", "inspect", str(path), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_image_folder(ronde, pictures):
    found = inspect(ronde, pictures)
    assert (found["format"], found["samples"]) == ("images", 30)
    assert found["classes"] == ["class0", "class1", "class2"]
    assert {array["name"]: array["type"] for array in found["arrays"]} == {
        "class": "i64",
        "image": "u8[?]",
        "key": "u8[14]",
    }
    assert found["keys"][0] == "class0/000.png"
    assert (pictures / ".ronde-index").is_file()
    text = ronde("data", "inspect", str(pictures)).stdout
    assert "3: class0, class1, class2" in text
    assert "no errors found" in ronde("data", "verify", str(pictures), "--decode").stdout


def test_a_pack_holds_the_pictures(ronde, pictures, tmp_path):
    done = ronde("data", "pack", "pictures", "packed", "--shuffle", "--seed", "7", "--shard-size", "2KiB")
    assert done.returncode == 0, done.stderr
    assert "30 samples in" in done.stdout
    found = inspect(ronde, "packed")
    assert (found["format"], found["samples"]) == ("pack", 30)
    assert found["classes"] == ["class0", "class1", "class2"]
    assert found["files"] > 3
    assert found["keys"] != sorted(found["keys"])
    assert ronde("data", "verify", "packed").returncode == 0
    assert "was already complete" in ronde("data", "pack", *done.args[3:]).stdout
    refused(ronde("data", "pack", "pictures", "packed"), "holds another pack")


def test_smaller_pictures(ronde, pictures):
    assert ronde("data", "pack", "pictures", "small", "--short-side", "8").returncode == 0
    found = inspect(ronde, "small")
    assert found["bytes"]["max"] < 2000
    assert ronde("data", "verify", "small", "--decode").returncode == 0
    raw = pathlib.Path(pictures.parent / "small" / "data-00000.pack").read_bytes()
    assert raw.count(b"\xff\xd8\xff") == 30 and b"\xff\xc2" not in raw[:200]  # JPEGs, and not progressive ones


def test_a_killed_pack_goes_on_with_the_same_bytes(ronde, build_dir, clean_env, pictures, tmp_path):
    for i in range(2000):  # enough to be killed half way
        shutil.copyfile(pictures / "class0" / "000.png", pictures / "class1" / f"more{i}.png")
    command = ["data", "pack", "pictures", "DEST", "--short-side", "12", "--shard-size", "4KiB", "--data-threads", "1"]

    def words(folder: str) -> list[str]:
        return [folder if word == "DEST" else word for word in command]

    killed = subprocess.Popen([build_dir / "ronde", *words("again")], env=clean_env, cwd=tmp_path)
    deadline = time.monotonic() + 20
    while not (tmp_path / "again" / "data-00003.pack").exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    refused(ronde("data", "inspect", "again"), "is not finished")
    done = ronde(*words("again"))
    assert done.returncode == 0, done.stderr
    assert "resumed after sample" in done.stdout
    assert ronde(*words("whole")).returncode == 0
    files, again = [
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("whole", "again")
    ]
    assert sorted(files) == sorted(again)
    assert [name for name in files if files[name] != again[name]] == []


def test_bad_pictures_are_named(ronde, pictures):
    (pictures / "class1" / "empty.png").write_bytes(b"")
    (pictures / "class2" / "text.jpg").write_bytes(b"hello")
    done = ronde("data", "verify", "pictures")
    assert done.returncode == 1
    assert "bad: pictures/class1/empty.png: the picture is an empty file" in done.stdout
    assert "pictures/class2/text.jpg" in done.stdout and "2 bad" in done.stdout
    done = ronde("data", "pack", "pictures", "packed")
    assert done.returncode == 0 and "left out: 2 bad samples" in done.stdout
    assert [one["where"] for one in json.loads((pictures.parent / "packed/pack.json").read_text())["skipped"]] == [
        "pictures/class1/empty.png",
        "pictures/class2/text.jpg",
    ]
    refused(ronde("data", "pack", "pictures", "other", "--data-on-error", "stop"), "pictures/class1/empty.png")


def test_damage_is_found_and_named(ronde, pictures, tmp_path):
    assert ronde("data", "pack", "pictures", "packed", "--shard-size", "2KiB").returncode == 0
    shard = tmp_path / "packed" / "data-00001.pack"
    good = shard.read_bytes()
    shard.write_bytes(good[:100] + b"?" + good[101:])
    done = ronde("data", "verify", "packed", "--json")
    assert done.returncode == 1
    bad = json.loads(done.stdout)["bad"]
    assert [one["why"] for one in bad] == [
        "packed/data-00001.pack: byte 64: the checksum of record 0 does not match",
        "the checksum of the file differs from that in pack.json",
    ]
    shard.write_bytes(good[:8] + b"\2" + good[9:])
    assert "this Ronde reads up to version 1" in ronde("data", "verify", "packed").stdout
    shard.write_bytes(good[:-7])
    refused(ronde("data", "verify", "packed"), "it was cut off or changed")
    shard.unlink()
    refused(ronde("data", "verify", "packed"), "packed/data-00001.pack does not exist")


def test_tars_of_another_program(ronde, pictures, tmp_path):
    for shard in range(2):
        with tarfile.open(tmp_path / f"t-{shard}.tar", "w", format=tarfile.GNU_FORMAT) as tar:
            for i in range(5):
                name = "deep/" * 25 + f"{shard}{i}"
                for ending, body in (("png", png(i)), ("cls", str(i).encode()), ("json", b"{}")):
                    info = tarfile.TarInfo(f"{name}.{ending}")
                    info.size = len(body)
                    tar.addfile(info, io.BytesIO(body))
    found = inspect(ronde, "t-{0..1}.tar")
    assert (found["format"], found["samples"], found["files"]) == ("tar", 10, 2)
    assert [array["name"] for array in found["arrays"]] == ["class", "image", "json", "key"]
    assert ronde("data", "verify", "t-{0..1}.tar").returncode == 0
    assert ronde("data", "pack", "t-{0..1}.tar", "packed").returncode == 0
    assert inspect(ronde, "packed")["keys"][0].endswith("deep/00")
    refused(ronde("data", "inspect", "t-{0..2}.tar"), "t-2.tar does not exist, but 't-{0..2}.tar' names it")
    whole = (tmp_path / "t-0.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:1550])
    refused(ronde("data", "inspect", "cut.tar"), "cut.tar: the file ends at byte 1550, inside")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("inspect", "nowhere"), "nowhere does not exist"),
        (("inspect", "."), "has no class folders"),
        (("inspect", "pictures", "--format", "imges"), "did you mean 'images'?"),
        (("inspec", "pictures"), "did you mean inspect?"),
        (("verify", "pictures", "--jso"), "did you mean --json?"),
        (("pack", "pictures"), "missing output folder"),
        (("pack", "pictures", "p", "--short-side", "0"), "--short-side 0: write a whole number"),
        (("pack", "pictures", "p", "--shard-size", "3"), "shard size must be from"),
        (("pack", "pictures", "p", "--seed", "3"), "--seed needs --shuffle"),
    ],
)
def test_wrong_words(ronde, pictures, words, sentence):
    if words[1] == ".":
        (pictures.parent / "flat").mkdir()
        words = (words[0], "flat", "--format", "images")
    refused(ronde("data", *words), sentence)


def test_a_class_without_pictures(ronde, pictures):
    (pictures / "nothing").mkdir()
    refused(ronde("data", "inspect", "pictures"), "the class folder pictures/nothing holds no pictures")


def test_records_benchmark(ronde):
    done = ronde("bench", "records", "--sizes", "1kB,8MiB", "--turns", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    rows = report["rows"]
    assert [(row["state"], row["reader"]) for row in rows][:2] == [
        ("page cache", "read()"),
        ("page cache", "pack, checked"),
    ]
    assert rows[0]["records"] == 8388 and all(row["gb_per_s"] > 0 for row in rows)
    assert "page_cache_share" in report["summary"]
