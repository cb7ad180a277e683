"""Records a PyTorch program as it is: steps, batches, forward and backward passes, optimizers, layers.

`ronde run --trace-dir` arranges for install() to be called when a program imports torch (ronde/shim/traced). Nothing is
recorded before the program takes a batch, calls a network or an optimizer: a launcher such as torchrun leaves no trace.

- recording.py  whether, by whom and where this process is recorded; how it ended
- loop.py       steps, from optimizers; batches, from DataLoader; saving and loading
- network.py    forward and backward passes, and layers in them
- layers.py     the operations and bytes of layers, counted in one forward pass
- collectives.py  waiting for other ranks in torch.distributed
- facts.py      what was trained, and where
"""

from __future__ import annotations


def install() -> None:
    """Puts all hooks into torch. They do nothing where no trace is asked for, and on other threads than that which
    trains."""
    from . import collectives, loop, network, recording

    record = recording.Recording()
    passes = network.Passes(record)
    steps = loop.Loop(record, passes)
    passes.watch(steps)
    steps.watch()
    collectives.watch(record)
