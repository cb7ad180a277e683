"""ResNet-50, for the benchmark beside it."""

from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, norm):
        super().__init__()
        outputs = 4 * width
        self.layers = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), norm(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, width, 3, stride, 1, bias=False), norm(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, outputs, 1, bias=False), norm(outputs)),
        )
        self.short = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.layers(x) + self.short(x))


def resnet(blocks=(3, 4, 6, 3), width=64, classes=1000, norm=nn.BatchNorm2d):
    """(3, 4, 6, 3) blocks are ResNet-50, of 25.6 million parameters."""
    layers = [nn.Conv2d(3, width, 7, 2, 3, bias=False), norm(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            layers.append(Bottleneck(inputs, width << stage, 2 if stage and not block else 1, norm))
            inputs = 4 * (width << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
