"""Where samples come from."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import torch  # noqa: F401  (before the engine, which is linked to it)

from .. import _core
from .dataset import Dataset

if TYPE_CHECKING:
    import numpy

Path = Union[str, "os.PathLike[str]"]


def files(path: Path, format: str = "auto", *, image: str = "", label: str = "") -> Dataset:
    """Samples in files of any format: see ``formats()``. "auto": as the path looks.

    ``image`` and ``label`` say which arrays are the picture and its class, where the files call them otherwise.

    >>> import ronde.data
    >>> ronde.data.files(folder / "iris.csv", label="species").samples
    3
    """
    return Dataset(_core.data.from_files(os.fspath(path), format, image, label))


def formats() -> list[str]:
    """The formats of files that can be read.

    >>> import ronde.data
    >>> "pack" in ronde.data.formats()
    True
    """
    return _core.data.formats()


def images(path: Path) -> Dataset:
    """A folder of pictures with a folder for each class: "image" (the file), "class", "key".

    >>> import ronde.data
    >>> ronde.data.images(folder / "pictures").classes
    ['cat', 'dog']
    """
    return files(path, "images")


def tar(path: Path) -> Dataset:
    """WebDataset: a tar file, a folder of them, or ``data-{000..012}.tar``; read by index.

    >>> import ronde.data
    >>> ronde.data.tar(folder / "train-{000..001}.tar").samples
    2
    """
    return files(path, "tar")


def tfrecord(path: Path, *, image: str = "", label: str = "") -> Dataset:
    """TFRecord files of ``tf.train.Example``, read by index; all checksums are checked.

    >>> import ronde.data
    >>> ronde.data.tfrecord(folder / "tfrecords").classes
    ['setosa', 'virginica']
    """
    return files(path, "tfrecord", image=image, label=label)


def lmdb(path: Path, *, image: str = "", label: str = "") -> Dataset:
    """A folder with ``data.mdb``, or that file.

    >>> import ronde.data
    >>> ronde.data.lmdb(folder / "lmdb").samples
    3
    """
    return files(path, "lmdb", image=image, label=label)


def hdf5(path: Path, *, image: str = "", label: str = "") -> Dataset:
    """An HDF5 file with a dataset for each array; read a chunk at a time.

    >>> import ronde.data
    >>> sorted(next(iter(ronde.data.hdf5(folder / "iris.h5"))))
    ['class', 'features', 'key']
    """
    return files(path, "hdf5", image=image, label=label)


def csv(path: Path, *, image: str = "", label: str = "") -> Dataset:
    """A table: all columns of numbers together are "features".

    >>> import ronde.data
    >>> sample = next(iter(ronde.data.csv(folder / "iris.csv", label="species")))
    >>> sample["features"], sample["class"]
    (tensor([5.1000, 3.5000]), tensor(0))
    """
    return files(path, "csv", image=image, label=label)


def npy(path: Path, *, image: str = "", label: str = "") -> Dataset:
    """A NumPy file ``x.npy``, or a folder with ``y.npy`` or ``labels.npy`` beside it; mapped, not loaded.

    >>> import ronde.data
    >>> next(iter(ronde.data.npy(folder / "arrays").batch(3)))["features"].shape
    torch.Size([3, 2])
    """
    return files(path, "npy", image=image, label=label)


def idx(path: Path) -> Dataset:
    """MNIST's files, plain or ``.gz``.

    >>> import ronde.data
    >>> next(iter(ronde.data.idx(folder / "mnist").batch(2))).labels
    tensor([7, 2])
    """
    return files(path, "idx")


def cifar(path: Path) -> Dataset:
    """The binary files of CIFAR-10 or CIFAR-100.

    >>> import ronde.data
    >>> next(iter(ronde.data.cifar(folder / "cifar-10-batches-bin"))).images.shape
    torch.Size([32, 32, 3])
    """
    return files(path, "cifar")


def pack(path: Path) -> Dataset:
    """A pack that ``ronde data pack`` made: a few large files instead of many small ones.

    >>> import ronde.data
    >>> ronde.data.pack(folder / "packed").shuffle(seed=1).samples
    3
    """
    return files(path, "pack")


def bigearthnet(path: Path) -> Dataset:
    """BigEarthNet as it is published: a folder for each patch of twelve bands, with labels.

    >>> ronde.data.bigearthnet("/data/BigEarthNet-v1.0").map(ronde.data.bands(120))  # doctest: +SKIP
    """
    return files(path, "bigearthnet")


def known(
    name: str,
    path: Path = "",
    *,
    split: str = "train",
    samples: int = 0,
    classes: int = 10,
    channels: int = 1,
    resolution: int = 28,
    seed: int = 0,
    augment: bool = False,
    target: str = "class",
) -> Dataset:
    """A set that Ronde knows by name, as numbers: generated ("glyphs", "text", "random"), or "mnist", "cifar10".

    >>> import ronde.data
    >>> batch = next(iter(ronde.data.known("glyphs", samples=100).shuffle(seed=1).batch(32)))
    >>> batch.images.shape
    torch.Size([32, 1, 28, 28])
    """
    return Dataset(
        _core.data.known(name, os.fspath(path), split, samples, classes, channels, resolution, seed, augment, target)
    )


def known_names() -> list[str]:
    """What ``known()`` knows.

    >>> import ronde.data
    >>> "glyphs" in ronde.data.known_names()
    True
    """
    return _core.data.known_names()


def function(samples: int, sample: Callable[[int], Any], name: str = "function") -> Dataset:
    """Samples that a Python function makes of an index; always the same, from any thread.

    A sample is a dict of arrays by name (tensors, NumPy arrays, numbers, texts, bytes), or a tuple (image, class), as
    map-style datasets of torch give them: ``function(len(dataset), dataset.__getitem__)``.

    >>> import ronde.data
    >>> squares = ronde.data.function(4, lambda index: {"square": index * index})
    >>> [sample["square"].item() for sample in squares]
    [0, 1, 4, 9]
    """
    return Dataset(_core.data.function(samples, sample, name))


def tensors(**arrays: Any) -> Dataset:
    """Rows of arrays that are in memory (tensors, NumPy arrays): sample i has row i of each. Read without Python.

    >>> import ronde.data, torch
    >>> samples = ronde.data.tensors(input=torch.eye(3), target=torch.arange(3.0))
    >>> [sample["target"].item() for sample in samples]
    [0.0, 1.0, 2.0]
    """
    return Dataset(_core.data.rows(arrays, "tensors"))


def frame(table: Any, target: str | None = None, columns: Sequence[str] | None = None) -> Dataset:
    """Rows of a table in memory: a Pandas or Polars frame, an Arrow table, or a dict of columns.

    ``columns`` (all others, by default) become "input", f32[columns]. ``target`` becomes "target", f32, or "class", i64,
    if it holds integers, flags or texts; texts are numbered in alphabetical order.

    >>> import ronde.data
    >>> flowers = {"length": [5.1, 6.2], "width": [3.5, 2.9], "species": ["virginica", "setosa"]}
    >>> samples = ronde.data.frame(flowers, target="species")
    >>> [(sample["input"].tolist()[0] > 6, sample["class"].item()) for sample in samples]
    [(False, 1), (True, 0)]
    """
    import numpy

    names = _names_of(table)
    for name in [*(columns or []), *([target] if target else [])]:
        if name not in names:
            raise ValueError(f"the table has no column '{name}'; it has {', '.join(map(str, names))}")
    chosen = list(columns) if columns is not None else [name for name in names if name != target]
    arrays = {"input": _stacked(table, chosen)}
    if target is not None:
        values = _column(table, target)
        if values.dtype.kind in "OUS":
            _, values = numpy.unique(values.astype(str), return_inverse=True)
        is_class = values.dtype.kind in "iub"
        arrays["class" if is_class else "target"] = values.astype("int64" if is_class else "float32")
    return Dataset(_core.data.rows(arrays, "frame"))


def parquet(path: Path, target: str | None = None, columns: Sequence[str] | None = None) -> Dataset:
    """Rows of a Parquet file, or a folder of them, as ``frame()`` has them; read into memory by pyarrow, which must be
    installed.

    >>> import ronde.data
    >>> samples = ronde.data.parquet("flowers.parquet", target="species")  # doctest: +SKIP
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet files are read by pyarrow: pip install pyarrow") from None
    wanted = None if columns is None else [*columns, *([target] if target else [])]
    return frame(pyarrow.parquet.read_table(os.fspath(path), columns=wanted), target, columns)


