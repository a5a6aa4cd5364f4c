"""The distinct convolutions of ResNet-18, ResNet-50 and MobileNetV2, and some of Inception and VGG
with other kernels, each with bias and ReLU.

Ours reads and writes NHWC, the layout that it computes whole networks in; torch runs both layouts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.problems import Problem
from tests.models.convnets import NETWORKS

SLOT, ROUNDS = 0.005, 15
PEERS = ("torch", "torch, channels last")
SIZE = 224
# Kernel, channels, outputs and size of the image: the first convolution of VGG, and Inception's.
OTHERS = (
    ((3, 3), 3, 64, 224),
    ((5, 5), 48, 64, 35),
    ((1, 7), 192, 192, 17),
    ((7, 1), 192, 192, 17),
    ((1, 3), 384, 384, 8),
    ((3, 1), 384, 384, 8),
)


class _ChannelsLast(nn.Module):
    """A convolution and ReLU of NHWC images."""

    def __init__(self, convolution: nn.Conv2d):
        super().__init__()
        self.convolution = convolution

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.convolution(x.permute(0, 3, 1, 2)))
        return y.permute(0, 2, 3, 1)


def problems() -> list[Problem]:
    found: dict[str, Problem] = {}
    for network in ("ResNet-18", "ResNet-50", "MobileNetV2"):
        _collect(network, found)
    for kernel, inputs, outputs, size in OTHERS:
        padding = (kernel[0] // 2, kernel[1] // 2)
        layer = nn.Conv2d(inputs, outputs, kernel, padding=padding)
        shape = torch.Size((1, inputs, size, size))
        problem = _problem(layer, shape, torch.empty((1, outputs, size, size)))
        found.setdefault(problem.name, problem)
    return list(found.values())


def _collect(network: str, found: dict[str, Problem]) -> None:
    """Add the convolutions of a network that are not there yet."""

    def hook(layer: nn.Conv2d, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        problem = _problem(layer, inputs[0].shape, output)
        found.setdefault(problem.name, problem)

    model = NETWORKS[network]().eval()
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(hook)
    with torch.no_grad():
        model(torch.zeros((1, 3, SIZE, SIZE)))


def _problem(layer: nn.Conv2d, shape: torch.Size, output: torch.Tensor) -> Problem:
    inputs, outputs = layer.in_channels, layer.out_channels
    (rows, columns), stride = layer.kernel_size, layer.stride[0]
    kind = "depthwise " if layer.groups > 1 else ""
    name = f"{kind}{rows}x{columns} {inputs}->{outputs}, {shape[2]}x{shape[3]}"
    generator = torch.Generator().manual_seed(0)
    image = torch.randn((1, *shape[2:], inputs), generator=generator)
    padding = ((rows - 1) // 2, (columns - 1) // 2)
    copied = nn.Conv2d(
        inputs, outputs, (rows, columns), stride, padding, groups=layer.groups
    ).eval()
    flops = 2.0 * output.numel() * layer.weight[0].numel()
    return Problem(
        name if stride == 1 else f"{name} by {stride}",
        _ChannelsLast(copied),
        (image,),
        flops=flops,
        image="NHWC",
        exact=True,
    )
