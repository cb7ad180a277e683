"""ronde.train: the trainer for networks of one's own, and its pieces."""

# ruff: noqa: F821  (what PRELUDE has is there on the ranks)

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

pytest_plugins = ["job_fixtures", "python_fixtures"]

PRELUDE = """
import json, os, pathlib, sys, tempfile
import torch
import ronde.torch as hvd
import ronde.data
import ronde.train
hvd.init()
rank, size = hvd.rank(), hvd.size()
folder = pathlib.Path(os.environ["FOLDER"])
mse = torch.nn.functional.mse_loss


def network_and_samples(count=48):
    torch.manual_seed(7)
    network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    inputs = torch.randn(count, 3, dtype=torch.float64)
    return network, torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True))


def ronde_samples(samples):
    pairs = ronde.data.function(len(samples), lambda i: {"input": samples[i][0], "target": samples[i][1]})
    return pairs


def settings(name, **more):
    given = {"train.batch": 12, "train.epochs": 2, "optimizer.lr": 0.05, "output.dir": folder / name}
    return given | {key.replace("__", "."): value for key, value in more.items()}


def trained(name, *, of=None, data=None, fit=True, **more):
    network, samples = network_and_samples()
    words = {key: more.pop(key) for key in list(more) if "__" not in key}
    if data != "torch":
        samples = ronde_samples(samples)
    trainer = ronde.train.Trainer(network, samples, mse, of and of(network), settings=settings(name, **more),
                                  quiet=True, **words)
    return (trainer, trainer.fit()) if fit else trainer


def weights(network):
    return {name: one.clone() for name, one in network.state_dict().items()}


def same(one, other, tolerance=0.0):
    for name, tensor in one.items():
        worst = (tensor - other[name]).abs().max().item()
        assert worst <= tolerance, (name, worst)


def alone():
    # What one process with all samples comes to, in the same order of samples.
    network, samples = network_and_samples()
    optimizer = torch.optim.SGD(network.parameters(), 0.05, 0.9)
    batches = ronde_samples(samples).shuffle(0).global_batch(12, drop_last=True).repeat(2).prefetch()
    for batch in batches:
        optimizer.zero_grad()
        mse(network(batch["input"]), batch["target"]).backward()
        optimizer.step()
    return weights(network)
"""


@pytest.fixture
def on_train_ranks(on_ranks, tmp_path):
    def call(ranks, *functions, **more):
        return on_ranks(ranks, *functions, prelude=PRELUDE, env={"FOLDER": str(tmp_path)}, **more)

    return call


def weights_are_those_of_one_process():
    trainer, result = trained("same")
    same(weights(trainer.network), alone(), 1e-12)
    assert (result.steps, result.stopped, result.exit_code) == (8, "finished", 0)
    trainer, _ = trained("accumulated", train__accumulate=3)
    same(weights(trainer.network), alone(), 1e-12)
    assert trainer._steps.noise.value is None or trainer._steps.noise.value >= 0


def uneven_shares_weigh_as_they_should():
    # 12 samples over 5 ranks: 3, 3, 2, 2, 2
    trainer, _ = trained("uneven")
    same(weights(trainer.network), alone(), 1e-12)


def runs_go_on_with_the_same_bits():
    def more(network):
        return torch.optim.Adam(network.parameters(), 0.01)

    for data in ("ronde", "torch"):
        whole, _ = trained(f"whole-{data}", of=more, data=data, train__ema=0.9)
        first, result = trained(f"parts-{data}", of=more, data=data, ema=0.9, train__steps=5)
        assert result.steps == 5 and result.values["loss"] > 0
        second, result = trained(f"parts-{data}", of=more, data=data, ema=0.9)
        assert result.steps == 8
        same(weights(second.network), weights(whole.network))
        same(second.ema.state_dict(), whole.ema.state_dict())
    again, result = trained("parts-ronde", of=more, ema=0.9)
    assert (result.steps, result.stopped) == (8, "finished")


def a_fresh_start_puts_old_checkpoints_aside():
    _, result = trained("again")
    assert result.steps == 8
    _, result = trained("again", checkpoint__resume="none", train__steps=3)
    assert result.steps == 3
    kept = sorted(str(path.relative_to(folder)) for path in folder.glob("again/checkpoints*/step-*"))
    assert kept == ["again/checkpoints.1/step-00000008", "again/checkpoints/step-00000003"], kept
    _, result = trained("again", train__steps=4)
    assert result.steps == 4


