"""MobileNetV3-large (Howard et al. 2019), EfficientNet-B0 (Tan and Le 2019) and ShuffleNetV2 (Ma et
al. 2018)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from tests.models.convnets.blocks import Classifier, SqueezeExcite, conv_norm, round_channels


class MobileBlock(nn.Module):
    """Widen by 1x1, filter each channel, squeeze and excite, narrow by 1x1."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        kernel: int,
        stride: int,
        activation: str,
        excite: nn.Module,
    ):
        super().__init__()
        widen = [] if hidden == inputs else [conv_norm(inputs, hidden, activation=activation)]
        self.body = nn.Sequential(
            *widen,
            conv_norm(hidden, hidden, kernel, stride, hidden, activation),
            excite,
            conv_norm(hidden, outputs),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.residual else self.body(x)


MOBILENET_V3 = (
    (3, 16, 16, False, "relu", 1),
    (3, 64, 24, False, "relu", 2),
    (3, 72, 24, False, "relu", 1),
    (5, 72, 40, True, "relu", 2),
    (5, 120, 40, True, "relu", 1),
    (5, 120, 40, True, "relu", 1),
    (3, 240, 80, False, "hardswish", 2),
    (3, 200, 80, False, "hardswish", 1),
    (3, 184, 80, False, "hardswish", 1),
    (3, 184, 80, False, "hardswish", 1),
    (3, 480, 112, True, "hardswish", 1),
    (3, 672, 112, True, "hardswish", 1),
    (5, 672, 160, True, "hardswish", 2),
    (5, 960, 160, True, "hardswish", 1),
    (5, 960, 160, True, "hardswish", 1),
)
"""(kernel, hidden, outputs, squeeze-and-excite, activation, stride) of each block."""


class MobileNetV3(nn.Module):
    def __init__(
        self,
        blocks: Sequence[tuple[int, int, int, bool, str, int]] = MOBILENET_V3,
        stem: int = 16,
        last: int = 960,
        head: int = 1280,
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [conv_norm(3, stem, 3, 2, activation="hardswish", epsilon=1e-3)]
        before = stem
        for kernel, hidden, width, squeeze, activation, stride in blocks:
            excite: nn.Module = nn.Identity()
            if squeeze:
                excite = SqueezeExcite(hidden, round_channels(hidden / 4), gate=nn.Hardsigmoid)
            layers.append(MobileBlock(before, hidden, width, kernel, stride, activation, excite))
            before = width
        layers.append(conv_norm(before, last, activation="hardswish"))
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1))
        self.head = nn.Sequential(
            nn.Linear(last, head), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(head, classes)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.layers(x), 1))


EFFICIENTNET_B0 = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
"""(expansion, kernel, stride, outputs, blocks) of each stage."""


class EfficientNet(nn.Module):
    def __init__(
        self,
        stages: Sequence[tuple[int, int, int, int, int]] = EFFICIENTNET_B0,
        stem: int = 32,
        last: int = 1280,
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [conv_norm(3, stem, 3, 2, activation="silu")]
        before = stem
        for expansion, kernel, first, width, count in stages:
            for block in range(count):
                hidden, stride = before * expansion, 1 if block else first
                excite = SqueezeExcite(hidden, max(1, before // 4), nn.SiLU)
                layers.append(MobileBlock(before, hidden, width, kernel, stride, "silu", excite))
                before = width
        self.layers = nn.Sequential(*layers, conv_norm(before, last, activation="silu"))
        self.head = Classifier(last, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))


class ShuffleBlock(nn.Module):
    """Two branches, of which the first is half of the input where the stride is 1; their channels
    are interleaved."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        half = outputs // 2
        self.stride = stride
        before = inputs if stride > 1 else half
        self.side = nn.Identity()
        if stride > 1:
            self.side = nn.Sequential(
                conv_norm(inputs, inputs, 3, stride, inputs),
                conv_norm(inputs, half, activation="relu"),
            )
        self.body = nn.Sequential(
            conv_norm(before, half, activation="relu"),
            conv_norm(half, half, 3, stride, half),
            conv_norm(half, half, activation="relu"),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = (x, x) if self.stride > 1 else x.chunk(2, 1)
        joined = torch.cat([self.side(left), self.body(right)], 1)
        n, c, h, w = joined.shape
        return joined.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class ShuffleNetV2(nn.Module):
    """ShuffleNetV2 of width 1 by default; `widths` are the stem's and the stages' channels."""

    def __init__(
        self,
        blocks: Sequence[int] = (4, 8, 4),
        widths: Sequence[int] = (24, 116, 232, 464),
        last: int = 1024,
        classes: int = 1000,
    ):
        super().__init__()
        layers: list[nn.Module] = [
            conv_norm(3, widths[0], 3, 2, activation="relu"),
            nn.MaxPool2d(3, 2, 1),
        ]
        before = widths[0]
        for count, width in zip(blocks, widths[1:], strict=True):
            for block in range(count):
                layers.append(ShuffleBlock(before, width, 1 if block else 2))
                before = width
        self.layers = nn.Sequential(*layers, conv_norm(before, last, activation="relu"))
        self.head = Classifier(last, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x))
