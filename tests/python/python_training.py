"""What ranks begin with that train a small model: for on_ranks(..., prelude=PRELUDE)."""

PRELUDE = """
import copy, os, warnings
import torch
import ronde.torch as hvd
hvd.init()
rank, size = hvd.rank(), hvd.size()


def model_and_batches(steps=3, dtype=torch.float64):
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)).to(dtype)
    batches = [(torch.randn(4 * size, 6, dtype=dtype), torch.randn(4 * size, 3, dtype=dtype)) for _ in range(steps)]
    return model, batches


def share(tensor):
    return tensor[4 * rank : 4 * rank + 4]


def loss_of(model, batch):
    return torch.nn.functional.mse_loss(model(batch[0]), batch[1])


def trained_alone(make_optimizer, steps=3, passes=1):
    model, batches = model_and_batches(steps)
    optimizer = make_optimizer(model.parameters())
    for i in range(0, steps, passes):
        optimizer.zero_grad()
        for batch in batches[i : i + passes]:
            loss_of(model, batch).backward()
        optimizer.step()
    return model


def same(one, other, tolerance=1e-10):
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a, b, atol=tolerance, rtol=tolerance), (a - b).abs().max()
"""
