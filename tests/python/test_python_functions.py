"""Parameters, optimizer state and objects on their way from one rank to all."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]


def parameters_become_the_roots():
    for root in range(size):
        for form in (
            dict,
            lambda d: d.items(),
            lambda d: iter(d.items()),
            lambda d: list(d.values()),
            lambda d: d.values(),
        ):
            model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3))
            model.to(memory_format=torch.channels_last)
            for tensor in model.state_dict().values():
                tensor.fill_(rank)
            hvd.broadcast_parameters(form(model.state_dict()), root_rank=root)
            assert all((tensor == root).all() for tensor in model.state_dict().values())
        model = torch.nn.Linear(3, 2)
        hvd.broadcast_parameters(model.named_parameters(), root)
        hvd.broadcast_parameters(model.parameters(), root_rank=root)
        everywhere = hvd.allgather(model.weight.detach().reshape(1, -1))
        assert (everywhere == everywhere[0]).all()


def nonsense_is_refused():
    for wrong in (5, None, "text", torch.ones(3), [3], {"a": 1}, [("a", 1, 2)]):
        try:
            hvd.broadcast_parameters(wrong, root_rank=0)
        except ValueError as error:
            assert "invalid params" in str(error)
        else:
            raise AssertionError(f"{wrong!r} was taken")


def objects_travel():
    class Local:
        def __init__(self, value):
            self.value = value

    for root in range(size):
        got = hvd.broadcast_object(
            {"a": [1, 2], "f": lambda x, root=root: x + root, "o": Local(7)} if rank == root else None, root
        )
        assert got["a"] == [1, 2] and got["f"](1) == root + 1 and got["o"].value == 7
    everyone = hvd.allgather_object({"rank": rank, "data": "x" * (1000 * rank)})
    assert [one["rank"] for one in everyone] == list(range(size))
    assert [len(one["data"]) for one in everyone] == [1000 * r for r in range(size)]
    assert hvd.allgather_object(None, name="nothing") == [None] * size


def objects_travel_in_process_sets():
    if size < 3:
        return
    others = hvd.add_process_set([1, 2])
    if rank in (1, 2):
        assert hvd.broadcast_object(f"from {rank}", root_rank=2, process_set=others) == "from 2"
        assert hvd.allgather_object(rank, process_set=others) == [1, 2]
    hvd.remove_process_set(others)


def optimizers_of_all_kinds_become_the_roots():
    import inspect

    kinds = [kind for name, kind in sorted(vars(torch.optim).items()) if inspect.isclass(kind)]
    kinds = [kind for kind in kinds if issubclass(kind, torch.optim.Optimizer) and kind is not torch.optim.Optimizer]
    checked = 0
    for kind in kinds:
        if kind in (torch.optim.LBFGS, torch.optim.SparseAdam) or kind.__name__ == "Muon":
            continue
        torch.manual_seed(rank)
        model = torch.nn.Linear(4, 3)
        options = {"lr": 0.1 / (1 + rank)} | (
            {"momentum": 0.9} if kind in (torch.optim.SGD, torch.optim.RMSprop) else {}
        )
        optimizer = kind(model.parameters(), **options)
        if rank == 0:  # has trained; the others are fresh
            for _ in range(2):
                model(torch.randn(5, 4)).square().sum().backward()
                optimizer.step()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        group = optimizer.param_groups[0]
        optimizer.zero_grad()
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        assert all((value == before[name]).all() for name, value in model.state_dict().items()), kind
        assert all(parameter.grad is None for parameter in model.parameters())
        assert group is optimizer.param_groups[0] and group["lr"] == 0.1
        states = hvd.allgather_object(optimizer.state_dict())
        assert states[0]["state"], kind
        for state in states[1:]:
            torch.testing.assert_close(state["state"], states[0]["state"], rtol=0, atol=0)
            assert state["param_groups"] == states[0]["param_groups"]
        model(torch.randn(5, 4)).square().sum().backward()
        optimizer.step()  # the state is of use
        checked += 1
    assert checked >= 10


def parameters_without_a_gradient_yet():
    import inspect

    kinds = [kind for name, kind in sorted(vars(torch.optim).items()) if inspect.isclass(kind)]
    kinds = [kind for kind in kinds if issubclass(kind, torch.optim.Optimizer) and kind is not torch.optim.Optimizer]
    for kind in kinds:
        if kind in (torch.optim.LBFGS, torch.optim.SparseAdam) or kind.__name__ == "Muon":
            continue
        for trained in (0, 1):  # that rank has made a step, with gradients of one layer alone; the others are fresh
            layers = torch.nn.ModuleList([torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)])
            momentum = {"momentum": 0.9} if kind in (torch.optim.SGD, torch.optim.RMSprop) else {}
            optimizer = kind(layers.parameters(), lr=0.1, **momentum)
            if rank == trained:
                layers[0](torch.randn(5, 4)).sum().backward()
                optimizer.step()
            hvd.broadcast_optimizer_state(optimizer, root_rank=0)
            fresh = [one for one in layers[1].parameters() if one in optimizer.state]
            assert all(not optimizer.state[one] for one in fresh) or kind is torch.optim.Adagrad, kind
            states = hvd.allgather_object(optimizer.state_dict()["state"])
            for state in states[1:]:
                torch.testing.assert_close(state, states[0], rtol=0, atol=0)
            layers[1](layers[0](torch.randn(5, 4))).square().sum().backward()
            optimizer.step()  # the other layer's first


def fresh_optimizers_stay_fresh_and_weights_stay():
    model = torch.nn.Linear(4, 3)
    before = model.weight.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.5, weight_decay=0.5)
    if rank == size - 1 and size > 1:  # one that has a state, and the root has none
        model.weight.grad = torch.zeros_like(model.weight)
        optimizer.step()
        before = model.weight.detach().clone()
        optimizer.zero_grad()
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert (model.weight == before).all() and model.weight.grad is None
    assert not optimizer.state


def odd_state_travels():
    parameter = torch.nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([parameter], lr=torch.tensor(0.1 * (rank + 1)))
    if rank == 0:
        nested = {
            "history": [torch.ones(2), (torch.tensor(3.0), None)],
            "complex": torch.ones(1, dtype=torch.complex64),
        }
        optimizer.state[parameter] = {"step": torch.tensor(5.0), "none": None, "nested": nested, "name": "x"}
        optimizer.state["all"] = {"count": 4, "sum": torch.tensor([1, 2], dtype=torch.int64)}
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    state = optimizer.state[parameter]
    assert state["step"] == 5 and state["step"].dim() == 0 and state["none"] is None and state["name"] == "x"
    assert state["nested"]["history"][1][0] == 3 and (state["nested"]["history"][0] == 1).all()
    assert state["nested"]["complex"].dtype == torch.complex64
    assert optimizer.state["all"]["sum"].tolist() == [1, 2]
    assert abs(float(optimizer.param_groups[0]["lr"]) - 0.1) < 1e-6


def distributed_optimizers_too():
    model = torch.nn.Linear(4, 3)
    inner = torch.optim.Adam(model.parameters(), lr=0.1 * (rank + 1))
    optimizer = hvd.DistributedOptimizer(inner, named_parameters=model.named_parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).sum().backward()
        optimizer.step()
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert all(state["step"] == 2 for state in optimizer.state.values())


def what_cannot_be_is_refused():
    model = torch.nn.Linear(4, 3)
    for optimizer, word in (
        (torch.optim.LBFGS(model.parameters()), "LBFGS"),
        (torch.optim.SGD([model.weight] if rank else list(model.parameters()), lr=0.1), "groups of"),
    ):
        if size == 1 and word != "LBFGS":
            continue
        try:
            hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        except ValueError as error:
            assert word in str(error)
        else:
            raise AssertionError(f"{word}: was taken")


ALL = (
    parameters_become_the_roots,
    nonsense_is_refused,
    objects_travel,
    objects_travel_in_process_sets,
    optimizers_of_all_kinds_become_the_roots,
    parameters_without_a_gradient_yet,
    fresh_optimizers_stay_fresh_and_weights_stay,
    odd_state_travels,
    distributed_optimizers_too,
    what_cannot_be_is_refused,
)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_what_begins_a_training_travels(on_ranks, ranks):
    on_ranks(ranks, *ALL)


def test_under_mpirun(on_ranks):
    on_ranks(2, *ALL, launcher="mpirun")
