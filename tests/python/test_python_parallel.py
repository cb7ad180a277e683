"""DistributedDataParallel: the weights of one process with the whole batch, on any number of ranks."""

# ruff: noqa: F821  (what PRELUDE has is there on the ranks)

import pytest
from python_training import PRELUDE

pytest_plugins = ["job_fixtures", "python_fixtures"]


def new_sessions_go_on():
    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    parallel = hvd.DistributedDataParallel(copy.deepcopy(model))
    for _ in range(3):
        for _ in range(2):
            optimizer.zero_grad()
            loss_of(model, [share(one) for one in batches[0]]).backward()
            optimizer.step()
            loss_of(parallel, [share(one) for one in batches[0]]).backward()
        everyone = hvd.allgather(model[0].weight.detach().reshape(1, -1))
        assert torch.equal(everyone, everyone[:1].expand_as(everyone))
        hvd.shutdown()
        hvd.init()


def the_model_is_the_first_ranks():
    torch.manual_seed(rank)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    model[1].running_mean.fill_(rank)
    parallel = hvd.DistributedDataParallel(model)
    for tensor in model.state_dict().values():
        everyone = hvd.allgather(tensor.reshape(1, -1))
        assert torch.equal(everyone, everyone[:1].expand_as(everyone))
    assert [name for name, _ in parallel.named_parameters()][0] == "module.0.weight"


def backward_leaves_means():
    for static in (False, True):
        alone = trained_alone(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
        model, batches = model_and_batches()
        parallel = hvd.DistributedDataParallel(model, static_graph=static)
        optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
        for batch in batches:
            optimizer.zero_grad()
            loss_of(parallel, [share(one) for one in batch]).backward()
            optimizer.step()
        same(model, alone)


def no_sync_adds_up():
    alone = trained_alone(lambda p: torch.optim.SGD(p, lr=0.1), 4, passes=2)
    model, batches = model_and_batches(4)
    parallel = hvd.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    for i in (0, 2):
        optimizer.zero_grad()
        with parallel.no_sync():
            loss_of(parallel, [share(one) for one in batches[i]]).backward()
        loss_of(parallel, [share(one) for one in batches[i + 1]]).backward()
        optimizer.step()
    same(model, alone)


def outputs_may_have_any_form():
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x):
            return {"a": self.used(x), "rest": (x, 3, [self.used(x) * 2])}

    model = hvd.DistributedDataParallel(Named())
    out = model(torch.full((1, 2), rank + 1.0))
    (out["a"].sum() + out["rest"][2][0].sum()).backward()
    assert torch.allclose(model.module.used.weight.grad, torch.full((2, 2), 3 * (size + 1) / 2))
    assert model.module.unused.weight.grad is None
    with torch.no_grad():
        model(torch.ones(1, 2))
    model.eval()(torch.ones(1, 2))


def pieces_need_a_static_graph():
    from torch.utils.checkpoint import checkpoint

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shared = torch.nn.Linear(3, 3)

        def forward(self, x):
            x = checkpoint(self.shared, x, use_reentrant=True)
            return checkpoint(self.shared, x, use_reentrant=True)

    torch.manual_seed(1)
    model = Twice()
    reference = copy.deepcopy(model)
    inputs = torch.arange(12.0).reshape(4, 3).requires_grad_()
    reference(inputs).sum().backward()
    parallel = hvd.DistributedDataParallel(model, static_graph=True)
    for _ in range(3):
        parallel.zero_grad()
        parallel(inputs).sum().backward()
        assert torch.allclose(model.shared.weight.grad, reference.shared.weight.grad)


def who_has_less_data_joins():
    for by_all in (True, False):
        model, batches = model_and_batches(1)
        model = torch.nn.Sequential(model, torch.nn.BatchNorm1d(3).double())
        parallel = hvd.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(parallel.parameters(), lr=0.01)
        with parallel.join(divide_by_initial_world_size=by_all):
            for turn in range(1 + rank):
                optimizer.zero_grad()
                parallel(share(batches[0][0])).sum().backward()
                active = size - turn
                bias = model[1].bias.grad[0].item()
                assert abs(bias - 4.0 * (active / size if by_all else 1.0)) < 1e-9, (bias, active)
                optimizer.step()
        for tensor in model.state_dict().values():
            everyone = hvd.allgather(tensor.reshape(1, -1))
            assert torch.equal(everyone, everyone[:1].expand_as(everyone))
    if size == 1:
        return
    parallel = hvd.DistributedDataParallel(torch.nn.Linear(2, 2))
    try:
        with parallel.join(throw_on_early_termination=True):
            for _ in range(1 + rank):
                parallel(torch.ones(1, 2)).sum().backward()
    except RuntimeError as error:
        assert "rank 0" in str(error)
    else:
        raise AssertionError("nobody noticed that rank 0 had run out")


def wrong_models_are_refused():
    for wrong, kind in (
        (lambda: hvd.DistributedDataParallel(torch.nn.ReLU()), RuntimeError),
        (lambda: hvd.DistributedDataParallel(torch.nn.Linear(1, 1), device_ids=[0, 1]), ValueError),
        (lambda: hvd.DistributedDataParallel(torch.nn.Linear(1, 1), mixed_precision=object()), ValueError),
        (lambda: hvd.DistributedDataParallel(torch.nn.Linear(1, 1), no_such_thing=1), TypeError),
    ):
        try:
            wrong()
        except kind:
            pass
        else:
            raise AssertionError("it was taken")


def a_pass_that_failed_is_over():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ArithmeticError("not this time")

    model = torch.nn.Linear(3, 3)
    parallel = hvd.DistributedDataParallel(model)
    try:
        parallel(Fails.apply(torch.ones(1, 3, requires_grad=True))).sum().backward()
    except ArithmeticError:
        pass
    else:
        raise AssertionError("it did not fail")
    hvd.barrier()
    parallel = hvd.DistributedDataParallel(copy.deepcopy(model))
    parallel(torch.full((1, 3), float(rank))).sum().backward()
    assert torch.allclose(parallel.module.weight.grad, torch.full((3, 3), (size - 1) / 2))


def models_are_copied_and_outputs_changed():
    parallel = hvd.DistributedDataParallel(torch.nn.Linear(2, 2))
    out = parallel(torch.full((1, 2), float(rank)))
    out.mul_(2)
    out.sum().backward()
    assert torch.allclose(parallel.module.weight.grad, torch.full((2, 2), float(size - 1)))
    twin = copy.deepcopy(parallel)
    assert twin.process_set is hvd.global_process_set
    twin.zero_grad()
    twin(torch.full((1, 2), float(rank))).sum().backward()
    assert torch.allclose(twin.module.weight.grad, torch.full((2, 2), (size - 1) / 2))
    import pickle

    assert pickle.loads(pickle.dumps(hvd.global_process_set)) is hvd.global_process_set


PARALLEL = [
    models_are_copied_and_outputs_changed,
    a_pass_that_failed_is_over,
    the_model_is_the_first_ranks,
    backward_leaves_means,
    no_sync_adds_up,
    outputs_may_have_any_form,
    pieces_need_a_static_graph,
    wrong_models_are_refused,
    who_has_less_data_joins,
    new_sessions_go_on,
]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_distributed_data_parallel(on_ranks, ranks):
    on_ranks(ranks, *PARALLEL, prelude=PRELUDE)
