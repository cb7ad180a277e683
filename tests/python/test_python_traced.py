"""ronde run --trace-dir on Python programs as they are: what their traces and reports tell."""

import json
import pathlib
import subprocess
import sys

import pytest
from python_package import PACKAGES, needs_package

pytest_plugins = ["job_fixtures", "python_fixtures"]
pytestmark = needs_package

PLAIN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Sums(Dataset):
    def __init__(self, samples):
        self.samples = samples
    def __len__(self):
        return self.samples
    def __getitem__(self, index):
        x = torch.randn(64, generator=torch.Generator().manual_seed(index))
        return x, (x.sum() > 0).long()

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(inplace=True), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 2))
batches, test = DataLoader(Sums(320), batch_size=32, shuffle=True), DataLoader(Sums(64), batch_size=32)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
loss_of = nn.CrossEntropyLoss()
for epoch in range(2):
    net.train()
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in test)
    print("right", right)
torch.save(net.state_dict(), "net.pt")
"""

DDP = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
data = TensorDataset(torch.randn(512, 3, 8, 8), torch.randint(0, 10, (512,)))
batches = DataLoader(data, batch_size=16, sampler=DistributedSampler(data), num_workers=1)
layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(512, 10)]
net = nn.Sequential(*layers)
model = DDP(net)
optimizer = torch.optim.Adam(model.parameters())
for x, y in batches:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
total = loss.detach().float()
dist.all_reduce(total)
dist.destroy_process_group()
"""

HOROVOD = """
import torch
import horovod.torch as hvd
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

hvd.init()
data = TensorDataset(torch.randn(512, 64), torch.randint(0, 10, (512,)))
batches = DataLoader(data, 16, sampler=DistributedSampler(data, num_replicas=hvd.size(), rank=hvd.rank()))
net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01 * hvd.size(), momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=net.named_parameters())
hvd.broadcast_parameters(net.state_dict(), root_rank=0)
for x, y in batches:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
"""


class Traced:
    """A run, its report and its spans."""

    def __init__(self, done: subprocess.CompletedProcess, ronde: pathlib.Path, folder: pathlib.Path):
        self.done, self._ronde, self.folder = done, ronde, folder

    @property
    def report(self) -> dict:
        told = subprocess.run([self._ronde, "report", self.folder, "--json"], capture_output=True, text=True)
        assert told.returncode == 0, told.stdout + told.stderr + self.done.stdout + self.done.stderr
        return json.loads(told.stdout)

    @property
    def spans(self) -> list[dict]:
        """Those of threads that train, in the order in which they begin."""
        import ronde.trace

        ronde.trace.merge(self.folder, self.folder / "merged.json", format="chrome")
        events = json.loads((self.folder / "merged.json").read_text())
        rows = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        return sorted(
            (event for event in events if event["ph"] == "X" and (event["pid"], event["tid"]) in rows),
            key=lambda event: event["ts"],
        )


@pytest.fixture
def traced(python_job, build_dir, tmp_path):
    def run(ranks: int, program: str, *words: str, flags=(), env=None, fails=False) -> Traced:
        (tmp_path / "train.py").write_text(program)
        flags = ("--trace-dir", "trace", *flags)
        done = python_job(ranks, *words, "train.py", flags=flags, env=env)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return Traced(done, build_dir / "ronde", tmp_path / "trace")

    return run


def named(spans, name, rank=0):
    return [span for span in spans if span["name"] == name and span["pid"] == rank]


def inside(outer, spans):
    end = outer["ts"] + outer["dur"] + 0.001
    return [
        span for span in spans if outer["ts"] <= span["ts"] and span["ts"] + span["dur"] <= end and span is not outer
    ]


def test_a_plain_program(traced):
    run = traced(1, PLAIN)
    report, spans = run.report, run.spans
    job = report["job"]
    assert job["network"] == "Sequential" and job["data"] == "Sums"
    assert job["precision"] == "f32" and job["batch"] == 32 and job["parameters"] == 25090
    assert report["window"]["steps"] == 20, "10 batches in each of 2 epochs"
    assert report["input"]["waiting_share"] > 0.01
    assert {layer["name"] for layer in report["roofline"]["layers"]} >= {"0", "2", "4"}
    assert report["state"] in ("good", "fair", "poor")
    assert len(named(spans, "optimizer")) == 20 and len(named(spans, "backward")) == 20
    assert len(named(spans, "evaluate")) == 4 and len(named(spans, "checkpoint copy")) == 1
    for step in named(spans, "step"):
        assert not inside(step, named(spans, "evaluate"))
    layers = [span["name"] for span in inside(named(spans, "forward")[0], spans)]
    assert layers == ["0", "1", "2", "3", "4"]
    layers = [span["name"] for span in inside(named(spans, "backward")[0], spans)]
    assert layers == ["CrossEntropyLoss", "4", "3", "2", "1", "0"]


