"""What comes out of a pipeline, and what a function that draws is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    import numpy


class Batch(dict):
    """Tensors by name: those of one batch, or of one sample where nothing makes batches.

    The usual names can be said as attributes too: ``images`` is "image", ``classes`` is "class", ``labels`` is "labels"
    or, where there are none, "class". The tensors share the memory of the batch, which stays while any of them does.
    Samples that were not put into batches may lie in memory that others read, such as a file or a cache: do not write
    into those.

    >>> import ronde.data
    >>> batch = next(iter(ronde.data.known("glyphs", samples=8).batch(4)))
    >>> batch.images.shape, batch.labels.dtype
    (torch.Size([4, 1, 28, 28]), torch.int64)
    >>> sorted(batch.numpy())
    ['class', 'image']
    """

    @property
    def images(self) -> torch.Tensor:
        """The pictures: what is called "image"."""
        return self["image"]

    @property
    def classes(self) -> torch.Tensor:
        """A number for each picture: what is called "class"."""
        return self["class"]

    @property
    def labels(self) -> torch.Tensor:
        """What is called "labels", or "class" where there are none."""
        return self["labels"] if "labels" in self else self["class"]

    def __getattr__(self, name: str) -> torch.Tensor:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the batch has no '{name}'; it has {', '.join(map(repr, self))}") from None

    def numpy(self) -> dict[str, numpy.ndarray]:
        """The same memory as NumPy arrays. NumPy has no bfloat16: convert those by ``batch.images.float()``.

        >>> import ronde.data
        >>> batch = next(iter(ronde.data.known("glyphs", samples=8).batch(4)))
        >>> batch.numpy()["image"].shape
        (4, 1, 28, 28)
        """
        return {name: tensor.numpy() for name, tensor in self.items()}

    def to(self, *arguments: Any, **named: Any) -> Batch:
        """A batch of what Tensor.to() makes of each tensor: ``batch.to("cuda", non_blocking=True)``.

        >>> import ronde.data
        >>> batch = next(iter(ronde.data.known("glyphs", samples=8).batch(4)))
        >>> batch.to("cpu").images.device
        device(type='cpu')
        """
        return Batch({name: tensor.to(*arguments, **named) for name, tensor in self.items()})


class Draw(NamedTuple):
    """Who asks for a sample: all that its randomness may depend on.

    Numbers drawn from it are the same on any thread and rank, and others in every epoch.

    >>> from ronde.data import Draw
    >>> draw = Draw(seed=1, epoch=0, index=7)
    >>> bool(draw.numpy().random() == draw.numpy().random())
    True
    """

    seed: int
    epoch: int
    index: int

    def numpy(self) -> numpy.random.Generator:
        """A NumPy generator that begins anew for this sample of this epoch.

        >>> from ronde.data import Draw
        >>> Draw(seed=1, epoch=0, index=7).numpy().random(2).shape
        (2,)
        """
        import numpy

        return numpy.random.default_rng((self.seed, self.epoch, self.index))

    def torch(self) -> torch.Generator:
        """The same for torch.

        >>> import torch
        >>> from ronde.data import Draw
        >>> torch.rand(3, generator=Draw(seed=1, epoch=0, index=7).torch()).shape
        torch.Size([3])
        """
        return torch.Generator().manual_seed(int(self.numpy().integers(2**63)))


def text(bytes_of_text: torch.Tensor) -> str:
    """The text that an array of bytes holds, such as a sample's "key".

    >>> import ronde.data
    >>> sample = next(iter(ronde.data.function(1, lambda index: {"key": "dog/12.jpg"})))
    >>> ronde.data.text(sample["key"])
    'dog/12.jpg'
    """
    return bytes_of_text.numpy().tobytes().decode(errors="replace")
