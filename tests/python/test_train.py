"""`ronde train` and `ronde eval` as users run them: under `ronde run`, with checkpoints, interrupts and wrong input."""

import gzip
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import pytest
from test_trace_file import Trace

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
TINY = {
    "data.resolution": "16",
    "data.samples": "600",
    "data.test_samples": "100",
    "model.name": "lenet",
    "train.batch": "20",
    "train.epochs": "2",
    "optimizer.lr": "0.02",
}


def flags(**changes: str) -> list[str]:
    settings = TINY | {key.replace("__", "."): value for key, value in changes.items()}
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture
def train(build_dir, clean_env, tmp_path):
    """train(2, train__epochs="1"): on two ranks, to the end."""
    recipe = tmp_path / "empty.toml"
    recipe.write_text("")

    def run(ranks: int, *more: str, timeout: float = 120, **changes: str) -> subprocess.CompletedProcess:
        program = str(build_dir / "ronde")
        return subprocess.run(
            [
                program,
                "--log-level",
                "info",
                "run",
                "-n",
                str(ranks),
                program,
                "train",
                str(recipe),
                *flags(**changes),
                *more,
            ],
            env=clean_env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


def log_of(folder: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "ronde-output" / "empty" / "log.jsonl").read_text().splitlines()]


@pytest.mark.learning
def test_two_ranks_train_and_say_where_things_are(train, tmp_path):
    job = train(2, "--trace-dir", "trace")
    assert job.returncode == 0, job.stderr
    assert "epoch 2/2" in job.stdout and "test accuracy" in job.stdout
    for place in (
        "ronde-output/empty/log.jsonl",
        "ronde-output/empty/tensorboard",
        "ronde-output/empty/checkpoints/step-00000060",
        "trace",
    ):
        assert place in job.stdout and (tmp_path / place).exists(), job.stdout
    epochs = [line for line in log_of(tmp_path) if line["kind"] == "epoch"]
    assert [line["step"] for line in epochs] == [30, 60]
    assert all(line["test_samples"] == 100 for line in epochs)
    assert epochs[1]["loss"] < epochs[0]["loss"]


def test_gradients_travel_while_the_backward_pass_runs(train, tmp_path):
    """The trace proves it: reductions begin inside of backward passes."""
    job = train(2, "--trace-dir", "trace", "--comm-first-bucket-bytes", "4KiB", "--comm-fusion-bytes", "16KiB")
    assert job.returncode == 0, job.stderr
    trace = Trace((tmp_path / "trace" / "trace-00000.perfetto-trace").read_bytes())
    begins = [reduction["begin"] for reduction in trace.named("allreduce")]
    passes = trace.named("backward")
    inside = [one for one in passes if any(one["begin"] < begin < one["end"] for begin in begins)]
    assert len(passes) == 60 and len(inside) > 10, (len(passes), len(inside))


def traces_of(folder, ranks=2):
    return [Trace((folder / "trace" / f"trace-{rank:05}.perfetto-trace").read_bytes()) for rank in range(ranks)]


def test_a_trace_tells_what_was_trained_and_where(train, tmp_path):
    """Phases are spans of the training thread, and the facts that an analysis needs are metadata."""
    job = train(2, "--trace-dir", "trace", train__epochs="1", checkpoint__every="10", comm__fusion_bytes="8MiB")
    assert job.returncode == 0, job.stderr
    first, second = traces_of(tmp_path)
    for trace in (first, second):
        spans = [entry for entry in trace.slices if trace.thread_of(entry) == "training"]
        names = {entry["name"] for entry in spans}
        assert {"load", "evaluate", "wait for input", "forward", "backward", "wait for communication"} <= names
        steps = trace.named("step")
        assert [entry["args"]["step"] for entry in steps] == list(range(1, 31))
        (evaluation,) = trace.named("evaluate")
        assert steps[-1]["end"] <= evaluation["begin"], "no step lasts into an evaluation"
        for step, forward in zip(steps, trace.named("forward"), strict=True):
            assert step["begin"] <= forward["begin"] and forward["end"] <= step["end"]
        facts = json.loads(trace.metadata()["rank facts"])
        assert 0.05 < facts["clock_ghz"] < 10 and facts["memory_limit_bytes"] > 1 << 20
        stages = json.loads(trace.metadata()["input stages"])
        assert stages[-1] == {"skipped": 0} and sum(stage.get("items", 0) for stage in stages) > 0
        (clock,) = trace.counter("core clock")
        assert all(0.05 < value < 10 for value in clock)
    assert "checkpoint copy" in {entry["name"] for entry in first.slices}
    facts = json.loads(first.metadata()["job"])
    assert (facts["network"], facts["data"], facts["batch"], facts["precision"]) == ("lenet", "glyphs", 20, "f32")
    assert facts["parameters"] > 1000 and facts["samples"] == 600 and facts["threads"] >= 1
    assert facts["settings"]["comm.fusion_bytes"] == "8MiB" and "comm.static" not in facts["settings"]
    layers = json.loads(first.metadata()["layers"])
    assert sum(layer["parameters"] for layer in layers) == facts["parameters"]
    assert "job" not in second.metadata() and "layers" not in second.metadata()


