"""gloo, Horovod and ronde.torch, as contestants of `ronde bench allreduce`, `train` and `python`.

python torch_peers.py gloo CPUS            as one rank, under a launcher that sets RANK, WORLD_SIZE, MASTER_*
python torch_peers.py c10d CPUS            the same, torch.distributed with our backend
python torch_peers.py ronde CPUS [tensors] the same, ronde.torch: its DistributedOptimizer, or small tensors by name
python torch_peers.py ronde-ddp CPUS       its DistributedDataParallel
python torch_peers.py ronde-alone CPUS     torch's own optimizer, without any exchange: what Python itself costs
python torch_peers.py horovod CPUS         starts as many ranks as there are CPUS by horovodrun
python torch_peers.py horovod-rank CPUS PID    one of these; commands come through the descriptors of process PID

CPUS is a list, one for each rank. With MODEL BATCH behind it, training steps are timed: of torch's
DistributedDataParallel over gloo or over our backend, or of Horovod's DistributedOptimizer. Commands and answers:
src/bench/detail/command.h.
"""

import datetime
import itertools
import os
import statistics
import subprocess
import sys
import time

DAY = datetime.timedelta(days=1)  # how long a rank waits for its next turn


def bind(cpus: str, rank: int) -> None:
    """Before torch starts threads, so that they inherit it."""
    os.sched_setaffinity(0, {int(cpus.split(",")[rank])})


def import_or_leave(module: str, rank: int):
    try:
        return __import__(module, fromlist=["*"])
    except ImportError as error:
        if rank == 0:
            print(f"missing {error} in the environment of {sys.executable}", flush=True)
        sys.exit(0)


def median_us(warm_up: int, batches: int, rounds: int, once) -> float:
    for _ in range(warm_up):
        once()
    times = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(rounds):
            once()
        times.append((time.perf_counter() - start) * 1e6 / rounds)
    return statistics.median(times)


def serve(share, once_for, say) -> None:
    """Does what the lines of share() ask for: times once_for(dtype, bytes). say(answer) reaches the benchmark on the
    first rank."""
    while words := share().split():
        _, dtype, size, *counts = words
        try:
            say(f"{median_us(*map(int, counts), once_for(dtype, int(size))):.3f}")
        except (RuntimeError, ValueError) as error:  # a type that it does not know
            print(error, file=sys.stderr)
            say("-")


def reductions(torch, allreduce):
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16}
    memory = {}

    def once_for(dtype: str, size: int):
        elements = size // dtypes[dtype].itemsize
        if dtype not in memory or memory[dtype].numel() < elements:
            memory[dtype] = torch.zeros(elements, dtype=dtypes[dtype])
        tensor = memory[dtype][:elements]
        return lambda: allreduce(tensor)

    return once_for


def make_mlp(nn, *widths: int):
    layers = [nn.Flatten()]
    for inputs, outputs in itertools.pairwise(widths):
        linear = nn.Linear(inputs, outputs)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")  # as in src/models: 200 layers keep their size
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def make_resnet18_cifar(nn):
    def conv(inputs: int, outputs: int, size: int, stride: int):
        return [
            nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False),
            nn.BatchNorm2d(outputs),
        ]

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int):
            super().__init__()
            first = conv(inputs, outputs, 3, stride)
            self.body = nn.Sequential(*first, nn.ReLU(inplace=True), *conv(outputs, outputs, 3, 1))
            self.shortcut = nn.Sequential(*conv(inputs, outputs, 1, stride)) if inputs != outputs else nn.Identity()

        def forward(self, x):
            return (self.body(x) + self.shortcut(x)).relu_()

    layers, inputs = [*conv(3, 64, 3, 1), nn.ReLU(inplace=True)], 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(inputs, outputs, 1 if outputs == 64 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def training(torch, rank: int, model: str, batch: str, distribute):
    """Steps of one rank, as src/bench/training/train_work.cc does them. distribute(net) returns what to call and what
    to step with."""
    nn = torch.nn
    shape = (3, 32, 32) if model == "resnet18-cifar" else (1, 28, 28)
    torch.manual_seed(0)
    net = {
        "mlp-wide": lambda: make_mlp(nn, 784, 4096, 4096, 10),
        "mlp-deep": lambda: make_mlp(nn, 784, *[128] * 200, 10),
        "resnet18-cifar": lambda: make_resnet18_cifar(nn).to(memory_format=torch.channels_last),
    }[model]()
    net, optimizer = distribute(net)
    torch.manual_seed(rank + 1)
    inputs, labels = torch.randn(int(batch), *shape), torch.randint(10, (int(batch),))
    if model == "resnet18-cifar":
        inputs = inputs.contiguous(memory_format=torch.channels_last)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), labels).backward()
        optimizer.step()

    return lambda dtype, size: step


def make_store(dist, rank: int, size: int):
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, rank == 0, DAY)


def share_by(store, rank: int):
    """Commands go through the store, where the others sleep, and not through what is measured."""
    turns = itertools.count()

    def share() -> str:
        key = f"turn {next(turns)}"
        if rank == 0:
            store.set(key, sys.stdin.readline())
        return store.get(key).decode()

    return share


