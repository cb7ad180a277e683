"""How many pictures a second a ResNet-50 learns from, on drawn data, with Horovod's interface.

ronde run --horovod -n 2 python examples/python/synthetic_benchmark.py --batch-size 8
"""

import argparse
import statistics
import timeit

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from resnet import resnet


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=32, help="for each rank (default: 32)")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--blocks", type=int, nargs=4, default=[3, 4, 6, 3], help="of each stage (3 4 6 3: ResNet-50)")
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage (default: 64)")
    parser.add_argument("--num-warmup-batches", type=int, default=10)
    parser.add_argument("--num-batches-per-iter", type=int, default=10)
    parser.add_argument("--num-iters", type=int, default=10)
    parser.add_argument("--fp16-allreduce", action="store_true", help="gradients travel in 16 bits")
    parser.add_argument("--use-adasum", action="store_true")
    parser.add_argument("--sync-batch-norm", action="store_true", help="batch norms over all ranks")
    parser.add_argument("--no-cuda", action="store_true", help="stay on the CPU")
    return parser.parse_args()


def log(text):
    if hvd.rank() == 0:
        print(text, flush=True)


def main():
    args = arguments()
    hvd.init()
    cuda = torch.cuda.is_available() and not args.no_cuda
    device = torch.device("cuda", hvd.local_rank()) if cuda else torch.device("cpu")
    if not cuda:
        torch.set_num_threads(max(1, torch.get_num_threads() // hvd.local_size()))

    model = resnet(
        tuple(args.blocks), args.width, norm=hvd.SyncBatchNorm if args.sync_batch_norm else torch.nn.BatchNorm2d
    )
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * (1 if args.use_adasum else hvd.size()))
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none,
        op=hvd.Adasum if args.use_adasum else hvd.Average,
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    images = torch.randn(args.batch_size, 3, args.image_size, args.image_size, device=device)
    labels = torch.randint(1000, (args.batch_size,), device=device)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        if cuda:
            torch.cuda.synchronize()

    kind = "GPU" if cuda else "CPU"
    log(f"Model: ResNet {args.blocks}, batch size: {args.batch_size}, number of {kind}s: {hvd.size()}")
    timeit.timeit(step, number=args.num_warmup_batches)
    speeds = []
    for i in range(args.num_iters):
        seconds = timeit.timeit(step, number=args.num_batches_per_iter)
        speeds.append(args.batch_size * args.num_batches_per_iter / seconds)
        log(f"Iter #{i}: {speeds[-1]:.1f} img/sec per {kind}")

    mean, spread = statistics.fmean(speeds), 1.96 * statistics.pstdev(speeds)
    log(f"Img/sec per {kind}: {mean:.1f} +-{spread:.1f}")
    log(f"Total img/sec on {hvd.size()} {kind}(s): {hvd.size() * mean:.1f} +-{hvd.size() * spread:.1f}")


if __name__ == "__main__":
    main()
