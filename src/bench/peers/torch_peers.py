"""gloo and Horovod, as contestants of `ronde bench allreduce --compare`.

python torch_peers.py gloo CPUS            as one rank, under a launcher that sets RANK, WORLD_SIZE, MASTER_*
python torch_peers.py horovod CPUS         starts as many ranks as there are CPUS by horovodrun
python torch_peers.py horovod-rank CPUS PID    one of these; commands come through the descriptors of process PID

CPUS is a list, one for each rank. Commands and answers: src/bench/detail/command.h.
"""

import datetime
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


def serve(torch, share, allreduce, say) -> None:
    """Does what the lines of share() ask for. say(answer) reaches the benchmark on the first rank."""
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16}
    memory = {}
    while words := share().split():
        _, dtype, size, *counts = words
        elements = int(size) // dtypes[dtype].itemsize
        if dtype not in memory or memory[dtype].numel() < elements:
            memory[dtype] = torch.zeros(elements, dtype=dtypes[dtype])
        tensor = memory[dtype][:elements]
        try:
            say(f"{median_us(*map(int, counts), lambda tensor=tensor: allreduce(tensor)):.3f}")
        except (RuntimeError, ValueError) as error:  # a type that it does not know
            print(error, file=sys.stderr)
            say("-")


def run_gloo(cpus: str) -> None:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    bind(cpus, rank)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch = import_or_leave("torch", rank)
    import torch.distributed as dist

    torch.set_num_threads(1)
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, rank == 0, DAY)
    dist.init_process_group("gloo", store=dist.PrefixStore("gloo", store), rank=rank, world_size=size, timeout=DAY)
    turns = iter(range(sys.maxsize))

    def share() -> str:  # through the store, where the others sleep
        key = f"turn {next(turns)}"
        if rank == 0:
            store.set(key, sys.stdin.readline())
        return store.get(key).decode()

    say = (lambda answer: print(answer, flush=True)) if rank == 0 else (lambda answer: None)
    say("ready")
    serve(torch, share, dist.all_reduce, say)
    dist.destroy_process_group()


def start_horovod(cpus: str) -> None:
    import_or_leave("horovod.torch", 0)
    # Ranks find this text, and the pipes to the benchmark, among our open files: horovodrun passes on neither.
    source = os.memfd_create("torch_peers.py", 0)
    os.write(source, sys.orig_argv[sys.orig_argv.index("-c") + 1].encode())
    ours = f"/proc/{os.getpid()}/fd"
    command = ["-m", "horovod.runner.launch", "-np", str(len(cpus.split(",")))]
    rank = [sys.executable, f"{ours}/{source}", "horovod-rank", cpus, str(os.getpid())]
    done = subprocess.run([sys.executable, *command, *rank], stdin=subprocess.DEVNULL, stdout=2)
    sys.exit(done.returncode)


def run_horovod(cpus: str, pid: str) -> None:
    torch = __import__("torch")
    import horovod.torch as hvd

    hvd.init()
    rank = hvd.rank()
    for thread in os.listdir("/proc/self/task"):  # Horovod's own has started
        os.sched_setaffinity(int(thread), {int(cpus.split(",")[rank])})
    torch.set_num_threads(1)
    with open(f"/proc/{pid}/fd/0") as commands, open(f"/proc/{pid}/fd/1", "w") as answers:
        say = (lambda answer: print(answer, file=answers, flush=True)) if rank == 0 else (lambda answer: None)
        # Its thread wakes a thousand times a second: the benchmark stops it between turns.
        pids = hvd.allgather_object(os.getpid())
        say(" ".join(["ready", *map(str, pids)]))
        serve(
            torch,
            lambda: hvd.broadcast_object(commands.readline() if rank == 0 else None, 0),
            lambda tensor: hvd.allreduce_(tensor, op=hvd.Sum, name="bench"),
            say,
        )
    hvd.shutdown()


if __name__ == "__main__":
    {"gloo": run_gloo, "horovod": start_horovod, "horovod-rank": run_horovod}[sys.argv[1]](*sys.argv[2:])
