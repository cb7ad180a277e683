"""Sessions that come and go, process sets, what init() refuses, and who is named when a rank fails."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]


def process_sets_work_apart():
    even = hvd.ProcessSet(range(0, size, 2))
    odd = hvd.ProcessSet([r for r in range(size) if r % 2])
    hvd.init(process_sets=[even, odd])
    rank, size_of = hvd.rank(), len(even.ranks)
    assert hvd.global_process_set.size() == hvd.size() and hvd.global_process_set.rank() == rank
    assert even.process_set_id != odd.process_set_id and even.size() == size_of and even.included() == (rank % 2 == 0)
    mine, other = (odd, even) if rank % 2 else (even, odd)
    assert mine.rank() == rank // 2
    assert hvd.allreduce(torch.ones(2), op=hvd.Sum, process_set=mine).tolist() == [mine.size()] * 2
    assert hvd.allgather(torch.tensor([rank]), process_set=mine).tolist() == mine.ranks
    root = mine.ranks[-1]
    assert hvd.broadcast(torch.tensor([rank]), root, process_set=mine).item() == root
    assert hvd.alltoall(torch.full((mine.size(),), rank), process_set=mine).tolist() == mine.ranks
    assert hvd.broadcast_object(rank, mine.ranks[0], process_set=mine) == mine.ranks[0]
    leaf = torch.ones(1, requires_grad=True)
    hvd.allreduce(leaf, op=hvd.Sum, process_set=mine).backward()
    assert leaf.grad.item() == mine.size()
    hvd.barrier(process_set=mine)
    for foreign in (lambda: hvd.allreduce(torch.ones(1), process_set=other), lambda: other.rank()):
        try:
            foreign()
        except ValueError:
            pass
        else:
            raise AssertionError("a rank took part in a set that it is not in")
    added = hvd.add_process_set([0, 1])
    assert added.process_set_id not in (None, 0, even.process_set_id, odd.process_set_id)
    try:
        hvd.add_process_set(hvd.ProcessSet([0, 1]))
    except ValueError as error:
        assert "[0, 1]" in str(error)
    else:
        raise AssertionError("the same set twice")
    assert hvd.remove_process_set(added) and added.process_set_id is None and not hvd.remove_process_set(added)
    assert not hvd.remove_process_set(hvd.global_process_set)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == hvd.size()


@pytest.mark.parametrize("ranks", [3, 4])
def test_process_sets(on_ranks, ranks):
    prelude = f"import torch\nimport ronde.torch as hvd\nsize = {ranks}\n"
    on_ranks(ranks, process_sets_work_apart, prelude=prelude)


def nothing_works_before_init():
    names = ("size", "local_size", "cross_size", "rank", "local_rank", "cross_rank")
    assert not hvd.is_initialized()
    for call in [getattr(hvd, name) for name in names] + [lambda: hvd.allreduce(torch.ones(1)), hvd.join, hvd.barrier]:
        try:
            call()
        except ValueError as error:
            assert "init" in str(error)
        else:
            raise AssertionError("it worked before init()")
    assert hvd.gloo_built() is True and isinstance(hvd.mpi_built(), bool) and isinstance(hvd.nccl_built(), int)
    for name in ("ddl_built", "ccl_built", "rocm_built", "mpi_enabled", "gloo_enabled", "cuda_built"):
        assert isinstance(getattr(hvd, name)(), bool)


def sessions_come_and_go():
    for turn in range(3):
        hvd.init()
        hvd.init()
        assert (
            hvd.is_initialized()
            and hvd.size() == int(os.environ["WORLD_SIZE"])
            and hvd.rank() == int(os.environ["RANK"])
        )
        assert hvd.local_size() == hvd.size() and hvd.cross_size() == 1 and hvd.cross_rank() == 0
        from ronde.torch.mpi_ops import is_homogeneous

        assert is_homogeneous()
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name=f"turn {turn}").item() == hvd.size()
        assert hvd.gloo_enabled() and not hvd.mpi_enabled()
        hvd.shutdown()
        assert not hvd.is_initialized()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_sessions_come_and_go(on_ranks, ranks):
    prelude = "import os\nimport torch\nimport ronde.torch as hvd\n"
    on_ranks(ranks, nothing_works_before_init, sessions_come_and_go, nothing_works_before_init, prelude=prelude)


def parts_of_the_job_meet():
    mine = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("RANK")))
    parts = [[0, 2], [1]] if mine in (0, 2) else [[1], [0, 2]]
    for _ in range(2):  # a second meeting is another one
        hvd.init(comm=parts[0])
        assert (hvd.rank(), hvd.size()) == (parts[0].index(mine), len(parts[0]))
        assert hvd.allreduce(torch.full((3,), mine + 1.0), op=hvd.Sum).tolist() == [sum(parts[0]) + len(parts[0])] * 3
        assert hvd.allgather_object(mine) == parts[0]
        hvd.shutdown()
    try:
        hvd.init(comm=parts[1])
    except ValueError as error:
        assert f"this is rank {mine} of 3" in str(error), error
    else:
        raise AssertionError("init() took this rank into a part that it is not in")
    hvd.init(comm=[0, 1, 2])
    assert hvd.size() == 3 and hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == 3


@pytest.mark.parametrize("launcher", ["ronde", "mpirun"])
def test_parts_of_the_job_meet(on_ranks, launcher):
    on_ranks(3, parts_of_the_job_meet, prelude="import os, torch\nimport ronde.torch as hvd\n", launcher=launcher)


def a_communicator_says_who_meets():
    class Communicator:  # as much of mpi4py's as is asked for
        def Get_group(self):
            raise AssertionError("nobody needs it")

        def Dup(self):
            return self

        def Get_rank(self):
            return 1 - mine

        def Get_size(self):
            return 2

        def allgather(self, blob):
            turns.append(0)
            store.set(f"{len(turns)} {1 - mine}", blob)
            return [store.get(f"{len(turns)} {rank}") for rank in range(2)]

    mine, turns = int(os.environ["RANK"]), []
    if mine == 2:
        return
    store = torch.distributed.FileStore(os.path.join(os.getcwd(), "communicator"), 2)
    hvd.init(comm=Communicator())
    assert hvd.rank() == 1 - mine and hvd.allgather_object(mine) == [1, 0]
    hvd.shutdown()


def test_a_communicator_says_who_meets(on_ranks):
    on_ranks(3, a_communicator_says_who_meets, prelude="import os, torch\nimport ronde.torch as hvd\n")


def test_who_fails_is_named_with_the_reason(python_job, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(
        "import torch, ronde.torch as hvd\nhvd.init()\n"
        "if hvd.rank() == 1: raise KeyError('no such sample')\n"
        "hvd.allreduce(torch.ones(2), name='never')\n"
    )
    done = python_job(2, script)
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert (
        "HorovodInternalError" in text
        and "rank 1" in text
        and "no such sample" in text.split("HorovodInternalError")[-1]
    )


def children_end_without_a_word():
    import sys

    for how in (lambda: sys.exit(0), lambda: hvd.shutdown() or sys.exit(0)):
        child = os.fork()
        if child == 0:
            how()
        os.waitpid(child, 0)
        assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == hvd.size()


def what_is_left_works_without_a_session():
    model = torch.nn.Linear(2, 2)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    hvd.shutdown()
    optimizer.zero_grad()
    optimizer.load_state_dict(optimizer.state_dict())
    for call in (optimizer.step, lambda: hvd.init(comm=5)):
        try:
            call()
        except ValueError:
            pass
        else:
            raise AssertionError("it worked without a session")
    hvd.init()
    not_added = hvd.ProcessSet([0])
    try:
        hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), process_set=not_added)
    except ValueError as error:
        assert "not added" in str(error)
    else:
        raise AssertionError("a process set that was not added was taken")


def another_thread_ends_the_session():
    import threading

    model = torch.nn.Linear(256, 256)  # whose gradients are large enough for memory that ranks share
    for _ in range(3):
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(4, 256)).sum().backward()
            optimizer.step()
        ender = threading.Thread(target=hvd.shutdown)
        ender.start()
        ender.join()
        for _ in range(3):
            model.zero_grad()
            model(torch.ones(4, 256)).sum().backward()
            assert model.weight.grad.sum().item() == 4 * 256 * 256
        hvd.init()


def test_another_thread_ends_the_session(on_ranks):
    prelude = "import os\nos.environ['RONDE_MEMORY_ARENA'] = 'true'\n"
    prelude += "import torch\nimport ronde.torch as hvd\nhvd.init()\n"
    on_ranks(2, another_thread_ends_the_session, prelude=prelude)


def test_children_and_what_is_left(on_ranks):
    prelude = "import os\nimport torch\nimport ronde.torch as hvd\nhvd.init()\n"
    on_ranks(2, children_end_without_a_word, what_is_left_works_without_a_session, prelude=prelude)


def test_an_error_in_a_backward_pass_has_its_kind(python_job, tmp_path):
    script = tmp_path / "leaves.py"
    script.write_text(
        "import torch, time, ronde.torch as hvd\nhvd.init()\n"
        "model = hvd.DistributedDataParallel(torch.nn.Linear(2, 2))\n"
        "if hvd.rank() == 1: hvd.shutdown(); time.sleep(5); raise SystemExit\n"
        "try: model(torch.ones(1, 2)).sum().backward()\n"
        "except hvd.HorovodInternalError as error: print('kind:', error.kind, flush=True)\n"
    )
    done = python_job(2, script)
    assert "kind: peer lost" in done.stdout, done.stdout + done.stderr


def test_wrong_settings_name_where_they_come_from(python):
    done = python("-c", "import ronde.torch as hvd; hvd.init(settings={'comm.fusion_bytes': 'much'})")
    assert done.returncode != 0 and "comm.fusion_bytes" in done.stderr and "much" in done.stderr
    done = python("-c", "import ronde.torch as hvd; hvd.init()", env={"RONDE_COMM_FUSION_BYTES": "much"})
    assert done.returncode != 0 and "RONDE_COMM_FUSION_BYTES" in done.stderr


NAMES = """
    init shutdown is_initialized size local_size cross_size rank local_rank cross_rank mpi_threads_supported mpi_enabled
    mpi_built gloo_enabled gloo_built nccl_built ddl_built ccl_built cuda_built rocm_built start_timeline stop_timeline
    Average Sum Adasum Min Max Product allreduce allreduce_async allreduce_ allreduce_async_ grouped_allreduce
    grouped_allreduce_async grouped_allreduce_ grouped_allreduce_async_ sparse_allreduce_async allgather allgather_async
    grouped_allgather grouped_allgather_async broadcast broadcast_async broadcast_ broadcast_async_ alltoall
    alltoall_async reducescatter reducescatter_async grouped_reducescatter grouped_reducescatter_async poll synchronize
    join barrier broadcast_parameters broadcast_optimizer_state broadcast_object allgather_object ProcessSet
    global_process_set add_process_set remove_process_set DistributedOptimizer SyncBatchNorm Compression elastic
    HorovodInternalError
"""


def test_every_name_of_horovod_is_there(python):
    names = NAMES.split()
    assert len(names) == len(set(names)) == 67
    done = python("-c", f"import ronde.torch as hvd\nprint([n for n in {names} if not hasattr(hvd, n)])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
