"""How gradients travel: as they are, or in 16 bits. Programs may bring compressors of their own."""

from __future__ import annotations

from typing import Any

import torch


class Compressor:
    """What a compressor of your own has: two functions, one before tensors travel, one after.

    >>> from ronde.torch.compression import Compressor
    >>> class Halve(Compressor):
    ...     @staticmethod
    ...     def compress(tensor):
    ...         return tensor.half(), tensor.dtype
    ...     @staticmethod
    ...     def decompress(tensor, ctx):
    ...         return tensor.to(ctx)
    >>> hvd.allreduce(torch.ones(2), compression=Halve)
    tensor([1., 1.])
    """

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Returns what travels, and whatever decompress() needs.

        >>> narrow, context = hvd.Compression.fp16.compress(torch.ones(2))
        >>> narrow, context
        (tensor([1., 1.], dtype=torch.float16), torch.float32)
        """
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        """Returns what arrived in the form it had.

        >>> hvd.Compression.fp16.decompress(torch.ones(2).half(), torch.float32)
        tensor([1., 1.])
        """
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Tensors travel as they are.

    >>> hvd.Compression.none.compress(torch.ones(2))
    (tensor([1., 1.]), None)
    """

    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        return tensor


class _Narrow(Compressor):
    wire: torch.dtype

    @classmethod
    def compress(cls, tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        narrow = tensor.to(cls.wire) if tensor.dtype.is_floating_point else tensor
        return narrow, tensor.dtype

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        return tensor.to(ctx) if ctx.is_floating_point else tensor


class FP16Compressor(_Narrow):
    """Numbers travel as f16. In DistributedOptimizer they are summed in f32, by the engine.

    >>> narrow, before = hvd.Compression.fp16.compress(torch.ones(2))
    >>> narrow.dtype, before
    (torch.float16, torch.float32)
    """

    wire = torch.float16


class BF16Compressor(_Narrow):
    """Numbers travel as bf16, which has the range of f32.

    >>> hvd.allreduce(torch.tensor([1e30]), compression=hvd.Compression.bf16).dtype
    torch.float32
    """

    wire = torch.bfloat16


class Compression:
    """The compressors that there are. Fewer bytes travel, and some precision is lost.

    >>> optimizer = hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.bf16)
    >>> hvd.allreduce(torch.ones(2), compression=hvd.Compression.fp16)
    tensor([1., 1.])
    """

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor
