"""DistributedOptimizer: the weights of one process with the whole batch, on any number of ranks."""

# ruff: noqa: F821  (what PRELUDE has is there on the ranks)

import pytest
from python_training import PRELUDE

pytest_plugins = ["job_fixtures", "python_fixtures"]


def every_optimizer_ends_as_alone():
    makers = [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
        lambda p: torch.optim.Adam(p, lr=0.01),
        lambda p: torch.optim.AdamW(p, lr=0.01),
        lambda p: torch.optim.Adagrad(p, lr=0.05),
        lambda p: torch.optim.Adadelta(p),
        lambda p: torch.optim.Adamax(p),
        lambda p: torch.optim.NAdam(p),
        lambda p: torch.optim.RAdam(p),
        lambda p: torch.optim.RMSprop(p, lr=0.001),
        lambda p: torch.optim.Rprop(p),
        lambda p: torch.optim.ASGD(p),
    ]
    for make in makers:
        alone = trained_alone(make)
        model, batches = model_and_batches()
        inner = make(model.parameters())
        optimizer = hvd.DistributedOptimizer(inner, named_parameters=model.named_parameters())
        assert isinstance(optimizer, type(inner)) and optimizer.__class__.__name__ == type(inner).__name__
        for batch in batches:
            optimizer.zero_grad()
            loss_of(model, [share(one) for one in batch]).backward()
            optimizer.step()
        same(model, alone)


def closures_are_reduced():
    alone, batches = model_and_batches(1)
    optimizer = torch.optim.LBFGS(alone.parameters(), max_iter=4)

    def closure(model=alone, take=lambda one: one):
        optimizer.zero_grad()
        loss = loss_of(model, [take(one) for one in batches[0]])
        loss.backward()
        return loss

    optimizer.step(closure)
    model, _ = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.LBFGS(model.parameters(), max_iter=4))
    optimizer.step(lambda: closure(model, share))
    same(model, alone, 1e-8)


def passes_add_up():
    alone = trained_alone(lambda p: torch.optim.SGD(p, lr=0.1), 4, passes=2)
    model, batches = model_and_batches(4)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), backward_passes_per_step=2
    )
    for i in (0, 2):
        optimizer.zero_grad()
        for batch in batches[i : i + 2]:
            loss_of(model, [share(one) for one in batch]).backward()
        optimizer.step()
    same(model, alone)
    optimizer.set_backward_passes_per_step(1)
    optimizer.zero_grad()
    loss_of(model, [share(one) for one in batches[0]]).backward()
    optimizer.step()


def options_change_the_way_not_the_result():
    alone = trained_alone(lambda p: torch.optim.SGD(p, lr=0.1))

    class Doubling:
        @staticmethod
        def compress(tensor):
            return tensor * 2, tensor.shape

        @staticmethod
        def decompress(tensor, ctx):
            assert tensor.shape == ctx
            return tensor / 2

    def first_layer(model):
        return [[model[0].weight, model[0].bias]]

    ways = [
        {"gradient_predivide_factor": 2.0},
        {"groups": 2},
        {"groups": first_layer},
        {"num_groups": 1},
        {"compression": Doubling},
        {"sparse_as_dense": True},
    ]
    for way in ways:
        model, batches = model_and_batches()
        way = {key: value(model) if value is first_layer else value for key, value in way.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), **way)
        for batch in batches:
            optimizer.zero_grad(set_to_none=bool(len(way) % 2))
            loss_of(model, [share(one) for one in batch]).backward()
            optimizer.step()
        same(model, alone)
    for compression in (hvd.Compression.fp16, hvd.Compression.bf16):
        model, batches = model_and_batches()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), compression=compression)
        for batch in batches:
            optimizer.zero_grad()
            loss_of(model, [share(one) for one in batch]).backward()
            optimizer.step()
        same(model, alone, 1e-2)


