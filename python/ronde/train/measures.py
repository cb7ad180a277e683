"""How good outputs are: means over a batch."""

import torch


def accuracy(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """How often the class with the largest output (along dimension 1) is the right one.

    >>> import torch, ronde.train
    >>> ronde.train.accuracy(torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.tensor([1, 1])).item()
    0.5
    """
    return (outputs.argmax(1) == targets).double().mean()


def mean_squared_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """
    >>> import torch, ronde.train
    >>> ronde.train.mean_squared_error(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])).item()
    2.0
    """
    return (outputs.double() - targets.double()).square().mean()


def mean_absolute_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """
    >>> import torch, ronde.train
    >>> ronde.train.mean_absolute_error(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])).item()
    1.0
    """
    return (outputs.double() - targets.double()).abs().mean()
