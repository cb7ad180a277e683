"""What torch builds on torch.distributed, on the backend "ronde": each trains or saves as one process does."""

# ruff: noqa: F821  (the functions run on ranks, where torch, dist, rank and size are)

import importlib.util
import inspect

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures", "c10d_fixtures"]


def same_as_alone(wrap, gradients_of):
    """The mean of all ranks' gradients is that of the whole batch."""
    from torch import nn

    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    torch.manual_seed(0)
    model = wrap(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
    for step in range(3):
        torch.manual_seed(step + 1)
        whole = torch.randn(4 * size, 8)
        plain.zero_grad()
        model.zero_grad()
        plain(whole).square().mean().backward()
        model(whole[4 * rank : 4 * rank + 4]).square().mean().backward()
        for expected, got in zip((one.grad for one in plain.parameters()), gradients_of(model), strict=True):
            torch.testing.assert_close(got, expected)
        for net in (plain, model):
            torch.optim.SGD(net.parameters(), 0.1).step()


def data_parallel():
    from torch.nn.parallel import DistributedDataParallel

    for words in ({}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}, {"static_graph": True}):
        same_as_alone(lambda net, words=words: DistributedDataParallel(net, bucket_cap_mb=0.0005, **words),
                      lambda net: [one.grad for one in net.parameters()])  # fmt: skip
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    model = DistributedDataParallel(torch.nn.Linear(32, 32))
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    model(torch.full((2, 32), float(rank))).sum().backward()
    assert model.module.weight.grad[0, 0].item() == size - 1
    model = DistributedDataParallel(torch.nn.Linear(64, 64))
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)  # its callbacks make calls themselves
    for _ in range(4):
        model(torch.ones(2, 64)).sum().backward()
        assert torch.isfinite(model.module.weight.grad).all()
    normed = torch.nn.parallel.DistributedDataParallel(torch.nn.BatchNorm1d(3))
    normed(torch.full((4, 3), float(rank)))


def uneven_data():
    from torch.distributed.algorithms.join import Join
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    batches = 0
    with Join([model]):
        for _ in range(2 + rank):
            model(torch.ones(1, 2)).sum().backward()
            batches += 1
    assert batches == 2 + rank
    dist.barrier()


def samples():
    from torch.utils.data import DistributedSampler

    mine = list(DistributedSampler(range(10 * size), shuffle=True, seed=3))
    every = [None] * size
    dist.all_gather_object(every, mine)
    assert sorted(sum(every, [])) == list(range(10 * size))


def fully_sharded():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (size,))

    def wrap(net):
        for layer in net:
            fully_shard(layer, mesh=mesh)
        return fully_shard(net, mesh=mesh)

    same_as_alone(wrap, lambda net: [one.grad.full_tensor() for one in net.parameters()])
    if size == 4:
        square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
        same_as_alone(lambda net: fully_shard(net, mesh=square),
                      lambda net: [one.grad.full_tensor() for one in net.parameters()])  # fmt: skip


def tensors_over_ranks():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    left, right = torch.randn(8, 12), torch.randn(12, 8)
    by_rows = distribute_tensor(left, mesh, [Shard(0)])
    assert torch.equal(by_rows.full_tensor(), left)
    assert torch.equal(by_rows.redistribute(mesh, [Shard(1)]).full_tensor(), left)
    product = distribute_tensor(left, mesh, [Shard(1)]) @ distribute_tensor(right, mesh, [Shard(0)])
    assert product.placements == (Partial(),)
    torch.testing.assert_close(product.redistribute(mesh, [Replicate()]).to_local(), left @ right)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    expected = net(left[:, :8])
    parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.testing.assert_close(net(left[:, :8]), expected)


def checkpoints():
    import tempfile

    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    mesh = init_device_mesh("cpu", (size,))
    values = torch.arange(16.0).view(8, 2)
    checkpoint.save({"sharded": distribute_tensor(values, mesh, [Shard(0)]), "step": 7}, checkpoint_id=folder[0])
    again = {"sharded": distribute_tensor(torch.zeros(8, 2), mesh, [Shard(1)]), "step": 0}
    checkpoint.load(again, checkpoint_id=folder[0])
    assert torch.equal(again["sharded"].full_tensor(), values) and again["step"] == 7
    dist.barrier()
    if rank == 0:
        __import__("shutil").rmtree(folder[0])


def optimizers_over_ranks():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)
    net(torch.ones(2, 4) * rank).sum().backward()
    optimizer.step()
    every = [torch.empty_like(net.module.weight) for _ in range(size)]
    dist.all_gather(every, net.module.weight.detach())
    assert all(torch.equal(one, every[0]) for one in every)


@pytest.mark.parametrize("ranks", [2, 4])
def test_what_torch_builds_on_it(on_groups, ranks):
    on_groups(
        ranks, data_parallel, uneven_data, samples, fully_sharded, tensors_over_ranks, checkpoints,
        optimizers_over_ranks, helpers=inspect.getsource(same_as_alone),
    )  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
def test_accelerate(python_job, tmp_path):
    program = tmp_path / "accelerated.py"
    program.write_text("""
import torch, torch.distributed as dist
import ronde.torch.distributed
dist.init_process_group("ronde")
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
assert accelerator.num_processes == 2 and dist.get_backend() == "ronde"
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 4)), batch_size=2)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for (batch,) in data:
    optimizer.zero_grad()
    accelerator.backward(model(batch * (1 + accelerator.process_index)).sum())
    optimizer.step()
weights = accelerator.gather(model.module.weight.detach())
assert torch.equal(weights[0], weights[1]), weights
print("trained", len(data))
""")
    done = python_job(2, str(program))
    assert done.returncode == 0 and done.stdout.count("trained 2") == 2, done.stdout + done.stderr
