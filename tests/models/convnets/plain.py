"""VGG (Simonyan and Zisserman 2014), UNet (Ronneberger et al. 2015), ConvNeXt (Liu et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

VGG_16 = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


class VGG(nn.Module):
    """VGG-16 without batch norm by default; `pooled` is the height of what the head sees."""

    def __init__(
        self,
        stages: Sequence[Sequence[int]] = VGG_16,
        head: Sequence[int] = (4096, 4096),
        classes: int = 1000,
        pooled: int = 7,
    ):
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for stage in stages:
            for width in stage:
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
            layers.append(nn.MaxPool2d(2))
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(pooled))
        dense: list[nn.Module] = []
        before *= pooled * pooled
        for width in head:
            dense += [nn.Linear(before, width), nn.ReLU(), nn.Dropout()]
            before = width
        self.head = nn.Sequential(*dense, nn.Linear(before, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.layers(x), 1))


def _twice(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before in (inputs, outputs):
        layers += [
            nn.Conv2d(before, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Down by pooling, up by transposed convolutions, joined by concatenation at each size."""

    def __init__(self, widths: Sequence[int] = (32, 64, 128, 256, 512), classes: int = 2):
        super().__init__()
        self.down = nn.ModuleList()
        before = 3
        for width in widths:
            self.down.append(_twice(before, width))
            before = width
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList()
        self.join = nn.ModuleList()
        for width in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose2d(before, width, 2, 2))
            self.join.append(_twice(2 * width, width))
            before = width
        self.head = nn.Conv2d(before, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = []
        for i, block in enumerate(self.down):
            x = block(self.pool(x) if i else x)
            levels.append(x)
        for up, join, level in zip(self.up, self.join, reversed(levels[:-1]), strict=True):
            x = join(torch.cat([level, up(x)], 1))
        return self.head(x)


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of an NCHW image."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.spread = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.widen = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU()
        self.narrow = nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width, 1, 1), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.spread(x).permute(0, 2, 3, 1))
        y = self.narrow(self.gelu(self.widen(y)))
        return x + self.scale * y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    """ConvNeXt-tiny by default."""

    def __init__(
        self,
        blocks: Sequence[int] = (3, 3, 9, 3),
        widths: Sequence[int] = (96, 192, 384, 768),
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, 4), ChannelNorm(widths[0], 1e-6)]
        before = widths[0]
        for stage, (count, width) in enumerate(zip(blocks, widths, strict=True)):
            if stage:
                layers += [ChannelNorm(before, 1e-6), nn.Conv2d(before, width, 2, 2)]
            layers += [ConvNeXtBlock(width) for _ in range(count)]
            before = width
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(before, 1e-6)
        self.head = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.layers(x).mean((2, 3))))
