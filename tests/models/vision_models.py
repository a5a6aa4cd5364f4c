"""ResNet and MobileNetV2 as plain PyTorch modules, by their papers (He et al. 2015, Sandler et al.
2018), in the sizes the benchmarks use and smaller ones for tests."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and the way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-18 by default."""

    def __init__(
        self,
        blocks: Sequence[int] = (2, 2, 2, 2),
        widths: Sequence[int] = (64, 128, 256, 512),
        classes: int = 1000,
    ):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, widths[0], 7, 2, 3, bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        layers: list[nn.Module] = []
        before = widths[0]
        for stage, (count, width) in enumerate(zip(blocks, widths, strict=True)):
            for block in range(count):
                layers.append(BasicBlock(before, width, 2 if stage and not block else 1))
                before = width
        self.layers = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


class InvertedResidual(nn.Module):
    """Widen by 1x1, filter each channel by 3x3, narrow by 1x1."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        hidden = inputs * expansion
        widen = [] if expansion == 1 else [*_conv(inputs, hidden, 1), nn.ReLU6()]
        self.body = nn.Sequential(
            *widen,
            *_conv(hidden, hidden, 3, stride, hidden),
            nn.ReLU6(),
            *_conv(hidden, outputs, 1),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.residual else self.body(x)


def _conv(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    padding = (kernel - 1) // 2
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


MOBILENET_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""(expansion, channels, blocks, stride of the first) of each stage."""


class MobileNetV2(nn.Module):
    def __init__(
        self,
        stages: Sequence[tuple[int, int, int, int]] = MOBILENET_V2,
        stem: int = 32,
        last: int = 1280,
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [*_conv(3, stem, 3, 2), nn.ReLU6()]
        before = stem
        for expansion, width, count, stride in stages:
            for block in range(count):
                layers.append(InvertedResidual(before, width, 1 if block else stride, expansion))
                before = width
        self.features = nn.Sequential(*layers, *_conv(before, last, 1), nn.ReLU6())
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(last, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).mean((2, 3)))


def with_statistics(model: nn.Module, seed: int = 0) -> nn.Module:
    """The model in inference mode, its batch norms with means and variances that matter."""
    generator = torch.Generator().manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            shape = layer.running_mean.shape
            layer.running_mean.copy_(torch.randn(shape, generator=generator) * 0.1)
            layer.running_var.copy_(torch.rand(shape, generator=generator) + 0.5)
    return model.eval()
