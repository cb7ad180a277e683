"""Batch norm over ranks is batch norm over the whole batch."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]

HELPERS = """
import torch
import torch.nn.functional as F
import ronde.torch as hvd
hvd.init()
rank, size = hvd.rank(), hvd.size()

def shares(total):
    # Uneven, and the last rank has nothing when there are three or more.
    cuts = [0] + [total * (r + 1) * (r + 2) // (size * (size + 1)) for r in range(size)]
    if size > 2:
        cuts[-2] = total
    return slice(cuts[rank], cuts[rank + 1])

def both(synced, plain, batch, steps=3, **options):
    mine = shares(batch.shape[0])
    for step in range(steps):
        whole = (batch * (step + 1)).requires_grad_()
        part = whole.detach()[mine].clone().requires_grad_()
        expected, got = plain(whole), synced(part)
        torch.testing.assert_close(got, expected[mine], **options)
        weights = torch.linspace(-1, 1, expected.numel()).view_as(expected).to(expected.dtype)
        (expected * weights).sum().backward()
        (got * weights[mine]).sum().backward()
        torch.testing.assert_close(part.grad, whole.grad[mine], **options)
    for (name, a), b in zip(synced.named_parameters(), plain.parameters(), strict=True):
        total = hvd.allreduce(a.grad, op=hvd.Sum, name=f"grad.{name}")
        torch.testing.assert_close(total, b.grad, **(options or dict(rtol=1e-4, atol=1e-4)))
    for (name, a), b in zip(synced.named_buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(a, b, **options)
"""


def every_shape_and_option():
    for number, dimensions in enumerate([(), (5,), (4, 3), (2, 3, 2)]):
        plain_kind = [torch.nn.BatchNorm1d, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d][number]
        for options in ({}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}, {"eps": 0.1}):
            torch.manual_seed(number)
            batch = torch.randn(12, 3, *dimensions, dtype=torch.float64) + 5
            synced, plain = hvd.SyncBatchNorm(3, **options).double(), plain_kind(3, **options).double()
            both(synced, plain, batch)
            if plain.track_running_stats:  # evaluation is local: a rank may have a look alone
                for rank_that_looks in range(size):
                    if rank == rank_that_looks:
                        torch.testing.assert_close(synced.eval()(batch), plain.eval()(batch))


def large_means_lose_nothing():
    torch.manual_seed(1)
    batch = torch.randn(64, 4, 8) + 1000
    both(hvd.SyncBatchNorm(4), torch.nn.BatchNorm1d(4), batch, steps=1, rtol=1e-2, atol=2e-3)


def half_precision():
    for dtype in (torch.bfloat16, torch.float16):
        torch.manual_seed(2)
        batch = torch.randn(16, 4, 6, 6) + 1
        mine = shares(16)
        synced, plain = hvd.SyncBatchNorm(4), torch.nn.BatchNorm2d(4)
        part = batch[mine].to(dtype).requires_grad_()
        got, expected = synced(part), plain(batch)
        assert got.dtype == dtype
        torch.testing.assert_close(got.float(), expected[mine], rtol=2e-2, atol=2e-2)
        got.float().square().sum().backward()
        assert part.grad.dtype == dtype and synced.weight.grad.dtype == torch.float32
        torch.testing.assert_close(synced.running_mean, plain.running_mean, rtol=1e-2, atol=1e-3)
        whole = hvd.SyncBatchNorm(4, affine=False).to(dtype)(part)
        assert whole.dtype == dtype


def under_autocast():
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), hvd.SyncBatchNorm(4), torch.nn.ReLU(), torch.nn.Conv2d(4, 1, 3)
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model(torch.randn(3, 2, 8, 8)).sum().backward()
    assert all(
        parameter.grad.isfinite().all() and parameter.grad.dtype == torch.float32 for parameter in model.parameters()
    )


def conversion_keeps_what_was_there():
    import copy

    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.Sequential(torch.nn.BatchNorm2d(4)), torch.nn.BatchNorm2d(4)
    )
    model(torch.randn(4, 2, 8, 8))
    state, weight = copy.deepcopy(model.state_dict()), model[1][0].weight
    model.eval()
    converted = hvd.SyncBatchNorm.convert_sync_batchnorm(model)
    assert converted is model and type(model[1][0]) is hvd.SyncBatchNorm and type(model[2]) is hvd.SyncBatchNorm
    assert model[1][0].weight is weight and not model[1][0].training
    torch.testing.assert_close(dict(model.state_dict()), dict(state))
    assert type(hvd.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(3))) is hvd.SyncBatchNorm
    assert isinstance(model[2], torch.nn.modules.batchnorm._BatchNorm)
    copy.deepcopy(model).train()(torch.randn(4, 2, 8, 8))


def too_little_is_refused():
    for shape, words in (((3,), "at least 2D"), ((1 if rank == 0 else 0, 3), "more than 1 value per channel")):
        try:
            hvd.SyncBatchNorm(3)(torch.randn(shape))
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{shape} was taken")


def process_sets():
    if size < 3:
        return
    pair = hvd.add_process_set([0, 1])
    if rank < 2:
        torch.manual_seed(4)
        batch = torch.randn(4, 3)
        got = hvd.SyncBatchNorm(3, process_set=pair)(batch[2 * rank : 2 * rank + 2])
        torch.testing.assert_close(got, torch.nn.BatchNorm1d(3)(batch)[2 * rank : 2 * rank + 2])
    hvd.remove_process_set(pair)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_together_are_one(on_ranks, ranks):
    checks = (every_shape_and_option, large_means_lose_nothing, half_precision, under_autocast)
    more = (conversion_keeps_what_was_there, too_little_is_refused, process_sets)
    on_ranks(ranks, *checks, *more, prelude=HELPERS)
