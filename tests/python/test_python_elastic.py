"""State that goes back to its last commit."""

# ruff: noqa: F821  (torch, hvd, rank and size are there on the ranks)

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]


def commit_and_restore():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * (rank + 1), momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    seen = [rank]
    state = hvd.elastic.TorchState(model, optimizer, scheduler=scheduler, epoch=10 + rank, seen=seen, best=None)
    state.sync()
    assert state.seen is seen or rank > 0  # rank 0 goes on with what is the program's
    assert (state.epoch, state.seen, state.best) == (10, [0], None) and state.optimizer.param_groups[0]["lr"] == 0.1
    weights = hvd.allgather(model.weight.detach().reshape(1, -1))
    assert (weights == weights[0]).all()
    assert state.model is model and state.scheduler is scheduler

    def change():
        with torch.no_grad():
            model.weight.add_(1)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        scheduler.step()
        state.epoch += 1
        state.seen.append(state.epoch)

    before = model.weight.detach().clone()
    change()
    state.restore()
    assert (model.weight == before).all() and state.epoch == 10 and state.seen == [0]
    assert scheduler.last_epoch == 0 and not optimizer.state_dict()["state"]
    change()
    state.commit()
    after = model.weight.detach().clone()
    change()
    state.restore()
    state.restore()
    assert (model.weight == after).all() and state.epoch == 11 and state.seen == [0, 11]
    assert scheduler.last_epoch == 1 and optimizer.state_dict()["state"]
    state.model = torch.nn.Linear(3, 1)  # another one is another state to go back to
    state.restore()
    assert state.model.weight.shape == (1, 3)


def train_goes_on_after_failures():
    import ronde.common.elastic as common
    from ronde.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt

    resets, tries = [], []
    state = hvd.elastic.TorchState(model=torch.nn.Linear(2, 2), batch=0)
    state.register_reset_callbacks([lambda: resets.append(hvd.size())])

    @hvd.elastic.run
    def train(state, upto, word="x"):
        tries.append(state.batch)
        assert hvd.is_initialized() and word == "y"
        while state.batch < upto:
            state.batch += 1
            hvd.allreduce(torch.ones(1), name="work")
            if state.batch == 3:
                state.commit()
            if state.batch == 5 and len(tries) == 1:
                raise HorovodInternalError("drill")
            if state.batch == 5 and len(tries) == 2:
                common.notification_manager.handle_hosts_updated(1, common.HostUpdateResult.removed)
                state.check_host_updates()
        return state.batch

    assert train(state, 8, word="y") == 8
    assert tries == [0, 3, 5] and resets == [size, size]  # a failure goes back, a notice does not
    assert train.__name__ == "train"
    try:
        state.on_hosts_updated(2, common.HostUpdateResult.added)
        state.commit()
    except HostsUpdatedInterrupt as interrupt:
        assert not interrupt.skip_sync
    else:
        raise AssertionError("nobody was interrupted")


def the_sampler_knows_what_was_used():
    data = list(range(23))
    sampler = hvd.elastic.ElasticSampler(data, shuffle=True, seed=3)
    state = hvd.elastic.TorchState(sampler=sampler)
    first = list(sampler)
    assert len(first) == len(sampler) == -(-23 // size)
    everywhere = hvd.allgather_object(first)
    assert {index for one in everywhere for index in one} == set(data)
    sampler.record_batch(0, 2)
    state.commit()
    sampler.record_batch(1, 2)
    state.restore()
    assert sampler.state_dict() == {"epoch": 0, "processed_num": 2 * size}
    rest = {index for one in hvd.allgather_object(list(sampler)) for index in one}
    assert len(rest) == 23 - 2 * size and not rest & {index for one in everywhere for index in one[:2]}
    sampler.set_epoch(1)
    assert sampler.processed_num == 0 and (size == 23 or list(sampler) != first)
    sampler.processed_num = 22  # one sample for all
    sampler.reset()
    assert len(list(sampler)) == 1
    assert list(hvd.elastic.ElasticSampler(data, shuffle=False))[:2] == [rank, rank + size]


def handlers_can_be_added():
    from ronde.torch.elastic.state import StateHandler, get_handler_registry, set_handler_registry

    class Counter:
        count = 0

    class CounterHandler(StateHandler):
        def save(self):
            self.saved = self.value.count

        def restore(self):
            self.value.count = self.saved

        def sync(self):
            self.value.count = hvd.broadcast_object(self.value.count)

    set_handler_registry([(Counter, CounterHandler), *get_handler_registry()])
    counter = Counter()
    state = hvd.elastic.TorchState(counter=counter)
    state.save()
    counter.count = 5
    state.restore()
    assert counter.count == 0 and state.counter is counter


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_state_survives(on_ranks, ranks):
    on_ranks(
        ranks, commit_and_restore, train_goes_on_after_failures, the_sampler_knows_what_was_used, handlers_can_be_added
    )


def a_rank_is_lost():
    import os
    import signal

    from ronde.common.exceptions import HorovodInternalError

    @hvd.elastic.run
    def train(state):
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            hvd.allreduce(torch.ones(1), name="work")

    try:
        train(hvd.elastic.TorchState(epoch=0))
    except HorovodInternalError as error:
        print(f"told: {error}", flush=True)
    else:
        raise AssertionError("nothing was said")


def test_ranks_that_go_are_not_there_yet(build_dir, python_job, tmp_path):
    from python_fixtures import as_script

    (tmp_path / "ranks.py").write_text(as_script([a_rank_is_lost]))
    done = python_job(2, tmp_path / "ranks.py")
    told = [line for line in done.stdout.splitlines() if "told:" in line]
    assert done.returncode == 128 + 9
    if told:  # the launcher may end the others before they can speak
        assert told[0].count("a changing number of ranks is not supported yet") == 1