def _names_of(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return list(table)
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def _column(table: Any, name: str) -> numpy.ndarray:
    import numpy

    column = table.column(name) if hasattr(table, "column_names") else table[name]
    return numpy.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _stacked(table: Any, names: Sequence[str]) -> numpy.ndarray:
    import numpy

    if not names:
        raise ValueError("the table has no column but the target")
    parts = []
    for name in names:
        values = _column(table, name)
        if values.dtype.kind not in "fiub":
            raise ValueError(
                f"column '{name}' holds {values.dtype}, not numbers: convert it, or leave it out by columns="
            )
        parts.append(values.astype("float32"))
    return numpy.stack(parts, axis=1)


def generator(restart: Callable[..., Iterable[Any]], name: str = "generator") -> Dataset:
    """Samples that come one after the other, from a Python generator that can be restarted.

    ``restart()`` begins an epoch; if it takes an argument, that is the number of the epoch. The same samples must come
    every time that an epoch is begun. This is a stream: only ``shuffle_buffer()`` shuffles it, and a resume makes again
    what had been used, and leaves it out.

    >>> import ronde.data
    >>> def lines():
    ...     for line in ["one", "two", "three"]:
    ...         yield {"line": line}
    >>> [ronde.data.text(sample["line"]) for sample in ronde.data.generator(lines)]
    ['one', 'two', 'three']
    """
    begin = restart if _takes_epoch(restart) else lambda epoch: restart()
    return Dataset(_core.data.generator(begin, name))


def _takes_epoch(restart: Callable[..., Any]) -> bool:
    try:
        inspect.signature(restart).bind(0)
    except (TypeError, ValueError):  # it takes none, or cannot say
        return False
    return True


def zip(first: Dataset, second: Dataset) -> Dataset:
    """Samples of two datasets side by side, until one ends: one sample with the arrays of both.

    >>> import ronde.data
    >>> left = ronde.data.function(3, lambda index: {"a": index})
    >>> right = ronde.data.function(2, lambda index: {"b": -index})
    >>> [(both["a"].item(), both["b"].item()) for both in ronde.data.zip(left, right)]
    [(0, 0), (1, -1)]
    """
    return Dataset(_core.data.zip(first._core, second._core))