def networks_meet_now_and_then():
    trainer, _ = trained("local", train__sync_every=3)
    mine = torch.cat([one.flatten() for one in trainer.network.parameters()]).detach()
    assert torch.equal(mine, hvd.broadcast(mine, root_rank=0, name="first"))


def callbacks_hear_and_stop():
    heard = []

    class Ears(ronde.train.Callback):
        def on_step(self, trainer, values):
            heard.append(("step", sorted(values)))
            if rank == size - 1 and trainer.step == 5:
                trainer.stop()

        def on_epoch(self, trainer, values):
            heard.append(("epoch", trainer.epoch))

        def on_evaluate(self, trainer, values):
            heard.append(("evaluate", sorted(values)))

        def on_checkpoint(self, trainer, folder):
            heard.append(("checkpoint", folder.name))

    _, samples = network_and_samples()
    measures = {"mean_absolute_error": ronde.train.mean_absolute_error}
    _, result = trained(
        "heard", train__evaluate_every=3, callbacks=[Ears()], held_out=ronde_samples(samples), measures=measures
    )
    assert result.stopped == "stopped" and result.steps in (5, 6), result
    assert heard[0] == ("step", ["loss", "lr"]) and heard[-1] == ("checkpoint", "checkpoints")
    assert heard.index(("evaluate", ["loss", "mean_absolute_error"])) == 3, heard
    assert ("epoch", 1) in heard and ("evaluate", ["loss", "mean_absolute_error"]) in heard


def evaluations_count_each_sample_once():
    trainer = trained("evaluated", fit=False)
    network, samples = network_and_samples(7)
    hvd.broadcast_parameters(trainer.network.state_dict(), root_rank=0)
    expected = mse(trainer.network(samples.tensors[0]), samples.tensors[1]).item()
    for data in (samples, ronde_samples(samples)):
        assert abs(trainer.evaluate(data)["loss"] - expected) < 1e-12


def it_stops_at_the_target_and_for_want_of_progress():
    _, samples = network_and_samples()
    held_out = {"held_out": ronde_samples(samples), "measures": {"mean_squared_error": ronde.train.mean_squared_error}}
    _, result = trained("target", train__epochs=50, train__target_accuracy=0.3, **held_out)
    assert result.stopped == "target reached" and result.values["mean_squared_error"] <= 0.3
    _, result = trained("patience", train__epochs=50, optimizer__lr=0, train__patience=2, **held_out)
    assert (result.stopped, result.steps) == ("no improvement", 12), result


def a_learning_rate_is_found():
    trainer = trained("found", fit=False)
    before = weights(trainer.network)
    found = trainer.find_lr(1e-6, 100, 60)
    assert 1e-3 < found.rate < 10 and len(found.rates) == 60, found
    same(weights(trainer.network), before)
    assert not trainer.optimizer.state_dict()["state"], "its momentum is gone again"
    assert trainer.fit().steps == 8
    from ronde.train.rate_finder import best_rate, rates_between

    rates = rates_between(0.001, 1, 4)
    assert [round(rate, 6) for rate in rates] == [0.001, 0.01, 0.1, 1]
    rates = rates_between(1e-5, 1, 101)
    losses = [2 - 1 / (1 + (0.01 / rate) ** 2) + 10 * max(0, rate - 0.2) for rate in rates]  # steepest at 0.01
    assert 0.004 < best_rate(rates, losses) < 0.04, best_rate(rates, losses)
    assert best_rate(rates, [1.0 + rate for rate in rates]) is None
    assert best_rate(rates, [float("nan")] * 101) is None


