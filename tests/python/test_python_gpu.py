"""ronde.torch with tensors of GPUs; all ranks share one where there is one. Without any, skipped."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]


@pytest.fixture(autouse=True)
def needs_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")


def collectives_take_what_is_on_a_gpu():
    torch.cuda.set_device(hvd.local_rank() % torch.cuda.device_count())
    for dtype in [torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]:
        tensor = torch.full((3, 4), rank + 1, device="cuda").to(dtype)
        total = torch.full((3, 4), size * (size + 1) // 2, device="cuda").to(dtype)
        got = hvd.allreduce(tensor, op=hvd.Sum)
        assert got.is_cuda and torch.equal(got, total), dtype
        assert hvd.allreduce_(tensor, op=hvd.Sum) is tensor
        assert torch.equal(tensor, total), dtype
    mine = torch.full((rank + 1, 2), float(rank), device="cuda")
    rows = hvd.allgather(mine)
    assert rows.is_cuda and rows.shape == (size * (size + 1) // 2, 2)
    assert torch.equal(rows[-1], torch.full((2,), size - 1.0, device="cuda"))
    root = hvd.broadcast(torch.full((5,), float(rank), device="cuda"), size - 1)
    assert torch.equal(root, torch.full((5,), size - 1.0, device="cuda"))
    received, splits = hvd.alltoall(
        torch.full((size,), float(rank), device="cuda"), splits=torch.ones(size, dtype=torch.int32)
    )
    assert torch.equal(received, torch.arange(size, device="cuda").float()) and splits.tolist() == [1] * size
    share = hvd.reducescatter(torch.ones(size * 2, 3, device="cuda"), op=hvd.Sum)
    assert torch.equal(share, torch.full((2, 3), float(size), device="cuda"))


def results_follow_the_stream_that_made_the_input():
    for i in range(20):
        big = torch.ones(1 << 20, device="cuda")
        for _ in range(20):
            big = big * 1.0 + 0.0
        handle = hvd.allreduce_async_(big.mul_(rank + 1), op=hvd.Sum, name=f"big{i}")
        later = hvd.synchronize(handle) * 2
        assert later.min().item() == later.max().item() == size * (size + 1)


def an_optimizer_trains_the_same_on_all():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4 * 4 * 4, 3)).cuda()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer = hvd.DistributedOptimizer(sgd, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    inputs = torch.linspace(-1, 1, 8 * 3 * 36, device="cuda").view(8, 3, 6, 6)
    labels = torch.arange(8, device="cuda") % 3
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs.chunk(size)[rank]), labels.chunk(size)[rank])
        loss.backward()
        optimizer.step()
    everyone = hvd.allgather(torch.cat([p.detach().flatten() for p in model.parameters()]).unsqueeze(0))
    assert torch.equal(everyone, everyone[:1].expand_as(everyone))
    torch.manual_seed(0)
    alone = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(4 * 4 * 4, 3)).cuda()
    plain = torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)
    for _ in range(5):
        plain.zero_grad()
        torch.nn.functional.cross_entropy(alone(inputs), labels).backward()
        plain.step()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-3), (ours - theirs).abs().max()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_tensors_of_gpus(on_ranks, ranks):
    on_ranks(
        ranks,
        collectives_take_what_is_on_a_gpu,
        results_follow_the_stream_that_made_the_input,
        an_optimizer_trains_the_same_on_all,
    )
