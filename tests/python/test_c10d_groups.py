"""Messages, groups and failures of torch.distributed on the backend "ronde"."""

# ruff: noqa: F821  (the functions run on ranks, where torch, dist, rank and size are)

import re

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures", "c10d_fixtures"]


def messages():
    right, left = (rank + 1) % size, (rank - 1) % size
    got = torch.empty(3)
    sending = dist.isend(torch.full((3,), float(rank)), right)
    assert dist.recv(got, left) == left
    sending.wait()
    assert got.tolist() == [float(left)] * 3
    # Those of one tag come in order; tags are apart from each other.
    sent = [dist.isend(torch.tensor([10 * tag + i]), right, tag=tag) for tag in (0, 1, 2) for i in range(5)]
    for tag in (2, 0, 1):
        for i in range(5):
            one = torch.empty(1, dtype=torch.long)
            dist.recv(one, left, tag=tag)
            assert one.item() == 10 * tag + i
    for work in sent:
        work.wait()
    got = [torch.empty(2) for _ in range(2)]
    pairs = [dist.P2POp(dist.isend, torch.full((2,), float(i)), right) for i in range(2)]
    pairs += [dist.P2POp(dist.irecv, one, left) for one in got]
    for work in dist.batch_isend_irecv(pairs):
        work.wait()
    assert [one.tolist() for one in got] == [[0.0, 0.0], [1.0, 1.0]]
    objects = [{"from": rank}]
    if rank % 2 == 0:
        dist.send_object_list(objects, right)
        dist.recv_object_list(objects, left)
    else:
        came = [None]
        dist.recv_object_list(came, left)
        dist.send_object_list(objects, right)
        objects = came
    assert objects == [{"from": left}]


def a_future_does_not_wait_for_another():
    if rank == 0:
        late = torch.empty(1)
        receiving = dist.irecv(late, 1).get_future()
        summed = torch.ones(1)
        dist.all_reduce(summed, async_op=True).get_future().wait()
        assert summed.item() == size and not receiving.done()
        dist.send(summed, 1)
        receiving.wait()
        assert late.item() == 7
    else:
        dist.all_reduce(torch.ones(1))
        if rank == 1:
            dist.recv(torch.empty(1), 0)
            dist.send(torch.full((1,), 7.0), 0)
    dist.barrier()  # a group is over when a member has left


def groups():
    even = dist.new_group(list(range(0, size, 2)))
    backwards = dist.new_group(list(range(size))[::-1])
    alone = [dist.new_group([i], timeout=__import__("datetime").timedelta(minutes=2)) for i in range(size)]
    for _ in range(3):
        one = torch.full((5,), float(rank))
        dist.all_reduce(one, group=even)
        evens = list(range(0, size, 2))
        assert one[0].item() == (sum(evens) if rank % 2 == 0 else rank)
        dist.all_reduce(one.fill_(1.0), group=backwards)
        assert one[0].item() == size
        dist.all_reduce(one.fill_(3.0), group=alone[rank])
        assert one[0].item() == 3.0
        dist.all_reduce(one)
    if rank % 2 == 0 and size > 2:
        got = torch.empty(1)
        dist.broadcast(got.fill_(rank), src=2, group=even)
        assert got.item() == 2
        assert dist.get_global_rank(even, 1) == 2 and dist.get_group_rank(even, rank) == rank // 2
    # Members alone make one: the others do not hear of it.
    if rank < 2 and size > 1:
        both = dist.new_group([0, 1], use_local_synchronization=True)
        one = torch.ones(2)
        dist.all_reduce(one, group=both)
        assert one.tolist() == [2.0, 2.0]
        dist.destroy_process_group(both)
    dist.destroy_process_group(even) if rank % 2 == 0 else None
    for _ in range(10):
        again = dist.new_group(list(range(size)))
        one = torch.ones(1000)
        dist.all_reduce(one, group=again)
        assert one[0].item() == size
        dist.destroy_process_group(again)
    assert dist.get_backend() == "ronde"
    dist.barrier()


