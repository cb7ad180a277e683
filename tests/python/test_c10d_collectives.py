"""Collectives of torch.distributed on the backend "ronde": what the documentation of each says, on 1 to 4 ranks."""

# ruff: noqa: F821  (the functions run on ranks, where torch, dist, rank and size are)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures", "c10d_fixtures"]


def sums_and_others():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8):
        values = torch.arange(1, 7).to(dtype).view(2, 3) * (rank + 1)
        whole = torch.arange(1, 7).view(2, 3)
        for op, expected in (
            (dist.ReduceOp.SUM, whole * size * (size + 1) // 2),
            (dist.ReduceOp.MIN, whole),
            (dist.ReduceOp.MAX, whole * size),
        ):
            given = values.clone()
            assert dist.all_reduce(given, op) is None
            assert torch.equal(given, expected.to(dtype)), (dtype, op, given)
    average = torch.full((3,), float(rank))
    dist.all_reduce(average, dist.ReduceOp.AVG)
    assert torch.equal(average, torch.full((3,), (size - 1) / 2))
    product = torch.tensor([rank + 1])
    dist.all_reduce(product, dist.ReduceOp.PRODUCT)
    assert product.item() == torch.arange(1, size + 1).prod().item()


def bits():
    given = torch.tensor([1 << rank, 7, rank & 1])
    for op, expected in (
        (dist.ReduceOp.BOR, [(1 << size) - 1, 7, int(size > 1)]),
        (dist.ReduceOp.BAND, [1 if size == 1 else 0, 7, 0]),
        (dist.ReduceOp.BXOR, [(1 << size) - 1, 7 if size % 2 else 0, (size // 2) % 2]),
    ):
        values = given.clone()
        dist.all_reduce(values, op)
        assert values.tolist() == expected, (op, values)
        root = given.clone()
        dist.reduce(root, 0, op)
        assert root.tolist() == (expected if rank == 0 else given.tolist())


def any_layout_and_shape():
    wide = torch.arange(12.0).view(3, 4) * (rank + 1)
    dist.all_reduce(wide.t())  # not contiguous: what the view shows is reduced in the tensor's own memory
    assert torch.equal(wide, torch.arange(12.0).view(3, 4) * size * (size + 1) / 2)
    gaps = torch.zeros(6)
    dist.broadcast(gaps[::2] if rank else gaps[::2].fill_(5.0), 0)
    assert gaps.tolist() == [5.0, 0.0] * 3
    for shape in ((), (0,), (1,) * 10):
        one = torch.ones(shape)
        dist.all_reduce(one)
        assert torch.equal(one, torch.full(shape, float(size)))
    picture = torch.full((2, 3, 4, 4), float(rank + 1)).to(memory_format=torch.channels_last)
    dist.all_reduce(picture)
    assert picture.unique().tolist() == [size * (size + 1) / 2]


def complex_and_sparse():
    pair = torch.tensor([1 + 2j, 3j]) * (rank + 1)
    dist.all_reduce(pair)
    assert torch.equal(pair, torch.tensor([1 + 2j, 3j]) * size * (size + 1) / 2)
    every = [torch.zeros(2, dtype=torch.complex64) for _ in range(size)]
    dist.all_gather(every, torch.full((2,), rank * 1j))
    assert all(torch.equal(one, torch.full((2,), i * 1j)) for i, one in enumerate(every))
    # Rank r has r + 1 entries: (0, 0) to (r, 0).
    indices = torch.stack([torch.arange(rank + 1), torch.zeros(rank + 1, dtype=torch.long)])
    sparse = torch.sparse_coo_tensor(indices, torch.ones(rank + 1, 2), (size, 1, 2))
    dist.all_reduce(sparse)
    assert torch.equal(sparse.to_dense()[:, 0, 0], torch.arange(size, 0, -1.0))


def roots():
    for root in range(size):
        sent = torch.full((3,), float(rank))
        dist.broadcast(sent, root)
        assert sent.tolist() == [float(root)] * 3
        summed = torch.ones(4) * (rank + 1)
        dist.reduce(summed, root)
        assert rank != root or summed.tolist() == [size * (size + 1) / 2] * 4
        every = [torch.empty(2) for _ in range(size)] if rank == root else None
        dist.gather(torch.full((2,), float(rank)), every, root)
        assert rank != root or [one.tolist() for one in every] == [[float(i)] * 2 for i in range(size)]
        mine = torch.empty(2)
        dist.scatter(mine, [torch.full((2,), 10.0 * root + i) for i in range(size)] if rank == root else None, root)
        assert mine.tolist() == [10.0 * root + rank] * 2


def gathers():
    mine = torch.full((2, 2), float(rank))
    every = [torch.empty(2, 2) for _ in range(size)]
    dist.all_gather(every, mine)
    assert all(torch.equal(one, torch.full((2, 2), float(i))) for i, one in enumerate(every))
    flat = torch.empty(2 * size, 2)
    dist.all_gather_into_tensor(flat, mine)
    assert torch.equal(flat, torch.cat(every))
    in_place = torch.zeros(size, 3)  # the input may be a part of the output
    in_place[rank] = rank + 1
    dist.all_gather_into_tensor(in_place, in_place[rank])
    assert in_place[:, 0].tolist() == [i + 1.0 for i in range(size)]
    uneven = [torch.empty(i + 1) for i in range(size)]
    dist.all_gather(uneven, torch.full((rank + 1,), float(rank)))
    assert [one.tolist() for one in uneven] == [[float(i)] * (i + 1) for i in range(size)]
    chunks = list(torch.empty(size * 3).chunk(size))  # they lie in a row
    dist.all_gather(chunks, torch.full((3,), float(rank)))
    assert [one[0].item() for one in chunks] == [float(i) for i in range(size)]


def shares():
    whole = torch.arange(size * 3.0).view(size, 3)
    mine = torch.empty(3)
    dist.reduce_scatter(mine, list(whole), dist.ReduceOp.SUM)
    assert torch.equal(mine, whole[rank] * size)
    dist.reduce_scatter_tensor(mine, whole, dist.ReduceOp.AVG)
    assert torch.equal(mine, whole[rank])
    uneven = [torch.full((i + 1,), float(rank)) for i in range(size)]
    mine = torch.empty(rank + 1)
    dist.reduce_scatter(mine, uneven)
    assert mine.tolist() == [size * (size - 1) / 2] * (rank + 1)
    bits = torch.empty(1, dtype=torch.long)
    dist.reduce_scatter(bits, [torch.tensor([1 << rank]) for _ in range(size)], dist.ReduceOp.BOR)
    assert bits.item() == (1 << size) - 1


def all_to_all():
    mine = torch.arange(size * 2.0) + 100 * rank
    got = torch.empty(size * 2)
    dist.all_to_all_single(got, mine)
    assert got.tolist() == [100.0 * i + 2 * rank + j for i in range(size) for j in range(2)]
    # Rank r sends i + 1 rows to rank i.
    sent = torch.full((size * (size + 1) // 2, 2), float(rank))
    got = torch.empty(size * (rank + 1), 2)
    dist.all_to_all_single(got, sent, [rank + 1] * size, [i + 1 for i in range(size)])
    assert got[:, 0].tolist() == [float(i) for i in range(size) for _ in range(rank + 1)]
    lists = [torch.full((i + 1,), 10.0 * rank + i) for i in range(size)]
    came = [torch.empty(rank + 1) for _ in range(size)]
    dist.all_to_all(came, lists)
    assert [one.tolist() for one in came] == [[10.0 * i + rank] * (rank + 1) for i in range(size)]


def together():
    few = [torch.full((i + 1,), float(rank)) for i in range(4)]
    with dist._coalescing_manager():
        for one in few:
            dist.all_reduce(one)
    assert all(one.unique().tolist() == [size * (size - 1) / 2] for one in few)
    with dist._coalescing_manager(async_ops=True) as pending:
        for one in few:
            dist.all_reduce(one)
    pending.wait()
    assert all(one.unique().tolist() == [size * size * (size - 1) / 2] for one in few)
    outputs = [torch.empty(size * 2), torch.empty(size * 3)]
    with dist._coalescing_manager():
        for length, one in zip((2, 3), outputs, strict=True):
            dist.all_gather_into_tensor(one, torch.full((length,), float(rank)))
    assert outputs[1].view(size, 3)[:, 0].tolist() == [float(i) for i in range(size)]
    parts = [torch.empty(2), torch.empty(3)]
    with dist._coalescing_manager():
        for one in parts:
            dist.reduce_scatter_tensor(one, torch.ones(size * one.numel()))
    assert all(one.unique().tolist() == [float(size)] for one in parts)


def objects():
    every = [None] * size
    dist.all_gather_object(every, {"rank": rank, "text": "x" * rank})
    assert [one["rank"] for one in every] == list(range(size))
    sent = [("a", 1), None] if rank == 0 else [None, None]
    dist.broadcast_object_list(sent, 0)
    assert sent == [("a", 1), None]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {i}" for i in range(size)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"]
    dist.barrier()


def works_and_futures():
    tensor = torch.full((1000,), float(rank))
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    assert work.is_completed() and work.is_success() and tensor[0].item() == size * (size - 1) / 2
    future = dist.all_reduce(tensor, async_op=True).get_future()
    doubled = future.then(lambda one: one.value()[0] * 2)
    assert torch.equal(doubled.wait(), tensor * 2)

    # A callback that makes calls itself.
    def again(one):
        summed = one.value()[0].clone()
        dist.all_reduce(summed)
        return summed

    before = tensor.clone()
    chained = dist.all_reduce(tensor, async_op=True).get_future().then(again)
    assert torch.equal(chained.wait(), before * size * size)
    many = [torch.ones(10) for _ in range(200)]
    works = [dist.all_reduce(one, async_op=True) for one in many]
    for work in reversed(works):
        work.wait()
    assert all(one.unique().tolist() == [float(size)] for one in many)
    # Nobody waits for it: it comes to its end, and its memory stays until then.
    for _ in range(20):
        dist.all_reduce(torch.ones(10_000), async_op=True)
    dist.barrier()


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_what_the_documentation_says(on_groups, ranks):
    on_groups(
        ranks, sums_and_others, bits, any_layout_and_shape, complex_and_sparse, roots, gathers, shares, all_to_all,
        together, objects, works_and_futures,
    )  # fmt: skip


def test_between_nodes_too(on_groups):
    on_groups(4, sums_and_others, roots, gathers, shares, all_to_all, together, flags=("--topology-pretend-nodes", "2"))