def errors_say_what_is_wrong():
    network, samples = network_and_samples()

    def refused(error, *words, **more):
        arguments = {"data": samples, "loss": mse, "quiet": True} | more
        try:
            ronde.train.Trainer(network, arguments.pop("data"), arguments.pop("loss"), **arguments).fit()
        except error as found:
            assert all(word in str(found) for word in words), found
        else:
            raise AssertionError(words)

    refused(ValueError, "train.epoch", "train.epochs", settings={"train.epoch": 2})
    refused(ValueError, "train.class_weights has no effect", settings={"train.class_weights": "1,2"})
    refused(ValueError, "train.batch is 7, which 2 ranks cannot share evenly", settings={"train.batch": 7})
    loader = torch.utils.data.DataLoader(samples, 4)
    refused(ValueError, "gives each of the 2 ranks all samples", "DistributedSampler", data=loader)
    refused(
        ValueError, "unpack=", data=[{"a": torch.ones(2), "b": torch.ones(2)}], settings={"output.dir": folder / "u"}
    )
    refused(ValueError, "fewer samples than a batch", settings={"train.batch": 100})
    trained("other", of=lambda network: torch.optim.SGD(network.parameters(), 0.1))
    try:
        trained("other", optimizer__name="adam")
    except Exception as found:
        assert "is from a different training" in str(found) or "rank 0 cannot resume" in str(found), found
    else:
        raise AssertionError("the checkpoint of another training was taken")


def test_one_rank(on_train_ranks):
    on_train_ranks(
        1, weights_are_those_of_one_process, runs_go_on_with_the_same_bits,
        a_fresh_start_puts_old_checkpoints_aside, callbacks_hear_and_stop,
        evaluations_count_each_sample_once, it_stops_at_the_target_and_for_want_of_progress,
    )  # fmt: skip


def test_two_ranks(on_train_ranks):
    on_train_ranks(
        2, weights_are_those_of_one_process, runs_go_on_with_the_same_bits, networks_meet_now_and_then,
        callbacks_hear_and_stop, evaluations_count_each_sample_once, it_stops_at_the_target_and_for_want_of_progress,
        a_learning_rate_is_found, errors_say_what_is_wrong,
    )  # fmt: skip


def test_shares_of_different_sizes(on_train_ranks):
    on_train_ranks(5, uneven_shares_weigh_as_they_should)


# --- pieces -----------------------------------------------------------------------------------------------------------


def pieces_of_large_batches():
    weight, gradient = torch.tensor([[3.0, 4.0]]), torch.tensor([[0.6, 0.8]])
    parameter, bias = torch.nn.Parameter(weight.clone()), torch.nn.Parameter(torch.zeros(2))
    optimizer = ronde.train.LARS([parameter, bias], lr=2.0, momentum=0.5, trust=0.1)
    for _ in range(2):
        parameter.grad, bias.grad = gradient.clone(), torch.ones(2)
        optimizer.step()
    # The first step: 2 * 0.1 * 5 / 1 * g; the second: 2 * (0.5 * the first change + its own).
    first = 0.1 * 5 * gradient
    after = weight - 2 * first
    second = 0.5 * first + 0.1 * after.norm() * gradient
    assert torch.allclose(parameter, after - 2 * second)
    assert torch.allclose(bias, torch.full((2,), -2.0 - 2 * 1.5)), "vectors step as in plain SGD"

    parameter = torch.nn.Parameter(weight.clone())
    optimizer = ronde.train.LAMB([parameter], lr=0.1, eps=0)
    parameter.grad = gradient.clone()
    optimizer.step()
    change = torch.ones(1, 2)  # m / sqrt(v)
    assert torch.allclose(parameter, weight - 0.1 * 5 / change.norm() * change)


def the_noise_scale_of_known_noise():
    # Gradients with mean 1 and variance 16 for a single parameter: a noise scale of 16.
    torch.manual_seed(1)
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    noise = ronde.train.NoiseScale([parameter])
    for _ in range(4000):
        parameter.grad = None
        for _ in range(2):
            slopes = 1 + 4 * torch.randn(8, dtype=torch.float64)
            with noise.measured(samples=8, weight=0.5):
                ((slopes * parameter).mean() * 0.5).backward()
        noise.add(batch=16)
    assert 11 < noise.value < 23, noise.value


