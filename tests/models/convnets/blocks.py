"""What the networks share: convolution with batch norm, squeeze-and-excite, random weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

Activation = Callable[[], nn.Module]

ACTIVATIONS: dict[str, Activation] = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "silu": nn.SiLU,
    "hardswish": nn.Hardswish,
    "none": nn.Identity,
}


def conv_norm(
    inputs: int,
    outputs: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
    activation: str = "none",
    epsilon: float = 1e-5,
) -> nn.Sequential:
    """A convolution that keeps the size up to its stride, batch norm and an activation."""
    padding = (kernel - 1) // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, epsilon),
        ACTIVATIONS[activation](),
    )


class SqueezeExcite(nn.Module):
    """Scale channels by what a small network makes of their means (Hu et al. 2017)."""

    def __init__(
        self,
        channels: int,
        hidden: int,
        activation: Activation = nn.ReLU,
        gate: Activation = nn.Sigmoid,
    ):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce = nn.Conv2d(channels, hidden, 1)
        self.activation = activation()
        self.expand = nn.Conv2d(hidden, channels, 1)
        self.gate = gate()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gate(self.expand(self.activation(self.reduce(self.pool(x)))))


class Classifier(nn.Module):
    """Mean over the image, then a linear layer."""

    def __init__(self, channels: int, classes: int):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.pool(x), 1))


def round_channels(value: float, divisor: int = 8) -> int:
    """The nearest multiple of the divisor, at most a tenth below (Sandler et al. 2018)."""
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def initialised(model: nn.Module, size: int, seed: int = 0) -> nn.Module:
    """The model for inference: random weights (He et al. 2015), and batch norms that have the
    statistics of random images of this size, so that values neither vanish nor grow."""
    generator = torch.Generator().manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            fan_in = layer.weight[0].numel()
            if isinstance(layer, nn.ConvTranspose2d):
                fan_in = layer.weight.numel() // layer.weight.shape[1]
            layer.weight.data.normal_(0, (2 / fan_in) ** 0.5, generator=generator)
            if layer.bias is not None:
                layer.bias.data.normal_(0, 0.1, generator=generator)
        elif isinstance(layer, (nn.BatchNorm2d, nn.LayerNorm)):
            layer.weight.data.uniform_(0.8, 1.2, generator=generator)
            layer.bias.data.normal_(0, 0.1, generator=generator)
            if isinstance(layer, nn.BatchNorm2d):
                layer.momentum = 1.0
    model.eval()
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    for layer in norms:
        layer.train()
    if norms:
        with torch.no_grad():
            model(torch.randn((2, 3, size, size), generator=generator))
    return model.eval()