def wrong_arguments_are_refused():
    model, _ = model_and_batches()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    named = list(model.named_parameters())
    wrong = [
        {"named_parameters": named[:-1]},
        {"named_parameters": [("same", one) for _, one in named]},
        {"named_parameters": model.parameters()},
        {"backward_passes_per_step": 0},
        {"gradient_predivide_factor": 2.0, "op": hvd.Sum},
        {"groups": 0},
        {"groups": [[1]]},
        {"groups": [[named[0][1]], [named[0][1]]]},
    ]
    for case in wrong:
        try:
            hvd.DistributedOptimizer(sgd, **case)
        except ValueError:
            pass
        else:
            raise AssertionError(f"{case} was taken")
    optimizer = hvd.DistributedOptimizer(sgd, named)
    assert optimizer._parameter_names[named[0][1]] == named[0][0]


def state_and_schedules_are_kept():
    model, batches = model_and_batches()
    inner = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.5, 0.6))
    schedule = torch.optim.lr_scheduler.StepLR(inner, 1, 0.1)
    loss_of(model, batches[0]).backward()
    inner.step()
    optimizer = hvd.DistributedOptimizer(inner)
    assert optimizer.defaults["lr"] == 0.5 and len(optimizer.state_dict()["state"]) == 4
    later = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.zero_grad()
        loss_of(model, batches[0]).backward()
        optimizer.step()
        later.step()
    schedule.step()
    assert abs(optimizer.param_groups[0]["lr"] - 0.005) < 1e-9
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append(1))
    optimizer.zero_grad()
    loss_of(model, batches[0]).backward()
    optimizer.step()
    assert len(calls) == 1
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def synchronize_then_step():
    alone, batches = model_and_batches(1)
    sgd = torch.optim.SGD(alone.parameters(), lr=0.1)
    loss_of(alone, batches[0]).backward()
    norm = torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.1)
    sgd.step()
    model, _ = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    loss_of(model, [share(one) for one in batches[0]]).backward()
    optimizer.synchronize()
    assert torch.allclose(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1), norm)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with optimizer.skip_synchronize():
            optimizer.step()
    same(model, alone)
    optimizer.zero_grad()
    loss_of(model, [share(one) for one in batches[0]]).backward()
    optimizer.synchronize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer.step()
    assert len(caught) == 1 and "skip_synchronize" in str(caught[0].message)


def scalers_work_as_they_are():
    for options in ({}, {"op": hvd.Adasum}):
        model, batches = model_and_batches(dtype=torch.float32)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), **options)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        before = copy.deepcopy(model.state_dict())
        for turn, batch in enumerate(batches):
            inputs, targets = [share(one) for one in batch]
            if turn == 0 and rank == size - 1:
                inputs = inputs * float("inf")
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_of(model, (inputs, targets))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            if turn == 0:  # one rank overflowed: nobody takes the step
                assert all(torch.equal(before[name], one) for name, one in model.state_dict().items())
                assert scaler.get_scale() == 512.0
        everyone = hvd.allgather(model[0].weight.detach().reshape(1, -1))
        assert (everyone == everyone[0]).all() and not torch.equal(model[0].weight, before["0.weight"])


def missing_gradients_are_zeros():
    if size == 1:
        return
    model, batches = model_and_batches(1)
    unused = torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([*model.parameters(), unused], lr=0.1))
    optimizer.zero_grad()
    if rank == 0:
        loss_of(model, batches[0]).backward()
    optimizer.step()
    assert torch.equal(unused.grad, torch.zeros(5, dtype=torch.float64)) and (unused == 1).all()
    everyone = hvd.allgather(model[0].weight.detach().reshape(1, -1))
    assert torch.equal(everyone, everyone[:1].expand_as(everyone))
    alone, _ = model_and_batches(1)
    loss_of(alone, batches[0]).backward()
    assert torch.allclose(model[0].weight.grad, alone[0].weight.grad / size)


