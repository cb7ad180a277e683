"""torch in Python, as a contestant of `ronde bench train --device cuda`.

python gpu_peers.py eager MODEL BATCH    one operation after the other
python gpu_peers.py graph MODEL BATCH    a whole step as one CUDA graph

bf16 by autocast, channels last, pictures of 224 x 224 that are on the GPU already, SGD with momentum in torch's fused
kernels. Commands and answers: src/bench/detail/command.h; "first" asks for the time from the start to the end of the
first step.
"""

import os
import statistics
import sys
import time


def since_start() -> float:
    with open("/proc/self/stat") as stat, open("/proc/uptime") as uptime:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
        return float(uptime.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


def make_resnet50(nn):
    def conv(inputs: int, outputs: int, size: int, stride: int = 1):
        return [nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)]

    class Bottleneck(nn.Module):
        def __init__(self, inputs: int, width: int, stride: int):
            super().__init__()
            relu = nn.ReLU(inplace=True)
            self.body = nn.Sequential(
                *conv(inputs, width, 1), relu, *conv(width, width, 3, stride), relu, *conv(width, 4 * width, 1)
            )
            new_shape = stride != 1 or inputs != 4 * width
            self.shortcut = nn.Sequential(*conv(inputs, 4 * width, 1, stride)) if new_shape else nn.Identity()

        def forward(self, x):
            return (self.body(x) + self.shortcut(x)).relu_()

    layers = [*conv(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(blocks):
            layers.append(Bottleneck(inputs, width, 2 if i == 0 and width > 64 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def main(kind: str, model: str, batch: str) -> None:
    try:
        import torch
    except ImportError as error:
        print(f"missing {error} in the environment of {sys.executable}", flush=True)
        return
    if not torch.cuda.is_available():
        print(f"missing CUDA in torch {torch.__version__} of {sys.executable}", flush=True)
        return
    if model != "resnet50":
        print(f"missing {model}: this peer knows resnet50", flush=True)
        return
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    network = make_resnet50(torch.nn).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, fused=True)
    inputs = torch.randn(int(batch), 3, 224, 224, device="cuda").to(torch.bfloat16, memory_format=torch.channels_last)
    labels = torch.randint(1000, (int(batch),), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=kind == "eager"):
            output = network(inputs)
        torch.nn.functional.cross_entropy(output.float(), labels).backward()
        optimizer.step()

    run = step
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
        torch.cuda.synchronize()
        first = since_start()
        for _ in range(5):
            step()
    torch.cuda.synchronize()
    if kind == "graph":
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, stream=side):
            step()
        run = graph.replay
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        what, _, _, warm_up, batches, rounds = line.split()
        if what == "first":
            print(f"{first * 1e6:.1f}", flush=True)
            continue
        for _ in range(int(warm_up)):
            run()
        torch.cuda.synchronize()
        times = []
        for _ in range(int(batches)):
            start = time.perf_counter()
            for _ in range(int(rounds)):
                run()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e6 / int(rounds))
        print(f"{statistics.median(times):.3f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