def test_collectives_have_the_same_number_on_all_ranks_and_tell_when_they_were_asked_for(train, tmp_path):
    assert train(2, "--trace-dir", "trace", "--trace-steps", "5..20").returncode == 0
    numbers = []
    for trace in traces_of(tmp_path):
        moves = [entry for entry in trace.named("allreduce") if trace.tracks[entry["track"]].name == "move: world"]
        for entry in moves:
            assert 0 <= entry["args"]["arrived_us"] <= entry["args"]["first_arrived_us"]
        numbers.append({entry["args"]["sequence"]: entry["args"]["bytes"] for entry in moves})
    common = numbers[0].keys() & numbers[1].keys()
    assert len(common) >= len(numbers[0]) - 4 > 10  # a window does not close at the same moment on all
    assert all(numbers[0][number] == numbers[1][number] for number in common)


def test_modules_and_operators_are_recorded_on_request(train, tmp_path):
    job = train(2, "--trace-dir", "trace", "--trace-modules", "true", "--trace-operators", "true", train__epochs="1")
    assert job.returncode == 0, job.stderr
    trace = traces_of(tmp_path)[0]
    modules = [entry for entry in trace.slices if entry["categories"] == ["module"]]
    layers = {layer["name"] for layer in json.loads(trace.metadata()["layers"]) if layer["parameters"] > 0}
    for name in ("forward", "backward"):
        passes = trace.named(name)
        inside = {
            entry["name"]
            for entry in modules
            if any(one["begin"] <= entry["begin"] and entry["end"] <= one["end"] for one in passes)
        }
        assert layers <= inside, layers - inside
    operators = {entry["name"] for entry in trace.slices if entry["categories"] == ["operator"]}
    assert {"conv2d", "convolution_backward"} <= operators
    assert not any(trace.open.values())


def test_eval_gives_what_training_said(train, tmp_path, build_dir, clean_env):
    assert train(2).returncode == 0
    said = [line for line in log_of(tmp_path) if line["kind"] == "epoch"][-1]
    for ranks in (1, 3):
        program = str(build_dir / "ronde")
        job = subprocess.run(
            [program, "run", "-n", str(ranks), program, "eval", "ronde-output"],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert job.returncode == 0, job.stderr
        assert f"accuracy {100 * said['test_accuracy']:.2f}%" in job.stdout, (job.stdout, said)


def test_the_average_is_evaluated_and_the_best_is_kept(train, ronde, tmp_path):
    job = train(2, train__ema="0.9", train__evaluate_every="5", checkpoint__best="loss")
    assert job.returncode == 0, job.stderr
    told = [line for line in log_of(tmp_path) if line["kind"] in ("evaluation", "epoch")]
    assert sum(line["kind"] == "evaluation" for line in told) > 4
    best = min(told, key=lambda line: line["test_loss"])
    kept = f"ronde-output/empty/best/step-{best['step']:08}"
    assert f"{kept} (loss " in job.stdout, job.stdout
    average, weights = (
        ronde("eval", "ronde-output/empty/best"),
        ronde("eval", "ronde-output/empty/best", "--train-ema", "0"),
    )
    assert f"step {best['step']} (moving average of the weights), " in average.stdout, average.stderr
    assert f"loss {best['test_loss']:.4f}" in average.stdout, (average.stdout, best)
    assert "moving average" not in weights.stdout and weights.stdout != average.stdout, weights.stdout
    tuned = train(
        2, model__weights="ronde-output/empty/best", output__dir="tuned", optimizer__lr="0", train__epochs="1"
    )
    assert tuned.returncode == 0, tuned.stderr
    assert f"loss {best['test_loss']:.4f}" in ronde("eval", "tuned").stdout


def test_started_again_it_goes_on(train, tmp_path):
    assert train(2, train__steps="40").returncode == 0
    job = train(3)
    assert job.returncode == 0, job.stderr
    assert "training continues after step 40" in job.stderr
    steps = [line["step"] for line in log_of(tmp_path)]
    assert steps == sorted(steps) and steps[-1] == 60


def test_an_interrupt_leaves_a_checkpoint(build_dir, clean_env, tmp_path):
    program = str(build_dir / "ronde")
    recipe = tmp_path / "empty.toml"
    recipe.write_text("")
    with (tmp_path / "out").open("w") as out:
        job = subprocess.Popen(
            [program, "run", "-n", "2", program, "train", str(recipe), *flags(train__epochs="100000")],
            env=clean_env, cwd=tmp_path, stdout=out, stderr=out,
        )  # fmt: skip
    log = tmp_path / "ronde-output" / "empty" / "log.jsonl"
    end = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size > 0):
        assert time.monotonic() < end and job.poll() is None, (tmp_path / "out").read_text()
        time.sleep(0.05)
    job.send_signal(signal.SIGINT)
    assert job.wait(60) == 130, (tmp_path / "out").read_text()
    assert list((tmp_path / "ronde-output" / "empty" / "checkpoints").glob("step-*")), (tmp_path / "out").read_text()


