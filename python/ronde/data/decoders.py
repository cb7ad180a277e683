"""Pictures to numbers, straight into the memory of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch  # noqa: F401  (before the engine, which is linked to it)

from .. import _core

Decoder = _core.data.Decoder
Decoder.__doc__ = """What makes numbers of the bytes of a sample: see random_resized_crop(), center_crop() and bands().

``draws`` says whether it draws random numbers, and so makes another picture of a sample in every epoch.

>>> import ronde.data
>>> decoder = ronde.data.center_crop(224)
>>> isinstance(decoder, ronde.data.Decoder), decoder.draws
(True, False)
"""


def random_resized_crop(
    resolution: int = 224,
    *,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    flip: bool = True,
    rotate: bool = False,
    jitter: float = 0.0,
    cutout: float = 0.0,
    normalize: str = "imagenet",
    channels: int = 3,
    classes: int = 1000,
    target: str = "class",
    channels_last: bool = False,
    bf16: bool = False,
) -> Decoder:
    """Decodes a random part of a picture, for training: only the rows and columns that the crop needs.

    ``scale`` is the share of the picture that a crop takes; ``flip`` mirrors every other one, ``rotate`` turns by 90
    degrees, ``jitter`` recolours, ``cutout`` blanks a square. ``normalize`` is "imagenet", "unit" (0 to 1) or
    "mean,.../deviation,...". What comes out: "image", f32 (or bf16) of ``channels`` x ``resolution`` x ``resolution``,
    and "class" or, for ``target="labels"``, "labels".

    >>> import ronde.data
    >>> ronde.data.random_resized_crop(224, jitter=0.4).draws
    True
    """
    return _core.data.pictures(
        resolution,
        True,
        scale,
        ratio,
        flip,
        rotate,
        jitter,
        cutout,
        normalize,
        channels,
        classes,
        target,
        channels_last,
        bf16,
    )


def center_crop(
    resolution: int = 224,
    *,
    normalize: str = "imagenet",
    channels: int = 3,
    classes: int = 1000,
    target: str = "class",
    channels_last: bool = False,
    bf16: bool = False,
) -> Decoder:
    """Decodes the middle seven eighths of a picture's short side, as is usual for evaluation.

    >>> import ronde.data
    >>> ronde.data.center_crop(224).draws
    False
    """
    return _core.data.pictures(
        resolution,
        False,
        (0.08, 1.0),
        (3 / 4, 4 / 3),
        False,
        False,
        0.0,
        0.0,
        normalize,
        channels,
        classes,
        target,
        channels_last,
        bf16,
    )


def bands(
    resolution: int = 120,
    *,
    names: Sequence[str] = (),
    augment: bool = True,
    flip: bool = True,
    rotate: bool = True,
    cutout: float = 0.0,
    mean: Sequence[float] = (),
    deviation: Sequence[float] = (),
    classes: int = 43,
    target: str = "labels",
    channels_last: bool = False,
    bf16: bool = False,
) -> Decoder:
    """Decodes samples of several bands, each a TIFF, to one resolution. Without names: BigEarthNet's twelve.

    >>> import ronde.data
    >>> ronde.data.bands(120, augment=False).draws
    False
    """
    return _core.data.bands(
        list(names),
        resolution,
        augment,
        flip,
        rotate,
        cutout,
        list(mean),
        list(deviation),
        classes,
        target,
        channels_last,
        bf16,
    )
