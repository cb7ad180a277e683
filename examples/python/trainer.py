"""A network of one's own, trained by ronde.train.Trainer: on one rank or many, with checkpoints and an evaluation.

python trainer.py
ronde run -n 2 python trainer.py --epochs 5
ronde run -n 2 --trace-dir trace python trainer.py && ronde report trace
"""

import argparse

import torch

import ronde.data
import ronde.train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--output-dir", default="ronde-output/python-trainer")
    options = parser.parse_args()

    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * 14 * 14, 10),
    )
    trainer = ronde.train.Trainer(
        network,
        ronde.data.known("glyphs", samples=options.samples),
        torch.nn.functional.cross_entropy,
        held_out=ronde.data.known("glyphs", split="test", samples=1000),
        measures={"accuracy": ronde.train.accuracy},
        ema=0.95,
        settings={
            "train.epochs": options.epochs,
            "train.batch": 50,
            "optimizer.lr": 0.02,
            "schedule.name": "cosine",
            "schedule.warmup": "20steps",
            "output.dir": options.output_dir,
        },
    )
    result = trainer.fit()
    if trainer.rank == 0:
        print(f"{result.stopped} after {result.steps} steps: accuracy {100 * result.values['accuracy']:.1f} %")


if __name__ == "__main__":
    main()
