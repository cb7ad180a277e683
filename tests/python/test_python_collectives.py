"""hvd's collectives on 1 to 4 ranks: types, shapes, in place and not, names, groups, process sets, joins, errors."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]

RANKS = [("ronde", 1), ("ronde", 2), ("ronde", 3), ("ronde", 4), ("mpirun", 2), ("mpirun", 4)]


def sums_of_all_types_and_shapes():
    types = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    types += [torch.float16, torch.bfloat16, torch.float32, torch.float64]
    for dtype in types:
        for shape in [(), (0,), (1,), (17,), (4, 5), (2, 3, 4), (1,) * 9]:
            tensor = torch.full(shape, rank + 1).to(dtype)
            total = torch.full(shape, size * (size + 1) // 2).to(dtype)
            assert torch.equal(hvd.allreduce(tensor, op=hvd.Sum), total), (dtype, shape)
            assert torch.equal(tensor, torch.full(shape, rank + 1).to(dtype))
            assert hvd.allreduce_(tensor, op=hvd.Sum) is tensor
            assert torch.equal(tensor, total)


def operations_mean_what_they_say():
    values = torch.tensor([rank + 1.0, -rank, 2.0])
    everyone = torch.stack([torch.tensor([r + 1.0, -r, 2.0]) for r in range(size)])
    assert torch.allclose(hvd.allreduce(values), everyone.mean(0))
    assert torch.allclose(hvd.allreduce(values, op=hvd.Average), everyone.mean(0))
    assert torch.equal(hvd.allreduce(values, op=hvd.Min), everyone.amin(0))
    assert torch.equal(hvd.allreduce(values, op=hvd.Max), everyone.amax(0))
    assert torch.allclose(hvd.allreduce(values, op=hvd.Product), everyone.prod(0))
    scaled = hvd.allreduce(values, op=hvd.Sum, prescale_factor=0.5, postscale_factor=4.0)
    assert torch.allclose(scaled, 2 * everyone.sum(0))
    assert torch.equal(hvd.allreduce(torch.tensor([rank == 0, True]), op=hvd.Min), torch.tensor([size == 1, True]))
    same = torch.tensor([3.0, 4.0])
    assert torch.allclose(hvd.allreduce(same, op=hvd.Adasum), same)


def the_older_average_still_works():
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        total = hvd.allreduce(torch.ones(2), average=False)
        assert torch.equal(total, torch.full((2,), float(size)))
        hvd.synchronize(hvd.allreduce_async_(torch.ones(2), True, "older"))
    assert all(one.category is DeprecationWarning for one in caught) and len(caught) == 2
    for wrong in (hvd.allreduce, hvd.allreduce_async, hvd.allreduce_async_):
        try:
            wrong(torch.ones(2), average=True, op=hvd.Sum)
        except ValueError as error:
            assert "average" in str(error)
        else:
            raise AssertionError("both were taken")


def handles_are_numbers():
    assert hvd.synchronize(None) is None
    tensors = [torch.full((10,), float(rank)) for _ in range(20)]
    order = range(20) if rank % 2 else reversed(range(20))
    handles = {i: hvd.allreduce_async(tensors[i], name=f"in any order {i}", op=hvd.Sum) for i in order}
    assert all(isinstance(handle, int) for handle in handles.values())
    for handle in handles.values():
        while not hvd.poll(handle):
            pass
        assert torch.equal(hvd.synchronize(handle), torch.full((10,), float(sum(range(size)))))
        assert hvd.synchronize(handle) is None
    try:
        hvd.poll(handles[0])
    except ValueError:
        pass
    else:
        raise AssertionError("a handle that is used up was polled")


def groups_travel_together():
    ones = [torch.full((n,), float(rank + 1)) for n in (1, 5, 0, 33)]
    total = size * (size + 1) / 2
    sums = hvd.grouped_allreduce(ones, op=hvd.Sum, name="group")
    assert isinstance(sums, list) and all((one == total).all() for one in sums)
    assert [one.numel() for one in sums] == [1, 5, 0, 33]
    in_place = hvd.grouped_allreduce_(ones, op=hvd.Sum)
    assert all(a is b for a, b in zip(in_place, ones, strict=True))
    gathered = hvd.grouped_allgather([torch.full((rank + 1, 2), rank), torch.tensor([rank])])
    assert gathered[0].shape == (size * (size + 1) // 2, 2) and gathered[1].tolist() == list(range(size))
    parts = hvd.grouped_reducescatter([torch.ones(size * 2), torch.ones(size, 3)], op=hvd.Sum)
    assert parts[0].tolist() == [size, size] and parts[1].tolist() == [[size] * 3]
    mixed = hvd.grouped_allreduce([torch.ones(2), torch.ones(2, dtype=torch.float64)], op=hvd.Sum)
    assert mixed[1].dtype == torch.float64


def rows_are_gathered():
    for dtype in (torch.uint8, torch.int64, torch.bfloat16, torch.float32, torch.bool):
        mine = torch.full((rank + 1, 2, 3), rank % 2).to(dtype)
        all_rows = hvd.allgather(mine, name=f"rows {dtype}")
        assert all_rows.dtype == dtype and all_rows.shape == (size * (size + 1) // 2, 2, 3)
        begin = rank * (rank + 1) // 2
        assert torch.equal(all_rows[begin : begin + rank + 1], mine)
    assert hvd.allgather(torch.tensor(float(rank))).tolist() == [float(r) for r in range(size)]
    assert hvd.allgather(torch.zeros(0, 4)).shape == (0, 4)
    assert hvd.allgather(torch.full((1,) * 10, rank)).shape == (size,) + (1,) * 9
    some = hvd.allgather(torch.zeros(rank % 2, 3))
    assert some.shape == (size // 2, 3)


def roots_send():
    for root in range(size):
        tensor = torch.full((3, 2), rank)
        assert (hvd.broadcast(tensor, root) == root).all() and (tensor == rank).all()
        assert hvd.broadcast_(tensor, root_rank=root, name="in place") is tensor and (tensor == root).all()
        handle = hvd.broadcast_async(torch.tensor(rank), root)
        assert hvd.synchronize(handle).item() == root
    try:
        hvd.broadcast(torch.ones(1), size)
    except ValueError as error:
        assert str(size) in str(error)
    else:
        raise AssertionError("a root that does not exist was taken")


def rows_go_everywhere():
    even = hvd.alltoall(torch.arange(2 * size) + 100 * rank)
    assert isinstance(even, torch.Tensor)
    assert even.tolist() == [100 * r + 2 * rank + i for r in range(size) for i in range(2)]
    splits = [r + 1 for r in range(size)]
    rows = torch.cat([torch.full((n, 2), 10 * rank + r) for r, n in enumerate(splits)])
    for given in (splits, torch.tensor(splits, dtype=torch.int32), torch.tensor(splits)):
        output, received = hvd.alltoall(rows, given)
        assert received.tolist() == [rank + 1] * size
        assert received.dtype == (given.dtype if isinstance(given, torch.Tensor) else torch.int32)
        assert output[:, 0].tolist() == [10 * r + rank for r in range(size) for _ in range(rank + 1)]
    for wrong in ([1] * (size + 1), [rows.shape[0] + 1] + [0] * (size - 1), [-1] * size):
        try:
            hvd.alltoall(rows, wrong)
        except ValueError:
            pass
        else:
            raise AssertionError(f"splits {wrong} were taken")
    hvd.barrier()


def shares_of_sums():
    mine = hvd.reducescatter(torch.arange(2.0 * size).reshape(size * 2, 1) + rank, op=hvd.Sum)
    assert mine.flatten().tolist() == [size * (2 * rank + i) + sum(range(size)) for i in range(2)]
    assert torch.allclose(hvd.reducescatter(torch.full((size, 2), float(rank))), torch.tensor((size - 1) / 2))
    uneven = hvd.reducescatter(torch.ones(size + 1, 2), op=hvd.Sum)
    assert uneven.shape[0] == (2 if rank == 0 else 1)
    try:
        hvd.reducescatter(torch.ones(4), op=hvd.Max)
    except ValueError:
        pass
    else:
        raise AssertionError("a maximum was scattered")


def scalars_have_no_shares():
    one, many = torch.tensor(3.0), [torch.ones(size), torch.tensor(3.0)]
    for scatter, given in [
        (hvd.reducescatter, one),
        (hvd.reducescatter_async, one),
        (hvd.grouped_reducescatter, many),
        (hvd.grouped_reducescatter_async, many),
    ]:
        try:
            scatter(given, op=hvd.Sum)
        except ValueError as error:
            assert "is a scalar and has no rows" in str(error)
        else:
            raise AssertionError("a scalar was scattered")
    assert hvd.reducescatter(torch.ones(1), op=hvd.Sum).shape[0] == (1 if rank == 0 else 0), "nothing was left behind"


def sparse_tensors_add_up():
    rows = torch.tensor([[rank, size]])
    sparse = torch.sparse_coo_tensor(rows, torch.ones(2, 3), (size + 1, 3))
    handle = hvd.sparse_allreduce_async(sparse, "sparse", hvd.Sum)
    assert callable(handle)
    dense = handle().to_dense()
    assert dense[:size].eq(1).all() and dense[size].eq(size).all()
    mean = hvd.sparse_allreduce_async(sparse, "sparse", hvd.Average)().to_dense()
    assert torch.allclose(mean[size], torch.ones(3))


def compressors_are_asked():
    class Doubling(hvd.Compression.none):
        @staticmethod
        def compress(tensor):
            return tensor * 2, "remembered"

        @staticmethod
        def decompress(tensor, ctx):
            assert ctx == "remembered"
            return tensor / 2

    tensor = torch.full((4,), 1.5)
    for compression in (hvd.Compression.none, hvd.Compression.fp16, hvd.Compression.bf16, Doubling):
        got = hvd.allreduce(tensor, compression=compression)
        assert got.dtype == torch.float32 and torch.allclose(got, tensor)
    assert hvd.Compression.fp16.compress(torch.ones(2, dtype=torch.int32))[0].dtype == torch.int32


def gradients_flow():
    def leaf(*shape):
        return torch.ones(*shape, requires_grad=True)

    a = leaf(3)
    hvd.allreduce(a * (rank + 1), op=hvd.Sum).backward(torch.full((3,), float(rank)))
    assert torch.allclose(a.grad, torch.full((3,), float(sum(range(size)) * (rank + 1))))
    a = leaf(3)
    hvd.allreduce(a, op=hvd.Average).sum().backward()
    assert torch.allclose(a.grad, torch.ones(3))
    b, c = leaf(2), leaf(2)
    sum(one.sum() for one in hvd.grouped_allreduce([b, c], op=hvd.Sum)).backward()
    assert torch.equal(b.grad, torch.full((2,), float(size))) and torch.equal(c.grad, b.grad)
    rows = leaf(rank + 1, 2)
    weight = torch.arange(float(size * (size + 1) // 2)).reshape(-1, 1)
    (hvd.allgather(rows) * weight).sum().backward()
    begin = rank * (rank + 1) // 2
    assert torch.allclose(rows.grad, weight[begin : begin + rank + 1].expand(-1, 2))
    root = leaf(2)
    hvd.broadcast(root, 0).sum().backward()
    assert torch.allclose(root.grad, torch.ones(2) if rank == 0 else torch.zeros(2))
    sent = leaf(size, 2)
    (hvd.alltoall(sent) * (rank + 1)).sum().backward()
    assert torch.allclose(sent.grad[:, 0], torch.arange(1.0, size + 1))
    shared = leaf(size, 2)
    (hvd.reducescatter(shared, op=hvd.Sum) * (rank + 1)).sum().backward()
    assert torch.allclose(shared.grad[:, 0], size * torch.arange(1.0, size + 1))


def results_may_be_changed_in_place():
    own = torch.full((2, 3), rank + 1.0, requires_grad=True)
    gathered = hvd.allgather(own)
    assert gathered._base is None
    gathered[2 * rank : 2 * rank + 2] = own * 2
    gathered.sum().backward()
    hvd.alltoall(torch.ones(size, requires_grad=True)).mul_(2)
    hvd.reducescatter(torch.ones(size, requires_grad=True))[0] = 3
    for many in hvd.grouped_allgather([own, own]):
        many.mul_(2)


def rows_without_a_split_stay():
    own = torch.arange(size + 3.0, requires_grad=True)
    rows, counts = hvd.alltoall(own, torch.ones(size, dtype=torch.int32))
    assert rows.tolist() == [rank] * size and counts.tolist() == [1] * size
    rows.sum().backward()
    assert own.grad.tolist() == [1] * size + [0] * 3
    assert hvd.alltoall(own.detach(), splits=[1.0] * size)[0].tolist() == [rank] * size


def wrong_tensors_are_refused():
    for wrong in (torch.ones(4, 4).t()[1:], torch.ones(2, dtype=torch.complex64), torch.ones(3).to_sparse()):
        for function in (hvd.allreduce_async_, hvd.allgather_async, lambda one: hvd.broadcast_async_(one, 0)):
            try:
                function(wrong)
            except ValueError:
                pass
            else:
                raise AssertionError(f"{wrong} was taken")
    for call in (
        lambda: hvd.allreduce_async_("text"),
        lambda: hvd.allreduce_async_(),
        lambda: hvd.allreduce_async_(torch.ones(1), what=1),
    ):
        try:
            call()
        except TypeError:
            pass
        else:
            raise AssertionError("nonsense was taken")


def one_name_at_a_time():
    if size == 1:
        return
    if rank == 0:
        first = hvd.allreduce_async(torch.ones(2), name="same")
        try:
            hvd.allreduce_async(torch.ones(2), name="same")
        except ValueError as error:
            assert "same" in str(error)
        else:
            raise AssertionError("two requests of one name")
        hvd.barrier()
        hvd.synchronize(first)
    else:
        hvd.barrier()
        hvd.allreduce(torch.ones(2), name="same")


def disagreement_names_ranks():
    if size == 1:
        return
    cases = [
        lambda: hvd.allreduce(torch.ones(2 + rank), name="shapes"),
        lambda: hvd.allreduce(torch.ones(2).to(torch.float64 if rank else torch.float32), name="types"),
        lambda: hvd.allreduce(torch.ones(2), op=hvd.Sum if rank else hvd.Max, name="operations"),
        lambda: hvd.broadcast(torch.ones(2), root_rank=min(rank, 1), name="roots"),
        lambda: hvd.allgather(torch.ones(2, 2 + rank), name="rows"),
    ]
    for case in cases:
        try:
            case()
        except hvd.HorovodInternalError as error:
            assert isinstance(error, RuntimeError) and "rank 0" in str(error), error
        else:
            raise AssertionError("ranks disagreed and nobody noticed")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size


def joined_ranks_count_as_zero():
    for step in range(rank + 1):
        waiting = sum(1 for r in range(size) if r >= step)
        assert hvd.allreduce(torch.ones(3), name="joined", op=hvd.Sum).tolist() == [waiting] * 3
        assert torch.allclose(hvd.allreduce(torch.ones(3), name="mean"), torch.tensor(waiting / size))
    last = hvd.join()
    assert isinstance(last, int) and last == size - 1
    assert hvd.join() in range(size)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size


ALL = [
    sums_of_all_types_and_shapes,
    operations_mean_what_they_say,
    the_older_average_still_works,
    handles_are_numbers,
    groups_travel_together,
    rows_are_gathered,
    roots_send,
    rows_go_everywhere,
    shares_of_sums,
    scalars_have_no_shares,
    sparse_tensors_add_up,
    compressors_are_asked,
    gradients_flow,
    results_may_be_changed_in_place,
    rows_without_a_split_stay,
    wrong_tensors_are_refused,
    one_name_at_a_time,
    disagreement_names_ranks,
    joined_ranks_count_as_zero,
]


@pytest.mark.parametrize("launcher,ranks", RANKS)
def test_collectives(on_ranks, launcher, ranks):
    on_ranks(ranks, *ALL, launcher=launcher)