def parameters_may_freeze_and_thaw():
    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    for frozen in (True, False, True, False):
        optimizer.zero_grad()
        for parameter in model[0].parameters():
            parameter.requires_grad_(not frozen)
        loss_of(model, [share(one) for one in batches[0]]).backward()
        optimizer.step()
        everyone = hvd.allgather(model[0].weight.detach().reshape(1, -1))
        assert torch.equal(everyone, everyone[:1].expand_as(everyone))


def memory_orders_that_differ_are_told():
    if size == 1:
        return
    for last_on in (range(size), [], [1]):
        torch.manual_seed(3)
        layer = torch.nn.Conv2d(3, 8, 3)  # 3 channels, 3 x 3: the shape says nothing about the order
        if rank in last_on:
            layer = layer.to(memory_format=torch.channels_last)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1), layer.named_parameters())
        try:
            layer(torch.randn(2, 3, 8, 8)).sum().backward()
            optimizer.step()
        except hvd.HorovodInternalError as error:
            assert last_on == [1] and "in memory order 0 2 3 1 (channels last)" in str(error), error
        else:
            assert last_on != [1], "different elements were added up"
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size  # the engine goes on


def sparse_gradients_travel():
    for as_dense in (False, True):
        torch.manual_seed(3)
        table = torch.nn.Embedding(10, 4, sparse=True)
        before = table.weight.detach().clone()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=1.0), sparse_as_dense=as_dense)
        for _ in range(3):
            optimizer.zero_grad()
            table(torch.tensor([rank, 9, 9])).sum().backward()
            optimizer.step()
        change = (before - table.weight.detach())[:, 0]
        assert torch.allclose(change[:size], torch.full((size,), 3.0 / size)) and torch.allclose(
            change[9], torch.tensor(6.0)
        )


def sparse_adam_gets_sparse_gradients():
    weights = []
    for as_dense in (False, True):
        torch.manual_seed(3)
        table = torch.nn.Embedding(10, 4, sparse=True)
        adam = torch.optim.SparseAdam(list(table.parameters()), lr=0.1)
        optimizer = hvd.DistributedOptimizer(adam, table.named_parameters(), sparse_as_dense=as_dense)
        for step in range(3):
            optimizer.zero_grad()
            table(torch.tensor([rank, step, 9])).sum().backward()
            optimizer.step()
        weights.append(table.weight.detach().clone())
    assert torch.allclose(weights[0], weights[1])


def misuse_is_told():
    if size == 1:
        return
    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())

    def backward():
        loss_of(model, [share(one) for one in batches[0]]).backward()

    backward()
    for wrong in (optimizer.zero_grad, backward):
        try:
            wrong()
        except AssertionError as error:
            assert "step()" in str(error), error
        else:
            raise AssertionError("gradients on their way were thrown away")
    hvd.barrier()


def adasum_combines_steps():
    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), op=hvd.Adasum)
    alone, _ = model_and_batches(1)
    sgd = torch.optim.SGD(alone.parameters(), lr=0.1)
    for _ in range(2):
        for one, by, batch in ((model, optimizer, batches[0]), (alone, sgd, batches[0])):
            by.zero_grad()
            loss_of(one, batch).backward()
            by.step()
    same(model, alone)  # all ranks took the same step: so did all of them together
    optimizer.synchronize()


def two_optimizers_take_turns():
    makers = [torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)]
    for one in makers:
        hvd.broadcast_parameters(one.state_dict(), 0)
    optimizers = [
        hvd.DistributedOptimizer(torch.optim.SGD(one.parameters(), lr=0.1), one.named_parameters(prefix=f"net{i}"))
        for i, one in enumerate(makers)
    ]
    for turn in range(6):
        optimizer = optimizers[turn % 2]
        optimizer.zero_grad()
        makers[1](makers[0](torch.full((2, 4), rank + 1.0))).sum().backward()
        for each in optimizers:
            each.synchronize()
        with optimizer.skip_synchronize():
            optimizer.step()
        optimizers[1 - turn % 2].zero_grad()
    for one in makers:
        everyone = hvd.allgather(one.weight.detach().reshape(1, -1))
        assert torch.equal(everyone, everyone[:1].expand_as(everyone))


