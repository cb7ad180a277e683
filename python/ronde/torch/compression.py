"""How gradients travel: as they are, or in 16 bits. Programs may bring compressors of their own."""

import torch


class Compressor:
    """What a compressor of your own has: two functions, one before tensors travel, one after.

    >>> class Halve(Compressor):
    ...     @staticmethod
    ...     def compress(tensor):
    ...         return tensor.half(), tensor.dtype
    ...     @staticmethod
    ...     def decompress(tensor, ctx):
    ...         return tensor.to(ctx)
    """

    @staticmethod
    def compress(tensor):
        """Returns what travels, and whatever decompress() needs."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor, ctx):
        """Returns what arrived in the form it had."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Tensors travel as they are."""

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class _Narrow(Compressor):
    wire = None

    @classmethod
    def compress(cls, tensor):
        narrow = tensor.to(cls.wire) if tensor.dtype.is_floating_point else tensor
        return narrow, tensor.dtype

    @staticmethod
    def decompress(tensor, ctx):
        return tensor.to(ctx) if ctx.is_floating_point else tensor


class FP16Compressor(_Narrow):
    """Numbers travel as f16. In DistributedOptimizer they are summed in f32, by the engine."""

    wire = torch.float16


class BF16Compressor(_Narrow):
    """Numbers travel as bf16, which has the range of f32."""

    wire = torch.bfloat16


class Compression:
    """The compressors that there are.

    >>> hvd.DistributedOptimizer(optimizer, compression=hvd.Compression.bf16)
    """

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor
