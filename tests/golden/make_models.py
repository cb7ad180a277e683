#!/usr/bin/env python3
"""Makes the golden files of src/models: narrow ResNets in plain torch, with torchvision's names and arithmetic, as
safetensors (written here by hand, byte for byte what the format's description says), with an input and its output.

usage: make_models.py FOLDER      made once; the files are kept in the tree
"""

import json
import pathlib
import struct
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = width * (4 if bottleneck else 1)
        if bottleneck:
            shapes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        else:
            shapes = [(inputs, outputs, 3, stride), (outputs, outputs, 3, 1)]
        self.count = len(shapes)
        for number, (c_in, c_out, kernel, step) in enumerate(shapes, 1):
            setattr(self, f"conv{number}", nn.Conv2d(c_in, c_out, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{number}", nn.BatchNorm2d(c_out))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        around = x if self.downsample is None else self.downsample(x)
        for number in range(1, self.count + 1):
            x = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(x))
            if number < self.count:
                x = torch.relu(x)
        return torch.relu(x + around)


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck, width, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        inputs = width
        for stage, count in enumerate(blocks):
            stages = []
            for i in range(count):
                stages.append(Block(inputs, width << stage, 2 if stage and not i else 1, bottleneck))
                inputs = (width << stage) * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*stages))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def write_safetensors(path, tensors):
    names = {torch.float32: "F32", torch.float16: "F16", torch.int64: "I64"}
    header, values = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        data = bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())
        offsets = [len(values), len(values) + len(data)]
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
        values += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + values)


def make(folder, name, network, dtype):
    for module in network.modules():  # as after some training
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            module.num_batches_tracked.fill_(7)
    state = {key: value.to(dtype) if value.is_floating_point() else value for key, value in network.state_dict().items()}
    network.load_state_dict(state)
    network.eval()
    inputs = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        outputs = network.double()(inputs.double()).float()
    write_safetensors(folder / f"{name}.safetensors", state)
    write_safetensors(folder / f"{name}-forward.safetensors", {"input": inputs, "output": outputs})


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(6)
    make(folder, "resnet18", ResNet([2, 2, 2, 2], False, 4, 10), torch.float32)
    make(folder, "resnet50", ResNet([3, 4, 6, 3], True, 4, 10), torch.float16)


if __name__ == "__main__":
    main()