def join_while_others_train():
    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01))
    for _ in range(2 + rank):
        optimizer.zero_grad()
        loss_of(model, [share(one) for one in batches[0]]).backward()
        optimizer.step()
    last = hvd.join()
    assert last == size - 1
    hvd.broadcast_parameters(model.state_dict(), last)


def groups_are_a_list_to_everybody_else():
    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), op=hvd.Sum)
    first, second = [loss_of(model, [share(one) for one in batches[0]]) for _ in range(2)]
    looks = model[2].weight.register_hook(lambda _: print(optimizer.param_groups[0]["lr"]))
    first.backward()
    if rank == 0:
        assert optimizer.param_groups[0]["lr"] == 0.1
    optimizer.synchronize()
    looks.remove()
    alone, _ = model_and_batches(1)
    (loss_of(alone, batches[0]) * size).backward()
    assert torch.allclose(model[2].weight.grad, alone[2].weight.grad)
    optimizer.zero_grad()


def many_optimizers_live_together():
    models = [torch.nn.Linear(200, 200) for _ in range(30)]
    optimizers = [
        hvd.DistributedOptimizer(torch.optim.SGD(one.parameters(), lr=0.1), one.named_parameters(prefix=str(i)))
        for i, one in enumerate(models)
    ]
    for one, optimizer in zip(models, optimizers, strict=True):
        one(torch.full((1, 200), float(rank))).sum().backward()
        optimizer.step()
        assert torch.allclose(one.weight.grad, torch.full((200, 200), (size - 1) / 2))


def optimizers_of_your_own_work():
    class Own(torch.optim.SGD):
        def __init__(self, params, rate):  # as Horovod could not wrap
            super().__init__(params, lr=rate)
            self.zeroed = 0

        def zero_grad(self):
            self.zeroed += 1
            super().zero_grad()

    model, batches = model_and_batches(1)
    optimizer = hvd.DistributedOptimizer(Own(model.parameters(), 0.1))
    optimizer.zero_grad()
    loss_of(model, [share(one) for one in batches[0]]).backward()
    optimizer.step()
    assert optimizer.zeroed == 1


def classes_are_made_as_horovods_are():
    from ronde.torch.optimizer import _DistributedOptimizer

    model, batches = model_and_batches(3)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    made = type("Mine", (torch.optim.SGD,), dict(_DistributedOptimizer.__dict__))
    optimizer = made(sgd.param_groups, model.named_parameters(), hvd.Compression.none, 1, hvd.Average)
    for batch in batches:
        optimizer.zero_grad()
        loss_of(model, [share(one) for one in batch]).backward()
        optimizer.step()
    same(model, trained_alone(lambda parameters: torch.optim.SGD(parameters, lr=0.1)))
    assert optimizer.find_duplicates(["a", "b", "a"]) == {"a"}


OPTIMIZER = [
    groups_are_a_list_to_everybody_else,
    many_optimizers_live_together,
    optimizers_of_your_own_work,
    every_optimizer_ends_as_alone,
    closures_are_reduced,
    passes_add_up,
    options_change_the_way_not_the_result,
    wrong_arguments_are_refused,
    state_and_schedules_are_kept,
    synchronize_then_step,
    scalers_work_as_they_are,
    missing_gradients_are_zeros,
    parameters_may_freeze_and_thaw,
    memory_orders_that_differ_are_told,
    sparse_gradients_travel,
    sparse_adam_gets_sparse_gradients,
    adasum_combines_steps,
    two_optimizers_take_turns,
    join_while_others_train,
    classes_are_made_as_horovods_are,
    misuse_is_told,
]


@pytest.mark.parametrize("launcher,ranks", [("ronde", 1), ("ronde", 2), ("ronde", 3), ("ronde", 4), ("mpirun", 2)])
def test_optimizer(on_ranks, launcher, ranks):
    on_ranks(ranks, *OPTIMIZER, prelude=PRELUDE, launcher=launcher)
