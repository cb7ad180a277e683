"""The input pipeline: from files to batches, in the same order on any number of ranks.

    import ronde.data as data

    batches = (
        data.images("/data/train")
        .shuffle(seed=1)
        .global_batch(256)
        .shard(rank, size)
        .map(data.random_resized_crop(224))
        .prefetch()
    )
    for batch in batches:
        step(batch.images, batch.labels)

Sources and steps are those of docs/data.md; tensors share the memory of their batch.
"""

from .batch import Batch, Draw, text
from .dataset import Dataset
from .decoders import Decoder, bands, center_crop, random_resized_crop
from .pipeline import Pipeline, State
from .sources import (
    bigearthnet,
    cifar,
    csv,
    files,
    formats,
    frame,
    function,
    generator,
    hdf5,
    idx,
    images,
    known,
    known_names,
    lmdb,
    npy,
    pack,
    parquet,
    tar,
    tensors,
    tfrecord,
    zip,
)

__all__ = [
    "Batch",
    "Dataset",
    "Decoder",
    "Draw",
    "Pipeline",
    "State",
    "bands",
    "bigearthnet",
    "center_crop",
    "cifar",
    "csv",
    "files",
    "frame",
    "formats",
    "function",
    "generator",
    "hdf5",
    "idx",
    "images",
    "known",
    "known_names",
    "lmdb",
    "npy",
    "pack",
    "parquet",
    "random_resized_crop",
    "tar",
    "tensors",
    "text",
    "tfrecord",
    "zip",
]