def run_distributed(backend: str, cpus: str, *job: str) -> None:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    bind(cpus, rank)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch = import_or_leave("torch", rank)
    import torch.distributed as dist

    if backend == "ronde":
        import_or_leave("ronde.torch.distributed", rank)
    torch.set_num_threads(1)
    store = make_store(dist, rank, size)
    dist.init_process_group(backend, store=dist.PrefixStore(backend, store), rank=rank, world_size=size, timeout=DAY)
    say = (lambda answer: print(answer, flush=True)) if rank == 0 else (lambda answer: None)

    def distribute(net):
        net = torch.nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
        return net, torch.optim.SGD(net.parameters(), 0.01)

    once_for = training(torch, rank, *job, distribute) if job else reductions(torch, dist.all_reduce)
    say("ready")
    serve(share_by(store, rank), once_for, say)
    dist.destroy_process_group()


def small_tensors(torch, hvd, count: str):
    """So many tensors by name, handed over one by one and waited for one by one."""
    names = [f"layer{i}.weight" for i in range(int(count))]

    def once_for(dtype: str, size: int):
        tensors = [torch.zeros(size // 4) for _ in names]

        def once() -> None:
            handles = [hvd.allreduce_async_(one, name=name) for one, name in zip(tensors, names, strict=True)]
            for handle in handles:
                hvd.synchronize(handle)

        return once

    return once_for


def run_ronde(cpus: str, *job: str, kind: str = "optimizer") -> None:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    bind(cpus, rank)
    torch = import_or_leave("torch", rank)
    hvd = import_or_leave("ronde.torch", rank)
    import torch.distributed as dist

    torch.set_num_threads(1)
    hvd.init()
    store = make_store(dist, rank, size)
    say = (lambda answer: print(answer, flush=True)) if rank == 0 else (lambda answer: None)

    def distribute(net):
        if kind == "ddp":
            net = hvd.DistributedDataParallel(net)
        if kind != "optimizer":
            return net, torch.optim.SGD(net.parameters(), 0.01)
        hvd.broadcast_parameters(net.state_dict(), 0)
        sgd = torch.optim.SGD(net.parameters(), 0.01)
        return net, hvd.DistributedOptimizer(sgd, named_parameters=net.named_parameters())

    once_for = small_tensors(torch, hvd, *job) if len(job) == 1 else training(torch, rank, *job, distribute)
    say("ready")
    serve(share_by(store, rank), once_for, say)
    hvd.shutdown()


def start_horovod(cpus: str, *job: str) -> None:
    import_or_leave("horovod.torch", 0)
    # Ranks find this text, and the pipes to the benchmark, among our open files: horovodrun passes on neither.
    source = os.memfd_create("torch_peers.py", 0)
    os.write(source, sys.orig_argv[sys.orig_argv.index("-c") + 1].encode())
    ours = f"/proc/{os.getpid()}/fd"
    command = ["-m", "horovod.runner.launch", "-np", str(len(cpus.split(",")))]
    rank = [sys.executable, f"{ours}/{source}", "horovod-rank", cpus, str(os.getpid()), *job]
    done = subprocess.run([sys.executable, *command, *rank], stdin=subprocess.DEVNULL, stdout=2)
    sys.exit(done.returncode)


def run_horovod(cpus: str, pid: str, *job: str) -> None:
    torch = __import__("torch")
    import horovod.torch as hvd

    hvd.init()
    rank = hvd.rank()
    for thread in os.listdir("/proc/self/task"):  # Horovod's own has started
        os.sched_setaffinity(int(thread), {int(cpus.split(",")[rank])})
    torch.set_num_threads(1)

    def distribute(net):
        hvd.broadcast_parameters(net.state_dict(), 0)
        sgd = torch.optim.SGD(net.parameters(), 0.01)
        return net, hvd.DistributedOptimizer(sgd, named_parameters=net.named_parameters())

    def allreduce(tensor):
        hvd.allreduce_(tensor, op=hvd.Sum, name="bench")

    if len(job) == 1:
        once_for = small_tensors(torch, hvd, *job)
    else:
        once_for = training(torch, rank, *job, distribute) if job else reductions(torch, allreduce)
    with open(f"/proc/{pid}/fd/0") as commands, open(f"/proc/{pid}/fd/1", "w") as answers:
        say = (lambda answer: print(answer, file=answers, flush=True)) if rank == 0 else (lambda answer: None)
        # Its thread wakes a thousand times a second: the benchmark stops it between turns.
        pids = hvd.allgather_object(os.getpid())
        say(" ".join(["ready", *map(str, pids)]))
        serve(lambda: hvd.broadcast_object(commands.readline() if rank == 0 else None, 0), once_for, say)
    hvd.shutdown()


if __name__ == "__main__":
    contestants = {
        "gloo": lambda *words: run_distributed("gloo", *words),
        "c10d": lambda *words: run_distributed("ronde", *words),
        "ronde": run_ronde,
        "ronde-ddp": lambda *words: run_ronde(*words, kind="ddp"),
        "ronde-alone": lambda *words: run_ronde(*words, kind="alone"),
        "horovod": start_horovod,
        "horovod-rank": run_horovod,
    }
    contestants[sys.argv[1]](*sys.argv[2:])
