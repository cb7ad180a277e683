"""What a program hears of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib

    from .trainer import Trainer


class Callback:
    """Override what you want to hear. All are called on all ranks, at the same places; values are those of all ranks
    together, but for those of on_step(), which are of this rank.

    A callback may call ``trainer.stop()``: training then ends after this step, on all ranks.

    >>> import ronde.train
    >>> class Printed(ronde.train.Callback):
    ...     def on_epoch(self, trainer, values):
    ...         print(trainer.epoch, values["loss"])
    >>> Printed().on_epoch.__name__
    'on_epoch'
    """

    def on_step(self, trainer: Trainer, values: dict[str, float]) -> None:
        """After each step: "loss", "lr".

        >>> import ronde.train
        >>> class Impatient(ronde.train.Callback):
        ...     def on_step(self, trainer, values):
        ...         if values["loss"] < 0.01:
        ...             trainer.stop()
        """

    def on_epoch(self, trainer: Trainer, values: dict[str, float]) -> None:
        """After each epoch: "loss", "lr", "samples_per_second", and "noise_scale" where it is measured.

        >>> import ronde.train
        >>> class Curve(ronde.train.Callback):
        ...     losses = []
        ...     def on_epoch(self, trainer, values):
        ...         self.losses.append(values["loss"])
        """

    def on_evaluate(self, trainer: Trainer, values: dict[str, float]) -> None:
        """After each evaluation: "loss" and the measures.

        >>> import ronde.train
        >>> class Best(ronde.train.Callback):
        ...     value = 0
        ...     def on_evaluate(self, trainer, values):
        ...         self.value = max(self.value, values["accuracy"])
        """

    def on_checkpoint(self, trainer: Trainer, folder: pathlib.Path) -> None:
        """When a checkpoint is about to be written into the training's folder of checkpoints.

        >>> import ronde.train
        >>> class Copies(ronde.train.Callback):
        ...     def on_checkpoint(self, trainer, folder):
        ...         print("step", trainer.step, "goes to", folder)
        """
