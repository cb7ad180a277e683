"""ronde.data: the input pipeline from Python."""

# ruff: noqa: F821  (what PRELUDE has is there on the ranks)

import gc
import json
import os
import re
import struct
import subprocess
import sys
import threading
import zlib

import pytest
from python_package import PACKAGES, needs_package

pytest_plugins = ["job_fixtures", "python_fixtures"]
pytestmark = needs_package


@pytest.fixture(scope="module")
def data():
    import ronde.data

    return ronde.data


def numbers(data, count=10):
    return data.function(count, lambda index: {"number": index})


def taken(dataset):
    return [value for batch in dataset for value in batch["number"].reshape(-1).tolist()]


def png(shade: int, side: int = 8) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + bytes([shade, 0, 255 - shade]) * side for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture
def pictures(tmp_path):
    for name, shade in (("cat", 0), ("dog", 255)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for i in range(5):
            (tmp_path / "pictures" / name / f"{i}.png").write_bytes(png(shade))
    return tmp_path / "pictures"


def test_a_folder_of_pictures_becomes_batches(data, pictures):
    folder = data.images(pictures)
    assert folder.classes == ["cat", "dog"] and folder.samples == 10
    decoder = data.random_resized_crop(4, normalize="unit", classes=2, channels_last=False)
    batches = list(folder.shuffle(seed=1).global_batch(4).shard(0, 1).map(decoder).prefetch())
    assert [tuple(batch.images.shape) for batch in batches] == [(4, 3, 4, 4), (4, 3, 4, 4), (2, 3, 4, 4)]
    for batch in batches:
        for image, label in zip(batch.images, batch.labels, strict=True):
            assert image[0].mean().item() == pytest.approx(label.item(), abs=0.01)  # cats have no red


def test_tensors_share_the_memory_of_their_batch_and_keep_it(data):
    batches = data.known("glyphs", samples=32).batch(8).open(threads=1)
    batch = next(batches)
    image = batch.images
    arrays = batch.numpy()
    assert arrays["image"].ctypes.data == image.data_ptr() and image.data_ptr() % 64 == 0
    before = image.clone()
    del batch, arrays
    rest = list(batches)  # others would get its memory if it were free
    batches.close()
    del batches
    gc.collect()
    assert image.equal(before) and len(rest) == 3
    assert image.data_ptr() not in {other.images.data_ptr() for other in rest}


def test_arrays_of_python_are_taken_without_a_copy(data):
    import numpy
    import torch

    tensor, array = torch.arange(6.0), numpy.arange(6, dtype=numpy.int32)
    array.flags.writeable = False
    sample = next(iter(data.function(1, lambda index: {"t": tensor, "n": array, "b": b"abc", "f": 0.5, "l": [1, 2]})))
    assert sample["t"].data_ptr() == tensor.data_ptr() and sample["n"].data_ptr() == array.ctypes.data
    assert bytes(sample["b"].numpy()) == b"abc" and sample["f"].item() == 0.5 and sample["l"].tolist() == [1, 2]
    pair = next(iter(data.function(1, lambda index: (tensor, 3)).batch(1)))
    assert pair.images.tolist() == [tensor.tolist()] and pair.labels.tolist() == [3]


def test_an_array_outlives_everybody_who_made_it(data):
    import torch

    made = []

    def make(index):
        tensor = torch.full((1000,), float(index))
        made.append(tensor.data_ptr())
        return {"x": tensor}

    sample = next(iter(data.function(1, make)))
    gc.collect()
    assert sample["x"].data_ptr() == made[0] and sample["x"].sum().item() == 0


@pytest.mark.parametrize("threads", [1, 4])
def test_order_is_the_same_for_any_threads_and_ranks(data, threads):
    whole = numbers(data, 23).shuffle(seed=3).global_batch(6)
    batches = [batch["number"].tolist() for batch in whole.open(threads=threads)]
    assert sorted(sum(batches, [])) == list(range(23))
    parts = [[batch["number"].tolist() for batch in whole.shard(rank, 2)] for rank in range(2)]
    assert [first + second for first, second in zip(*parts, strict=True)] == batches


def test_python_functions_draw_the_same_on_any_threads(data):
    noisy = numbers(data, 16).map(lambda sample, draw: {"number": draw.torch().initial_seed()}, random=True).repeat(2)
    first, again = taken(noisy.open(threads=1)), taken(noisy.open(threads=4))
    assert first == again and first[:16] != first[16:]


def test_steps(data):
    assert taken(numbers(data).skip(2).take(3)) == [2, 3, 4]
    assert taken(numbers(data).filter(lambda sample: sample["number"] > 7)) == [8, 9]
    assert taken(numbers(data, 3).repeat(2).batch(2)) == [0, 1, 2, 0, 1, 2]
    assert taken(numbers(data, 4).batch(3, drop_last=True)) == [0, 1, 2]
    assert repr(numbers(data).shuffle(seed=1).batch(2)) == "function | shuffle | batch"


def test_resume_gives_exactly_the_rest(data):
    dataset = numbers(data, 20).shuffle(seed=5).global_batch(4).repeat(2)
    batches = dataset.open()
    for _ in range(7):
        next(batches)
    state = batches.state()
    rest = taken(batches)
    assert len(rest) == 12
    assert taken(dataset.open(state=state)) == rest
    assert state == data.State(1, 8, 5)
    batches.restore(state)
    assert taken(batches) == rest


def test_a_generator_can_be_restarted(data):
    begun = []

    def stream(epoch):
        begun.append(epoch)
        for number in range(6):
            yield {"number": 10 * epoch + number}

    dataset = data.generator(stream, name="stream").shuffle_buffer(3, seed=1).batch(2).repeat(2)
    batches = dataset.open()
    for _ in range(2):
        next(batches)
    state = batches.state()
    rest = taken(batches)
    assert state.epoch == 0 and state.position == 4 and len(rest) == 8
    assert taken(dataset.open(state=state)) == rest
    assert begun == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="shuffle"):
        data.generator(stream).shuffle(seed=1).open()


def test_an_error_of_a_function_names_the_sample_and_shows_where(data):
    def broken(sample):
        if sample["number"] == 3:
            raise KeyError("no such thing")
        return sample

    with pytest.raises(ValueError, match=r"map 'broken', sample 3 of epoch 0: KeyError: 'no such thing'") as error:
        taken(numbers(data).map(broken).batch(2))
    assert "test_python_data.py" in str(error.value) and "in broken" in str(error.value)

    def bad(index):
        raise OSError("gone")

    with pytest.raises(ValueError, match=r"function, sample \d: OSError: gone"):
        taken(data.function(2, bad).open(on_error="stop"))

    def stops():
        yield {"number": 1}
        raise RuntimeError("the end")

    with pytest.raises(ValueError, match="stream, sample 1 of epoch 0: RuntimeError: the end"):
        taken(data.generator(stops, name="stream"))
    with pytest.raises(ValueError, match="returned a value of type 'int', but a sample must be a dict"):
        taken(data.function(2, lambda index: 5).open(on_error="stop"))
    with pytest.raises(ValueError, match="'x' has type Half"):
        import torch

        taken(data.function(2, lambda index: {"x": torch.zeros(2).half()}).open(on_error="stop"))


def test_a_sample_that_cannot_be_made_is_skipped_and_named(data):
    def sometimes(index):
        if index == 1:
            raise ValueError("damaged")
        return {"number": index}

    batches = data.function(50, sometimes, name="mine").batch(10).open(on_error="skip")
    assert len(taken(batches)) == 50
    assert batches.stats()["skipped"] == 1
    assert any("mine, sample 1" in sentence and "damaged" in sentence for sentence in batches.advice())


def test_settings_are_checked_and_stages_are_told(data):
    with pytest.raises(ValueError, match="data.memory"):
        numbers(data).open(memory="much")
    with pytest.raises(ValueError, match="data.colour"):
        numbers(data).open(colour="blue")
    batches = data.known("glyphs", samples=64).batch(8).open(threads=2, memory="8MiB")
    assert len(list(batches)) == 8
    stats = batches.stats()
    assert [stage["name"] for stage in stats["stages"]] == ["make"]  # nothing is read
    assert 0 < stats["peak_bytes"] <= 8 << 20
    cached = numbers(data).map(lambda sample, draw: sample, random=True, name="crop").cache()
    assert "cache comes after 'crop'" in cached.advice()[0] and "cache comes after" in cached.open().advice()[0]


def test_waiting_lets_other_threads_of_python_run(data):
    let_go = threading.Event()

    def slow(sample):
        assert let_go.wait(30)
        return sample

    batches = numbers(data, 4).map(slow).open(threads=1)
    threading.Timer(0.1, let_go.set).start()  # runs only if next() has let go of Python's lock
    assert len(taken(batches)) == 4


def test_a_pipeline_that_is_left_alone_ends_with_python(tmp_path):
    script = """
import ronde.data, time
def slow(index):
    time.sleep(0.01)
    return {"number": index}
batches = iter(ronde.data.function(1000, slow).batch(4).repeat().prefetch())
next(batches)
forgotten = iter(ronde.data.generator(lambda: iter([{"a": 1}] * 100)).repeat().prefetch())
next(forgotten)
print("bye")
"""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RONDE_")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=env | {"PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "bye\n", "")


def test_two_ranks_share_each_batch(run, tmp_path):
    (tmp_path / "job.py").write_text("""
import os, ronde.data
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
numbers = ronde.data.function(8, lambda index: {"number": index}).shuffle(seed=1).global_batch(4).shard(rank, size)
print(rank, [batch["number"].tolist() for batch in numbers])
""")
    job = run("-n", "2", sys.executable, str(tmp_path / "job.py"), env={"PYTHONPATH": str(PACKAGES)})
    assert job.returncode == 0, job.stderr
    parts = dict(re.findall(r"^\[\d\] (\d) (\[.*\])$", job.stdout, re.MULTILINE))
    both = [value for part in parts.values() for batch in json.loads(part) for value in batch]
    assert sorted(both) == list(range(8)) and len(parts) == 2


# --- arrays and tables in memory --------------------------------------------------------------------------------------


def rows_of_arrays_are_samples():
    import numpy

    import ronde.data

    pictures = torch.arange(24.0).reshape(4, 2, 3)
    samples = ronde.data.tensors(
        image=pictures, labels=numpy.arange(4, dtype=numpy.int32), flag=pictures.bool()[:, 0, 0]
    )
    assert samples.samples == 4
    batch = next(iter(samples.batch(4)))
    assert torch.equal(batch["image"], pictures) and batch["labels"].dtype == torch.int32
    assert batch["flag"].tolist() == [0, 1, 1, 1]
    ordered = [int(one) for each in samples.shuffle(1).global_batch(2).shard(rank, size) for one in each["labels"]]
    every = hvd.allgather_object(ordered)
    assert sorted(one for some in every for one in some) == [0, 1, 2, 3]


def tables_become_inputs_and_targets():
    import ronde.data

    table = {"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "kind": ["x", "z", "y"], "value": [0.1, 0.2, 0.3]}
    batch = next(iter(ronde.data.frame(table, "kind", columns=["b", "a"]).batch(3)))
    assert batch["input"].tolist() == [[0.5, 1], [1.5, 2], [2.5, 3]] and batch["class"].tolist() == [0, 2, 1]
    batch = next(iter(ronde.data.frame({"a": [1, 2], "value": [0.5, 1]}, "value").batch(2)))
    assert batch["target"].dtype == torch.float32
    refusals = {
        "has no column 'c'; it has a, b": lambda: ronde.data.frame({"a": [1], "b": [2]}, "c"),
        "column 'kind' holds": lambda: ronde.data.frame(table, "value"),
        "'b' has 1 rows, but 'a' has 2": lambda: ronde.data.tensors(a=torch.ones(2), b=torch.ones(1)),
        "'a' is a single number": lambda: ronde.data.tensors(a=torch.tensor(1.0)),
    }
    for text, make in refusals.items():
        try:
            make()
        except ValueError as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)


def test_arrays_and_tables_in_memory(on_ranks):
    on_ranks(2, rows_of_arrays_are_samples, tables_become_inputs_and_targets)


def test_parquet_files(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    import ronde.data

    flowers = pandas.DataFrame({"length": [5.1, 6.2], "width": [3.5, 2.9], "species": ["virginica", "setosa"]})
    flowers.to_parquet(tmp_path / "flowers.parquet")
    for samples in (
        ronde.data.frame(flowers, "species"),
        ronde.data.parquet(tmp_path / "flowers.parquet", "species"),
        ronde.data.parquet(tmp_path / "flowers.parquet", "species", ["length", "width"]),
    ):
        batch = next(iter(samples.batch(2)))
        assert batch["class"].tolist() == [1, 0] and batch["input"].shape == (2, 2)
