"""Networks of bottlenecks: ResNet-50 (He et al. 2015) and RegNet (Radosavovic et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from tests.models.convnets.blocks import Classifier, SqueezeExcite, conv_norm


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions and the way around them; `squeeze` adds squeeze-and-excite of
    that share of the block's inputs."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        stride: int,
        groups: int = 1,
        squeeze: float = 0.0,
    ):
        super().__init__()
        self.body = nn.Sequential(
            conv_norm(inputs, hidden, activation="relu"),
            conv_norm(hidden, hidden, 3, stride, groups, "relu"),
            SqueezeExcite(hidden, max(1, round(inputs * squeeze))) if squeeze else nn.Identity(),
            conv_norm(hidden, outputs),
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else conv_norm(inputs, outputs, 1, stride)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.body(x) + self.shortcut(x))


class ResNet50(nn.Module):
    def __init__(
        self,
        blocks: Sequence[int] = (3, 4, 6, 3),
        widths: Sequence[int] = (64, 128, 256, 512),
        classes: int = 1000,
    ):
        super().__init__()
        self.stem = nn.Sequential(
            conv_norm(3, widths[0], 7, 2, activation="relu"), nn.MaxPool2d(3, 2, 1)
        )
        layers: list[nn.Module] = []
        before = widths[0]
        for stage, (count, width) in enumerate(zip(blocks, widths, strict=True)):
            for block in range(count):
                stride = 2 if stage and not block else 1
                layers.append(Bottleneck(before, width, 4 * width, stride))
                before = 4 * width
        self.layers = nn.Sequential(*layers)
        self.head = Classifier(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.stem(x)))


class RegNet(nn.Module):
    """RegNetX-400MF by default; with `squeeze` a RegNetY.  `group` is channels a group."""

    def __init__(
        self,
        blocks: Sequence[int] = (1, 2, 7, 12),
        widths: Sequence[int] = (32, 64, 160, 400),
        group: int = 16,
        stem: int = 32,
        classes: int = 1000,
        squeeze: float = 0.0,
    ):
        super().__init__()
        layers: list[nn.Module] = [conv_norm(3, stem, 3, 2, activation="relu")]
        before = stem
        for count, width in zip(blocks, widths, strict=True):
            for block in range(count):
                groups = width // group
                stride = 1 if block else 2
                layers.append(Bottleneck(before, width, width, stride, groups, squeeze))
                before = width
        self.layers = nn.Sequential(*layers)
        self.head = Classifier(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))