def loops_of_ones_own():
    network, samples = network_and_samples()
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    checkpoints = ronde.train.Checkpointer(folder / "own", network, optimizer, every="2", keep=2)
    assert checkpoints.resume() is None
    with ronde.train.Deadline("1h") as deadline:
        for step in range(5):
            optimizer.zero_grad()
            mse(network(samples.tensors[0]), samples.tensors[1]).backward()
            optimizer.step()
            checkpoints.step(step + 1, extra={"seen": step})
            assert not deadline.reached() and 3000 < deadline.left_s <= 3600
    checkpoints.finish()
    kept = weights(network)
    with torch.no_grad():
        network[0].weight.zero_()
    found = checkpoints.resume()
    assert network[0].weight.abs().sum() > 0 and kept
    assert (found.step, found.extra) == (4, {"seen": 3})
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == ["step-00000002", "step-00000004"]
    with (checkpoints.folder / "step-00000004" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    assert checkpoints.resume().step == 2, "a damaged one is passed over"


def test_pieces(on_train_ranks):
    on_train_ranks(1, pieces_of_large_batches, the_noise_scale_of_known_noise, loops_of_ones_own)


# --- jobs -------------------------------------------------------------------------------------------------------------

LONG = """
import os, pathlib, sys, time
import torch, ronde.train
import ronde.torch as hvd
hvd.init()
torch.manual_seed(3)
x = torch.randn(64, 2)
network = torch.nn.Linear(2, 1)

class Slowly(ronde.train.Callback):
    def on_step(self, trainer, values):
        time.sleep(0.02)
        if trainer.step == 5:
            pathlib.Path(sys.argv[1], f"began.{hvd.rank()}").touch()

trainer = ronde.train.Trainer(
    network, torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), torch.nn.functional.mse_loss,
    settings={"train.epochs": 20, "train.batch": 16, "output.dir": sys.argv[1] + "/out", "optimizer.lr": 0.01,
              "train.deadline": sys.argv[2]},
    callbacks=[Slowly()],
)
trainer.fit()
print("weights", network.weight.tolist(), "steps", trainer.step)
"""


def test_a_deadline_ends_with_75_and_the_next_job_goes_on(python_job, tmp_path):
    script = tmp_path / "long.py"
    script.write_text(LONG)
    first = python_job(2, script, tmp_path, "1s")
    assert first.returncode == 75, first.stdout + first.stderr
    assert "time is over: a checkpoint was written" in first.stdout
    second = python_job(2, script, tmp_path, "1h")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "training continues after step" in second.stdout and "steps 80" in second.stdout
    whole = tmp_path / "whole"
    whole.mkdir()
    undisturbed = python_job(2, script, whole, "1h")
    assert [line for line in undisturbed.stdout.splitlines() if "weights" in line][0] in second.stdout


def test_a_signal_ends_all_ranks_with_a_checkpoint(build_dir, package_env, tmp_path):
    script = tmp_path / "long.py"
    script.write_text(LONG)
    command = [str(build_dir / "ronde"), "run", "-n", "2", sys.executable, str(script), str(tmp_path), "1h"]
    job = subprocess.Popen(
        command, env=package_env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    until = time.monotonic() + 120
    while not (tmp_path / "began.1").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(job.pid, signal.SIGTERM)
    output, _ = job.communicate(timeout=120)
    assert "time is over: a checkpoint was written" in output, output
    assert list((tmp_path / "out" / "checkpoints").glob("step-*/manifest.json"))


KNOWN = """
import collections, sys
import torch, ronde.data, ronde.train
torch.manual_seed(1)
network = torch.nn.Sequential(collections.OrderedDict(
    flat=torch.nn.Flatten(), fc1=torch.nn.Linear(784, 512), r1=torch.nn.ReLU(),
    fc2=torch.nn.Linear(512, 512), r2=torch.nn.ReLU(), fc3=torch.nn.Linear(512, 10)))
result = ronde.train.Trainer(
    network, ronde.data.known("glyphs", samples=1000), torch.nn.functional.cross_entropy,
    settings={"model.name": "mlp", "data.name": "glyphs", "train.epochs": 6, "train.batch": 50, "optimizer.lr": 0.05,
              "output.dir": sys.argv[1]},
).fit()
"""


def test_ronde_eval_reads_the_checkpoint_of_a_known_network(build_dir, python_job, package_env, tmp_path):
    script = tmp_path / "known.py"
    script.write_text(KNOWN)
    done = python_job(1, script, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in pathlib.Path(tmp_path, "out", "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [20, 40, 60, 80, 100, 120] and lines[-1]["loss"] < lines[0]["loss"]
    evaluated = subprocess.run(
        [str(build_dir / "ronde"), "eval", str(tmp_path / "out")], env=package_env, capture_output=True, text=True
    )
    assert evaluated.returncode == 0, evaluated.stderr
    accuracy = float(evaluated.stdout.split("accuracy ")[1].split("%")[0])
    assert accuracy > 40, evaluated.stdout  # a guess is right in 10