def monitored():
    world = dist.group.WORLD
    world.monitored_barrier(__import__("datetime").timedelta(seconds=30))
    if rank != 1:
        try:
            world.monitored_barrier(__import__("datetime").timedelta(seconds=1), True)
        except RuntimeError as error:
            assert "rank 1 of the group did not arrive" in str(error) or "waits for all ranks" in str(error), error
        else:
            raise AssertionError("rank 1 has not come")
    dist.barrier()


@pytest.mark.parametrize("nodes", ["1", "2"])
def test_groups_and_messages(on_groups, nodes):
    functions = (messages, groups, monitored, a_future_does_not_wait_for_another)
    on_groups(4, *functions, flags=("--topology-pretend-nodes", nodes))


def wrong_arguments():
    for call, words in (
        (lambda: dist.all_gather([torch.empty(2)] * (size + 1), torch.empty(2)), f"the group has {size} ranks"),
        (lambda: dist.all_gather_into_tensor(torch.empty(3), torch.empty(2)), "do not fit a group of"),
        (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND), "bitwise reductions need integers"),
        (lambda: dist.all_to_all_single(torch.empty(3), torch.empty(3)), "cannot be divided equally"),
    ):
        try:
            call()
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    dist.barrier()


def ranks_that_disagree():
    try:
        dist.all_reduce(torch.ones(2 + rank))
    except dist.DistBackendError as error:
        assert "rank 0" in str(error) and "[2]" in str(error) and "[3]" in str(error), error
    else:
        raise AssertionError("shapes differ")
    try:
        dist.all_reduce(torch.ones(2)) if rank else dist.broadcast(torch.ones(2), 0)
    except dist.DistBackendError as error:
        assert "allreduce" in str(error) and "broadcast" in str(error), error
    else:
        raise AssertionError("calls differ")
    future = dist.all_reduce(torch.ones(2 + rank), async_op=True).get_future()
    try:
        future.wait()
    except RuntimeError as error:
        assert "[3]" in str(error), error
    else:
        raise AssertionError("the future knows nothing of it")
    one = torch.ones(2)
    dist.all_reduce(one)
    assert one.tolist() == [2.0, 2.0], "the group can still be used"


def test_errors_say_what_is_wrong(on_groups):
    on_groups(2, wrong_arguments, ranks_that_disagree)


def test_a_rank_that_dies_is_named(python_job, tmp_path):
    program = tmp_path / "dies.py"
    program.write_text("""
import os, signal
import torch, torch.distributed as dist, ronde.torch.distributed
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the launcher ends the others when it sees the first; this one speaks
dist.init_process_group("ronde")
dist.barrier()
if dist.get_rank() == 1:
    os._exit(7)
try:
    dist.all_reduce(torch.ones(3))
except dist.DistBackendError as error:
    print("caught:", error, flush=True)
    raise
""")
    done = python_job(2, str(program))
    assert done.returncode == 7
    assert re.search(r"caught: allreduce.*rank 1 .*exit code 7", done.stdout), done.stdout + done.stderr


def test_who_does_not_come_is_named(python_job, tmp_path):
    program = tmp_path / "late.py"
    program.write_text("""
import datetime, time
import torch, torch.distributed as dist, ronde.torch.distributed
dist.init_process_group("ronde", timeout=datetime.timedelta(seconds=2))
dist.barrier()
if dist.get_rank() == 1:
    time.sleep(20)
try:
    dist.all_reduce(torch.ones(3))
except dist.DistBackendError as error:
    print("caught:", error, flush=True)
    raise SystemExit(5)
""")
    done = python_job(2, str(program))
    assert done.returncode == 5
    assert re.search(r"caught: .*allreduce.*rank 1", done.stdout), done.stdout + done.stderr


def test_a_wait_has_a_limit_of_its_own(on_groups):
    def waits():
        if rank == 0:
            work = dist.all_reduce(torch.ones(1), async_op=True)
            try:
                work.wait(__import__("datetime").timedelta(milliseconds=300))
            except RuntimeError as error:
                assert "not complete after 300 ms" in str(error), error
            else:
                raise AssertionError("rank 1 has not come yet")
            dist.send(torch.ones(1), 1)
            work.wait()
        else:
            dist.recv(torch.ones(1), 0)
            dist.all_reduce(torch.ones(1))

    on_groups(2, waits)