def test_a_killed_job_goes_on_from_its_last_checkpoint(build_dir, clean_env, tmp_path, train):
    program = str(build_dir / "ronde")
    recipe = tmp_path / "empty.toml"
    recipe.write_text("")
    words = flags(train__epochs="100000", checkpoint__every="5")
    job = subprocess.Popen(
        [program, "run", "-n", "2", program, "train", str(recipe), *words],
        env=clean_env, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    kept = tmp_path / "ronde-output" / "empty" / "checkpoints"
    end = time.monotonic() + 60
    while not (kept.exists() and len(list(kept.glob("step-*"))) >= 3):
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.01)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    time.sleep(1)  # ranks whose launcher is gone end by themselves
    after = train(2, train__steps="100000", train__epochs="1")
    assert after.returncode == 0, after.stderr
    assert "training continues after step" in after.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model__name": "resnet21"}, "resnet20"),
        ({"data__name": "mnits"}, "mnist"),
        ({"data__name": "mnist", "data__path": "nowhere"}, "nowhere"),
        ({"train__batch": "1"}, "train.batch"),
        ({"train__epochs": "none"}, "train.epochs"),
        ({"checkpoint__every": "often"}, "checkpoint.every"),
        ({"schedule__warmup": "9"}, "warm-up"),
        (
            {"data__flip": "true"},
            "data.flip = 'true' (from --set data.flip) has no effect: the samples of 'glyphs' are generated",
        ),
        ({"data__path": "digits"}, "data.path = 'digits' (from --set data.path) has no effect"),
        (
            {"train__loss_scale": "512"},
            "train.loss_scale = '512' (from --set train.loss_scale) has no effect: train.precision is f32",
        ),
        ({"schedule__milestones": "1"}, "schedule.milestones = '1' (from --set schedule.milestones) has no effect"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(train, changes, words):
    job = train(2, **changes)
    assert job.returncode == 2, (job.returncode, job.stderr)
    assert words in job.stderr, job.stderr


def test_lines_of_a_recipe_that_were_overtaken_are_told(ronde, tmp_path):
    """Other data than the recipe's: its folder has no effect, and that is no reason to stop."""
    (tmp_path / "mine.toml").write_text('[data]\nname = "mnist"\npath = "digits"\n')
    words = [*flags(data__name="glyphs", train__steps="2"), "--log-level", "info"]
    job = ronde("train", "mine.toml", *words)
    assert job.returncode == 0, job.stderr
    assert "data.path = 'digits' (from mine.toml:3) has no effect" in job.stderr, job.stderr


def test_a_recipe_that_is_not_there(ronde):
    job = ronde("train", "demmo")
    assert job.returncode == 2 and "did you mean demo?" in job.stderr


def test_a_recipe_can_be_printed_and_used(ronde, tmp_path):
    text = ronde("train", "demo", "--print").stdout
    (tmp_path / "mine.toml").write_text(text)
    job = ronde("train", "mine.toml", "--set", "train.steps=2", "--set", "data.test_samples=64")
    assert job.returncode == 0, job.stderr


def test_a_loss_that_is_not_finite_names_step_and_tensor(train):
    job = train(2, optimizer__lr="1e30")
    assert job.returncode == 1, job.stderr
    assert "the loss is not finite in step" in job.stderr and "the first tensor that is not finite is" in job.stderr


def test_a_checkpoint_of_another_network_is_refused(train):
    assert train(1, train__steps="3").returncode == 0
    job = train(2, model__name="mlp")
    assert job.returncode == 2, job.stderr
    assert "step-00000003 is from a different training" in job.stderr and "model.name  lenet" in job.stderr, job.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_does_not_stop_training(train, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", small], capture_output=True).returncode != 0:
        pytest.skip("this machine does not let us mount a small file system")
    try:
        job = train(2, output__dir=str(small), checkpoint__every="10", model__name="mlp")
        assert job.returncode == 0, job.stderr
        assert "cannot write a checkpoint; training continues" in job.stderr, job.stderr
    finally:
        subprocess.run(["umount", small], check=True)


def mnist_files(folder: pathlib.Path) -> pathlib.Path:
    if not (SHARED / "mnist").exists():
        pytest.skip(f"there is no MNIST in {SHARED}")
    for file in (SHARED / "mnist").glob("*.gz"):
        with gzip.open(file) as packed, (folder / file.stem).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    return folder


@pytest.mark.learning
def test_the_examples_before_and_after(build_dir, clean_env, tmp_path):
    """The same program on one rank and on two learns the same."""
    digits = mnist_files(tmp_path)
    program = build_dir / "ronde"
    commands = [
        [build_dir / "mnist_before"],
        [program, "--log-level", "error", "run", "-n", "2", build_dir / "mnist_after"],
    ]
    for command in commands:
        job = subprocess.run(
            [*command, digits, "1"], env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert job.returncode == 0, job.stderr
        assert float(job.stdout.split("accuracy")[1].split()[0]) > 0.97, job.stdout
        assert (tmp_path / "mnist.pt").exists()
        (tmp_path / "mnist.pt").unlink()


def test_the_example_after_tests_on_all_ranks_and_counts_each_sample_once(build_dir, clean_env, tmp_path):
    """As many digits as libtorch asks for, on one rank to four: what is printed is what the network that was
    kept gets right, which is another number where ranks weigh the same or rank 0 stands for all."""
    torch = pytest.importorskip("torch")
    images, labels = {}, {}
    for part, count in (("train", 60_000), ("t10k", 10_000)):
        generator = torch.Generator().manual_seed(count)
        labels[part] = torch.randint(10, (count,), generator=generator)
        rows = torch.arange(28) // 2  # a label is a bright bar, fainter in later pictures, so that batches differ
        bars = (rows[None, :, None] == labels[part][:, None, None]) * torch.linspace(150, 0, count)[:, None, None]
        images[part] = (torch.rand(count, 28, 28, generator=generator) * 100 + bars).to(torch.uint8)
        header = struct.pack(">IIII", 0x803, count, 28, 28)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(header + images[part].numpy().tobytes())
        header = struct.pack(">II", 0x801, count)
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(header + labels[part].to(torch.uint8).numpy().tobytes())
    inputs = ((images["t10k"].float() / 255 - 0.1307) / 0.3081).unsqueeze(1)
    for ranks in ("1", "2", "3", "4"):
        job = subprocess.run(
            [build_dir / "ronde", "--log-level", "error", "run", "-n", ranks, build_dir / "mnist_after", tmp_path, "3"],
            env=clean_env, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert job.returncode == 0, job.stderr
        weights = {name: value for name, value in torch.jit.load(str(tmp_path / "mnist.pt")).named_parameters()}
        x = inputs
        with torch.no_grad():
            for layer in ("0", "3"):
                x = torch.conv2d(x, weights[f"layers.{layer}.weight"], weights[f"layers.{layer}.bias"], padding=2)
                x = torch.max_pool2d(x.relu(), 2)
            x = x.flatten(1) @ weights["layers.7.weight"].T + weights["layers.7.bias"]
        right = (x.argmax(1) == labels["t10k"]).sum().item()
        said = float(job.stdout.strip().splitlines()[-1].split("accuracy")[1])
        assert said == pytest.approx(right / 10_000, abs=2.1 / 10_000), (ranks, job.stdout)  # ties to rounding


def test_examples_are_short():
    for file in (pathlib.Path(__file__).resolve().parents[2] / "examples").glob("*.cc"):
        assert len(file.read_text().splitlines()) < 100, file


def test_scaling_is_told_once_one_rank_was_seen(train, clean_env):
    clean_env["OMP_NUM_THREADS"] = "1"
    assert "scaling efficiency" not in train(2, output__dir="first").stdout
    assert train(1, output__dir="alone").returncode == 0
    assert "of one rank" in train(2, output__dir="second").stdout
    other = train(2, output__dir="other", model__name="mlp")
    assert other.returncode == 0 and "scaling efficiency" not in other.stdout


def test_a_folder_of_a_recipes_name_is_no_recipe(ronde, tmp_path):
    (tmp_path / "demo").mkdir()
    assert "resnet20" in ronde("train", "demo", "--print").stdout
    (tmp_path / "mine").mkdir()
    job = ronde("train", "mine")
    assert job.returncode == 2 and "mine is a folder" in job.stderr
