"""Networks that concatenate: DenseNet (Huang et al. 2016), SqueezeNet 1.1 (Iandola et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from tests.models.convnets.blocks import Classifier


class DenseLayer(nn.Module):
    """Batch norm, 1x1, batch norm, 3x3; what comes out is appended to what went in."""

    def __init__(self, inputs: int, growth: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(inputs),
            nn.ReLU(),
            nn.Conv2d(inputs, 4 * growth, 1, bias=False),
            nn.BatchNorm2d(4 * growth),
            nn.ReLU(),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, self.body(x)], 1)


class DenseNet(nn.Module):
    """DenseNet-121 by default."""

    def __init__(
        self,
        blocks: Sequence[int] = (6, 12, 24, 16),
        growth: int = 32,
        stem: int = 64,
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(3, stem, 7, 2, 3, bias=False),
            nn.BatchNorm2d(stem),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        width = stem
        for stage, count in enumerate(blocks):
            if stage:
                layers += [
                    nn.BatchNorm2d(width),
                    nn.ReLU(),
                    nn.Conv2d(width, width // 2, 1, bias=False),
                    nn.AvgPool2d(2),
                ]
                width //= 2
            for _ in range(count):
                layers.append(DenseLayer(width, growth))
                width += growth
        self.layers = nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU())
        self.head = Classifier(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))


class Fire(nn.Module):
    """A 1x1 convolution that narrows, a 1x1 and a 3x3 that widen, side by side."""

    def __init__(self, inputs: int, narrow: int, wide: int):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, narrow, 1)
        self.expand1 = nn.Conv2d(narrow, wide, 1)
        self.expand3 = nn.Conv2d(narrow, wide, 3, padding=1)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.squeeze(x))
        return torch.cat([self.relu(self.expand1(x)), self.relu(self.expand3(x))], 1)


SQUEEZENET = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""(narrow, wide) of each fire module of SqueezeNet 1.1."""


class SqueezeNet(nn.Module):
    """`pools` are the fire modules with a pooling in front."""

    def __init__(
        self,
        stem: int = 64,
        fires: Sequence[tuple[int, int]] = SQUEEZENET,
        pools: Sequence[int] = (0, 2, 4),
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, stem, 3, 2), nn.ReLU()]
        before = stem
        for i, (narrow, wide) in enumerate(fires):
            if i in pools:
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            layers.append(Fire(before, narrow, wide))
            before = 2 * wide
        self.layers = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Dropout(0.5), nn.Conv2d(before, classes, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.flatten(self.head(self.layers(x)), 1)