def test_the_advice_is_in_the_words_of_the_program(traced):
    slow = PLAIN.replace("        x = torch.randn", "        import time; time.sleep(0.002)\n        x = torch.randn")
    advice = {one["rule"]: one for one in traced(1, slow).report["advice"]}
    assert "num_workers=0" in advice["input"]["change"]
    assert advice["input"]["setting"].startswith("num_workers=") and advice["input"]["flag"] == ""


def test_distributed_data_parallel(traced):
    run = traced(2, DDP)
    report, spans = run.report, run.spans
    assert report["job"]["network"] == "Sequential", "not that of the wrapper"
    assert report["job"]["batch"] == 32 and report["job"]["precision"] == "bf16"
    assert len(report["steps"]["ranks"]) == 2 and report["window"]["steps"] == 16
    told = " ".join(report["problems"])
    assert "DistributedDataParallel" in told and "worker processes" in told
    for rank in (0, 1):
        backward = named(spans, "backward", rank)[3]
        wait = inside(backward, named(spans, "wait for communication", rank))
        assert len(wait) == 1 and wait[0]["ts"] >= inside(backward, named(spans, "0", rank))[0]["ts"]
    assert {layer["name"] for layer in report["roofline"]["layers"]} >= {"0", "4"}


def test_under_torchrun(traced):
    run = traced(1, DDP, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    files = sorted(file.name for file in run.folder.glob("trace-*"))
    assert files == ["trace-00000.perfetto-trace", "trace-00001.perfetto-trace"], "torchrun itself leaves none"
    assert run.report["window"]["steps"] == 16


def test_in_the_style_of_horovod(traced):
    run = traced(2, HOROVOD, flags=("--horovod",))
    report, spans = run.report, run.spans
    assert report["job"]["network"] == "Sequential" and report["job"]["batch"] == 32
    assert report["window"]["steps"] == 16 and len(report["steps"]["ranks"]) == 2
    assert report["collectives"], "the session records these, in the same trace"
    assert len(named(spans, "forward", 1)) == 16 and len(named(spans, "0", 1)) == 32


def test_a_failure_is_the_first_thing_that_the_report_says(traced):
    broken = PLAIN.replace(
        "        optimizer.step()", "        optimizer.step()\n        raise KeyError('no such class')"
    )
    run = traced(1, broken, fails=True)
    report = run.report
    assert report["state"] == "unknown" and "no such class" in report["verdict"]
    assert "no such class" in run.done.stderr, "the program says it as it always does"


def test_a_filter_leaves_spans_out(traced):
    spans = traced(1, PLAIN, flags=("--trace-filter", "forward,backward,optimizer")).spans
    assert {span["name"] for span in spans} - {"step"} == {"forward", "backward", "optimizer"}


CLOSURE = """
import torch
from torch import nn
net, x, y = nn.Linear(8, 1), torch.randn(16, 8), torch.randn(16, 1)
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss
for _ in range(10):
    optimizer.step(closure)
"""


def test_passes_that_an_optimizer_calls_are_no_work_of_its(traced):
    spans = traced(1, CLOSURE).spans
    passes = named(spans, "forward") + named(spans, "backward")
    assert len(named(spans, "step")) == 10 and len(passes) >= 40
    for optimizer in named(spans, "optimizer"):
        assert not inside(optimizer, passes)


def test_a_program_that_counts_its_steps_is_left_to_it(traced):
    counting = PLAIN.replace("    for x, y in batches:", "    for number, (x, y) in enumerate(batches):")
    counting = counting.replace(
        "        optimizer.zero_grad()", "        ronde.trace.step(1000 * (epoch + 1) + number)"
    )
    spans = traced(
        1, "import ronde.trace\n" + counting.replace("    net.eval()", "    ronde.trace.end_step()\n    net.eval()")
    ).spans
    assert len(named(spans, "step")) == 20 and len(named(spans, "optimizer")) == 20


def test_a_program_that_records_itself_does_so(traced, tmp_path):
    own = "import ronde.trace\nwith ronde.trace.record('own'):\n" + "".join(
        f"    {line}\n" for line in PLAIN.splitlines()
    )
    traced(1, own)
    assert [file.name for file in (tmp_path / "own").iterdir()] == ["trace-00000.perfetto-trace"]


GAN = """
import torch
from torch import nn
maker, judge = nn.Linear(4, 8), nn.Linear(8, 1)
first, second = (torch.optim.Adam(net.parameters()) for net in (judge, maker))
for _ in range(12):
    first.zero_grad()
    judge(maker(torch.randn(8, 4)).detach()).mean().backward()
    first.step()
    second.zero_grad()
    (-judge(maker(torch.randn(8, 4))).mean()).backward()
    second.step()
"""


def test_optimizers_that_take_turns_make_one_step(traced):
    run = traced(1, GAN)
    spans = run.spans
    steps = named(spans, "step")
    assert len(steps) == 13, "only in the first of 12 rounds it is not known that there are two"
    assert [len(inside(step, named(spans, "optimizer"))) for step in steps] == [1, 1] + 11 * [2]
    assert "uses no DataLoader" in " ".join(run.report["problems"])


def test_the_users_own_sitecustomize_comes_first(traced, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import os\nos.environ['OWN_SITE'] = __file__\n")
    program = "import os, sys, sitecustomize\nassert os.environ['OWN_SITE'] == sitecustomize.__file__\n"
    program += "assert not any('traced' in folder for folder in sys.path), sys.path\n" + PLAIN
    run = traced(1, program, env={"PYTHONPATH": f"{own}:{PACKAGES}"})
    assert run.report["window"]["steps"] == 20


def test_programs_without_torch_are_left_alone(traced):
    program = "import sys\nassert 'torch' not in sys.modules and 'ronde' not in sys.modules\n"
    run = traced(2, program)
    assert run.done.stderr == "" and not run.folder.exists()


def test_nothing_changes_without_a_trace(python_job, tmp_path):
    program = (
        "import os, sys, torch\nassert 'ronde' not in sys.modules\nassert 'traced' not in os.environ['PYTHONPATH']\n"
    )
    (tmp_path / "train.py").write_text(program)
    done = python_job(1, "train.py")
    assert done.returncode == 0, done.stderr


def test_a_package_that_python_does_not_know_is_found(traced, tmp_path):
    assert traced(1, PLAIN, env={"PYTHONPATH": ""}).report["window"]["steps"] == 20


def test_the_same_numbers_come_out(traced, python_job, tmp_path):
    program = (
        "import torch\ntorch.manual_seed(1)\n" + PLAIN + "print('sum', sum(p.sum().item() for p in net.parameters()))"
    )
    recorded = traced(1, program).done.stdout
    assert "sum" in recorded and python_job(1, "train.py").stdout == recorded


@pytest.mark.parametrize("layers, width, batch", [(3, 1024, 256), (60, 16, 8)])
def test_a_recorded_step_costs_little(package_env, tmp_path, layers, width, batch):
    """Prints what a step costs with and without a trace, in one process by turns; no figure fails."""
    script = f"""
import statistics, sys, time, torch
torch.set_num_threads(1)
def loop(net, optimizer, steps):
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
x = torch.randn({batch}, {width})
net = torch.nn.Sequential(*[torch.nn.Linear({width}, {width}) for _ in range({layers})])
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
import ronde.traced
ronde.traced.install()
from ronde.traced import recording
loop(net, optimizer, 3)
on, off, thread = [], [], recording.current.thread
for _ in range(20):
    recording.current.thread = thread
    on.append(loop(net, optimizer, 10))
    recording.current.thread = -1
    off.append(loop(net, optimizer, 10))
on, off = statistics.median(on), statistics.median(off)
more = (on / off - 1) * 100
print(f"{layers} layers of {width}: {{off * 1e3:.3f}} ms, recorded {{on * 1e3:.3f}} ms (+{{more:.2f}} %)")
"""
    env = package_env | {"RONDE_TRACE_DIR": str(tmp_path / "trace")}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
