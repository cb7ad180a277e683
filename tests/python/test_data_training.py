"""Training on pictures in files: folders and packs, with bad ones among them, resumed, and limited by them."""

import json
import random
import struct
import subprocess
import zlib

import pytest


def coloured(width: int, height: int, colour: tuple[int, int, int], noise: random.Random) -> bytes:
    """A picture of about one colour."""
    rows = bytearray()
    for _ in range(height):
        rows.append(0)
        for _ in range(width):
            rows += bytes(min(255, max(0, value + noise.randint(-20, 20))) for value in colour)
    return png(width, height, bytes(rows))


def png(width: int, height: int, rows: bytes) -> bytes:
    """Each row begins with a byte that says how it is filtered."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


COLOURS = {"blue": (40, 40, 220), "green": (40, 200, 40), "red": (220, 40, 40)}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    noise = random.Random(1)
    for name, colour in COLOURS.items():
        (folder / name).mkdir()
        for i in range(32):
            (folder / name / f"{i:02}.png").write_bytes(coloured(24 + i % 5, 20 + i % 3, colour, noise))
    return folder


@pytest.fixture
def train(build_dir, clean_env, tmp_path):
    program = str(build_dir / "ronde")

    def run(*words: str, ranks: int = 2, name: str = "out") -> tuple[subprocess.CompletedProcess, list[dict]]:
        job = subprocess.run(
            [program, "run", "-n", str(ranks), program, "train", "images", "--set", f"output.dir={name}",
             "--set", "data.resolution=16", "--set", "train.batch=12", "--set", "model.name=mlp",
             "--set", "optimizer.lr=0.02", *words],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        log = tmp_path / name / "log.jsonl"
        return job, [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return run


def epochs_of(log: list[dict]) -> list[tuple]:
    return [(line["epoch"], line["loss"], line["test_accuracy"]) for line in log if line["kind"] == "epoch"]


@pytest.mark.learning
def test_image_folder_is_learned(train, pictures):
    job, log = train("--data-path", str(pictures), "--set", "train.epochs=4")
    assert job.returncode == 0, job.stderr
    assert epochs_of(log)[-1][2] > 0.9, log


def test_evaluation_makes_the_network_that_was_trained(train, pictures, ronde):
    """Pictures in files have the channels that they have, where nobody asked for others."""
    job, log = train("--data-path", str(pictures), "--set", "train.epochs=1")
    assert job.returncode == 0, job.stderr
    again = ronde("eval", "out")
    assert again.returncode == 0, again.stderr
    assert f"accuracy {100 * epochs_of(log)[-1][2]:.2f}%" in again.stdout, again.stdout


def test_pack_trains_as_the_folder_does(train, pictures, ronde, tmp_path):
    packed = ronde("data", "pack", str(pictures), str(tmp_path / "packed"))
    assert packed.returncode == 0, packed.stderr
    _, folder = train("--data-path", str(pictures), "--set", "train.epochs=2", name="folder")
    _, pack = train(
        "--set", "data.name=pack", "--data-path", str(tmp_path / "packed"), "--set", "train.epochs=2", name="pack"
    )
    assert epochs_of(folder) == epochs_of(pack) != []


def test_threads_and_order_of_chunks_are_a_matter_of_speed(train, pictures, ronde, tmp_path):
    ronde("data", "pack", str(pictures), str(tmp_path / "packed"))
    runs = []
    for threads in ("1", "4"):
        job, log = train(
            "--set", "data.name=pack", "--data-path", str(tmp_path / "packed"), "--set", f"data.threads={threads}",
            "--set", "data.shuffle=chunks", "--set", "data.split=", "--set", f"data.test_path={tmp_path / 'packed'}",
            "--set", "train.epochs=2", name=f"threads-{threads}",
        )  # fmt: skip
        assert job.returncode == 0, job.stderr
        runs.append(epochs_of(log))
    assert runs[0] == runs[1] != []


def test_goes_on_with_other_ranks_in_the_middle_of_an_epoch(train, pictures):
    words = ("--data-path", str(pictures), "--set", "train.epochs=3", "--set", "checkpoint.every=4")
    whole, log = train(*words, name="whole")
    assert whole.returncode == 0, whole.stderr
    first, _ = train(*words, "--set", "train.steps=4", name="parts")
    assert first.returncode == 0, first.stderr
    second, parts = train(*words, ranks=1, name="parts")
    assert second.returncode == 0, second.stderr
    assert epochs_of(parts)[-1][1] == pytest.approx(epochs_of(log)[-1][1], rel=1e-4)


def test_bad_picture_is_skipped_counted_and_named(train, pictures, tmp_path):
    folder = tmp_path / "some-bad"
    for name in COLOURS:
        (folder / name).mkdir(parents=True)
        for picture in (pictures / name).iterdir():
            (folder / name / picture.name).write_bytes(picture.read_bytes())
    cut = (folder / "green" / "07.png").read_bytes()
    (folder / "green" / "07.png").write_bytes(cut[: len(cut) // 2])
    job, _ = train("--data-path", str(folder), "--set", "train.epochs=2")
    assert job.returncode == 0, job.stderr
    assert "green/07.png" in job.stderr, job.stderr
    assert job.stderr.count("skipped: ") <= 2, job.stderr  # once for training, or once for testing
    job, _ = train("--data-path", str(folder), "--set", "train.epochs=1", "--set", "data.on_error=stop", name="stop")
    assert job.returncode == 2, job.stderr
    assert "green/07.png" in job.stderr and "data.on_error=skip" in job.stderr, job.stderr


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_an_evaluation_leaves_out_what_cannot_be_read(train, pictures, tmp_path, ranks):
    """The same result as if the bad ones were not there; they are named, and counted."""
    bad = {("blue", "00.png"), ("green", "07.png"), ("green", "08.png"), ("red", "31.png")}
    for name in COLOURS:
        for kind in ("damaged", "without"):
            (tmp_path / kind / name).mkdir(parents=True)
        for picture in sorted((pictures / name).iterdir()):
            content, is_bad = picture.read_bytes(), (name, picture.name) in bad
            (tmp_path / "damaged" / name / picture.name).write_bytes(
                content[: len(content) // 2] if is_bad else content
            )
            if not is_bad:
                (tmp_path / "without" / name / picture.name).write_bytes(content)
    words = (
        "--data-path",
        str(pictures),
        "--set",
        "data.split=",
        "--set",
        "train.epochs=1",
        "--set",
        "optimizer.lr=0.002",
    )
    seen = {}
    for kind in ("damaged", "without"):
        job, log = train(*words, "--data-test-path", str(tmp_path / kind), ranks=ranks, name=kind)
        assert job.returncode == 0, job.stderr
        seen[kind] = job.stderr, [line for line in log if line["kind"] == "epoch"][-1]
    (said, damaged), (quiet, without) = seen["damaged"], seen["without"]
    assert damaged["test_samples"] == without["test_samples"] == 92
    assert damaged["test_accuracy"] == without["test_accuracy"]
    assert damaged["test_loss"] == pytest.approx(without["test_loss"], rel=1e-5)
    assert "the evaluation leaves out 4 of 96 samples" in said and "evaluation leaves out" not in quiet, said
    assert all("/".join(one) in said for one in bad), said


def test_input_that_is_the_limit_is_named(train, tmp_path):
    side, noise = 1200, random.Random(2)
    large = png(side, side, b"".join(b"\0" + noise.randbytes(3 * side) for _ in range(side)))
    folder = tmp_path / "large"
    for name in COLOURS:
        (folder / name).mkdir(parents=True)
        for i in range(12):
            (folder / name / f"{i}.png").write_bytes(large)
    words = ("--set", "train.epochs=2", "--set", "train.batch=4", "--set", "data.threads=1")
    job, _ = train("--data-path", str(folder), *words, ranks=1)
    assert job.returncode == 0, job.stderr
    assert "'decode' is the limit" in job.stdout, job.stdout


def test_cache_of_a_node_is_filled_once_and_goes_with_the_job(train, pictures, tmp_path):
    words = ("--data-path", str(pictures), "--set", "train.epochs=2")
    plain, expected = train(*words, name="plain")
    assert plain.returncode == 0, plain.stderr
    for cache in ("ram", str(tmp_path / "cache")):
        job, log = train(*words, "--set", f"data.cache={cache}", name=f"cached-{len(cache)}")
        assert job.returncode == 0, job.stderr
        assert epochs_of(log) == epochs_of(expected)
    assert len(list((tmp_path / "cache").glob("*/index"))) == 1


def test_without_test_samples_it_says_what_can_be_done(train, pictures):
    job, _ = train("--data-path", str(pictures), "--set", "data.split=")
    assert job.returncode == 2, job.stderr
    assert "has no test samples" in job.stderr and "data.split" in job.stderr, job.stderr


def test_mixup_needs_pairs(train, pictures):
    job, _ = train("--data-path", str(pictures), "--set", "data.mixup=0.2", "--set", "train.epochs=1")
    assert job.returncode == 0, job.stderr
    job, _ = train("--data-path", str(pictures), "--set", "data.mixup=0.2", "--set", "train.batch=10")
    assert job.returncode == 2, job.stderr
    assert "multiple of 4" in job.stderr, job.stderr


def test_example_gives_the_same_batches_on_any_number_of_ranks(build_dir, clean_env, pictures):
    def sums(*words: str) -> list[float]:
        job = subprocess.run(
            [build_dir / "pipeline", pictures, *words], env=clean_env, capture_output=True, text=True, timeout=60
        )
        assert job.returncode == 0, job.stderr
        return [float(line.split("sum ")[1].split(";")[0]) for line in job.stdout.splitlines()]

    whole, first, second = sums(), sums("0", "2"), sums("1", "2")
    assert len(whole) == 6
    assert whole == pytest.approx([a + b for a, b in zip(first, second, strict=True)], abs=0.5)
