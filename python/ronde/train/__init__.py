"""Training with PyTorch: the loop of `ronde train` around a network of one's own, and the pieces of that loop.

    import torch, ronde.train

    trainer = ronde.train.Trainer(
        network, samples, torch.nn.functional.cross_entropy,
        held_out=tests, measures={"accuracy": ronde.train.accuracy},
        settings={"train.epochs": 10, "optimizer.lr": 0.1, "schedule.name": "cosine"},
    )
    result = trainer.fit()

Runs on one rank or on those of `ronde run -n 4 python train.py`. docs/trainer.md is the manual.
"""

from ronde.train import schedules
from ronde.train.callbacks import Callback
from ronde.train.checkpointer import Checkpointer, Progress
from ronde.train.deadline import Deadline
from ronde.train.ema import EMA
from ronde.train.measures import accuracy, mean_absolute_error, mean_squared_error
from ronde.train.noise_scale import NoiseScale
from ronde.train.optimizers import LAMB, LARS
from ronde.train.rate_finder import FoundRate
from ronde.train.trainer import Result, Trainer

__all__ = [
    "EMA",
    "LAMB",
    "LARS",
    "Callback",
    "Checkpointer",
    "Deadline",
    "FoundRate",
    "NoiseScale",
    "Progress",
    "Result",
    "Trainer",
    "accuracy",
    "mean_absolute_error",
    "mean_squared_error",
    "schedules",
]
