"""Handwritten digits with PyTorch and Horovod's interface.

ronde run --horovod -n 2 python examples/python/mnist.py --data-dir data/mnist
"""

import argparse
import gzip
import pathlib

import horovod.torch as hvd
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

# Digits as five rows of three dots, for when there are no files.
DOTS = "75557 26227 71747 71717 55711 74717 74757 71222 75757 75717"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data-dir", type=pathlib.Path, help="folder with the IDX files, gzip or not; without it digits are drawn"
    )
    parser.add_argument("--batch-size", type=int, default=64, help="for each rank (default: 64)")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=0.01, help="for one rank (default: 0.01)")
    parser.add_argument("--samples", type=int, default=6000, help="how many digits are drawn (default: 6000)")
    parser.add_argument("--fp16-allreduce", action="store_true", help="gradients travel in 16 bits")
    parser.add_argument("--use-adasum", action="store_true")
    return parser.parse_args()


def read_idx(folder, name):
    file = next(folder.glob(f"{name}*"), None)
    if not file:
        raise SystemExit(f"there is no {name} in {folder}")
    content = (gzip.open if file.suffix == ".gz" else open)(file, "rb").read()
    sizes = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(content[3])]
    return torch.frombuffer(bytearray(content[4 + 4 * len(sizes) :]), dtype=torch.uint8).view(sizes)


def read(folder, part):
    images = read_idx(folder, f"{part}-images-idx3-ubyte").float().div(255).sub(0.1307).div(0.3081)
    return TensorDataset(images.unsqueeze(1), read_idx(folder, f"{part}-labels-idx1-ubyte").long())


def draw(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    dots = torch.tensor([[int(row) >> bit & 1 for row in digit for bit in (2, 1, 0)] for digit in DOTS.split()])
    glyphs = F.interpolate(dots.view(10, 1, 5, 3).float(), scale_factor=4)
    images = torch.randn(count, 1, 28, 28, generator=generator) * 0.3
    places = torch.randint(0, 8, (count, 2), generator=generator).tolist()
    for image, label, (top, left) in zip(images, labels, places, strict=True):
        image[:, top : top + 20, left : left + 12] += glyphs[label]
    return TensorDataset(images, labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def train(epoch, model, optimizer, sampler, loader):
    model.train()
    sampler.set_epoch(epoch)  # another order every epoch, the same on all ranks
    for batch, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        if batch % 20 == 0 and hvd.rank() == 0:
            print(f"epoch {epoch}  {batch * len(images)}/{len(sampler)}  loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def test(model, loader):
    model.eval()
    loss = right = 0.0
    for images, labels in loader:
        output = model(images)
        loss += F.cross_entropy(output, labels, reduction="sum").item()
        right += (output.argmax(1) == labels).sum().item()
    sums = torch.tensor([loss, right, len(loader.dataset)], dtype=torch.float64)
    loss, right, samples = hvd.allreduce(sums, op=hvd.Sum, name="test").tolist()
    if hvd.rank() == 0:
        print(f"test: average loss {loss / samples:.4f}, accuracy {100 * right / samples:.2f} %", flush=True)


def main():
    args = arguments()
    hvd.init()
    torch.manual_seed(42)
    torch.set_num_threads(max(1, torch.get_num_threads() // hvd.local_size()))
    train_set = read(args.data_dir, "train") if args.data_dir else draw(args.samples, seed=1)
    test_set = read(args.data_dir, "t10k") if args.data_dir else draw(args.samples // 6, seed=2)
    train_sampler = DistributedSampler(train_set, num_replicas=hvd.size(), rank=hvd.rank())
    # A DistributedSampler would repeat samples where they do not divide; of a test each counts once.
    test_set = Subset(test_set, range(hvd.rank(), len(test_set), hvd.size()))
    train_loader = DataLoader(train_set, batch_size=args.batch_size, sampler=train_sampler)
    test_loader = DataLoader(test_set, batch_size=1000)
    model = Net()
    scale = 1 if args.use_adasum else hvd.size()  # a batch of n ranks is n times as large, and so may be a step
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr * scale, momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16 if args.fp16_allreduce else hvd.Compression.none,
        op=hvd.Adasum if args.use_adasum else hvd.Average,
    )
    for epoch in range(1, args.epochs + 1):
        train(epoch, model, optimizer, train_sampler, train_loader)
        test(model, test_loader)


if __name__ == "__main__":
    main()
