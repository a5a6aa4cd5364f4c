"""Convolutions that no image network of the other suites has, each with bias and ReLU: of lines and
volumes, transposed, grouped, dilated, with odd kernels, strides and channels, and of sizes that our
compiler is not told.

Ours reads and writes channels last; torch runs both layouts, and knows the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from benchmarks.problems import Problem

SLOT, ROUNDS = 0.004, 11
PEERS = ("torch", "torch, channels last")


@dataclass(frozen=True)
class Case:
    """A convolution; one number stands for all axes.  unknown: axes whose sizes are not told, of
    N, D, H and W."""

    sizes: tuple[int, ...]
    inputs: int
    outputs: int
    kernel: int | tuple[int, ...]
    stride: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] = 0
    dilation: int = 1
    groups: int = 1
    is_transposed: bool = False
    output_padding: int = 0
    unknown: str = ""


def _transposed(*numbers: Any, **others: Any) -> Case:
    return Case(*numbers, is_transposed=True, **others)


CASES = {
    "line, 3 64->64, 1000": Case((1000,), 64, 64, 3, 1, 1),
    "line, 10 by 5 1->512, 16000": Case((16000,), 1, 512, 10, 5),
    "line, 3 by 2 512->512, 3199": Case((3199,), 512, 512, 3, 2),
    "line, dilated 3 64->128, 2000": Case((2000,), 64, 128, 3, 1, 16, 16),
    "line, depthwise 31 256, 400": Case((400,), 256, 256, 31, 1, 15, 1, 256),
    "volume, 3 64->64, 8x28x28": Case((8, 28, 28), 64, 64, 3, 1, 1),
    "volume, 3 by 2 64->128, 8x28x28": Case((8, 28, 28), 64, 128, 3, 2, 1),
    "volume, 3 17->30, 12": Case((12, 12, 12), 17, 30, 3, 1, 1),
    "volume, depthwise 3 64, 8x28x28": Case((8, 28, 28), 64, 64, 3, 1, 1, 1, 64),
    "volume, 4 groups 64, 8x14x14": Case((8, 14, 14), 64, 64, 3, 1, 1, 1, 4),
    "3x3 30->50, 33x33": Case((33, 33), 30, 50, 3, 1, 1),
    "3x3 64->3, 112x112": Case((112, 112), 64, 3, 3, 1, 1),
    "9x9 3->64, 64x64": Case((64, 64), 3, 64, 9, 1, 4),
    "11x11 by 4 3->64, 224x224": Case((224, 224), 3, 64, 11, 4, 2),
    "16x16 by 16 3->768, 224x224": Case((224, 224), 3, 768, 16, 16),
    "3x3 by 3 64->64, 57x57": Case((57, 57), 64, 64, 3, 3, 1),
    "3x3 by (2, 1) 64->64, 40x40": Case((40, 40), 64, 64, 3, (2, 1), 1),
    "dilated 3x3 256->256, 28x28": Case((28, 28), 256, 256, 3, 1, 2, 2),
    "dilated 3x3 by 12 256->64, 33x33": Case((33, 33), 256, 64, 3, 1, 12, 12),
    "3x3, 32 groups of 4, 56x56": Case((56, 56), 128, 128, 3, 1, 1, 1, 32),
    "3x3, 32 groups of 8, 28x28": Case((28, 28), 256, 256, 3, 1, 1, 1, 32),
    "3x3, 32 groups of 16, 14x14": Case((14, 14), 512, 512, 3, 1, 1, 1, 32),
    "3x3, 32 groups of 32, 7x7": Case((7, 7), 1024, 1024, 3, 1, 1, 1, 32),
    "3x3, 8 groups 24->48, 28x28": Case((28, 28), 24, 48, 3, 1, 1, 1, 8),
    "5x5, 2 groups 96->256, 27x27": Case((27, 27), 96, 256, 5, 1, 2, 1, 2),
    "1x1, 4 groups 240->60, 28x28": Case((28, 28), 240, 60, 1, 1, 0, 1, 4),
    "depthwise 3x3 32->64, 56x56": Case((56, 56), 32, 64, 3, 1, 1, 1, 32),
    "depthwise 7x7 96, 56x56": Case((56, 56), 96, 96, 7, 1, 3, 1, 96),
    "depthwise 31x31 128, 32x32": Case((32, 32), 128, 128, 31, 1, 15, 1, 128),
    "transposed line, 16 by 8 256->128, 64": _transposed((64,), 256, 128, 16, 8, 4),
    "transposed 2x2 by 2 128->64, 28x28": _transposed((28, 28), 128, 64, 2, 2),
    "transposed 4x4 by 2 64->32, 32x32": _transposed((32, 32), 64, 32, 4, 2, 1),
    "transposed 4x4 by 2 64->3, 32x32": _transposed((32, 32), 64, 3, 4, 2, 1),
    "transposed 3x3 by 2 64->32, 28x28": _transposed((28, 28), 64, 32, 3, 2, 1, output_padding=1),
    "transposed 4x4 by 2, 4 groups 64, 28x28": _transposed((28, 28), 64, 64, 4, 2, 1, groups=4),
    "transposed depthwise 16x16 by 8 21, 28x28": _transposed((28, 28), 21, 21, 16, 8, 4, groups=21),
    "transposed dilated 3x3 32->32, 28x28": _transposed((28, 28), 32, 32, 3, 1, 2, dilation=2),
    "transposed volume, 4 by 2 64->32, 8": _transposed((8, 8, 8), 64, 32, 4, 2, 1),
    "any batch, two of 3x3 64->64, 56x56": Case((56, 56), 64, 64, 3, 1, 1, unknown="N"),
    "any batch, two of 7x7 by 2 3->64, 224x224": Case((224, 224), 3, 64, 7, 2, 3, unknown="N"),
    "any image, 3x3 64->64, 56x56": Case((56, 56), 64, 64, 3, 1, 1, unknown="HW"),
    "any image, 3x3 512->512, 7x7": Case((7, 7), 512, 512, 3, 1, 1, unknown="HW"),
    "any image, 1x1 by 2 64->128, 56x56": Case((56, 56), 64, 128, 1, 2, unknown="HW"),
    "any image, depthwise 3x3 96, 56x56": Case((56, 56), 96, 96, 3, 1, 1, 1, 96, unknown="HW"),
    "any image, 3x3, 32 groups of 4, 56x56": Case(
        (56, 56), 128, 128, 3, 1, 1, 1, 32, unknown="HW"
    ),
    "any image, transposed 4x4 by 2 64->32, 32x32": _transposed(
        (32, 32), 64, 32, 4, 2, 1, unknown="HW"
    ),
    "any line, 3 64->64, 1000": Case((1000,), 64, 64, 3, 1, 1, unknown="W"),
}


class _ChannelsLast(nn.Module):
    """A convolution and ReLU of data whose channels are last."""

    def __init__(self, convolution: nn.Module):
        super().__init__()
        self.convolution = convolution

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.convolution(x.movedim(-1, 1)))
        return y.movedim(1, -1)


def problems() -> list[Problem]:
    return [_problem(name, case) for name, case in CASES.items()]


def _problem(name: str, case: Case) -> Problem:
    ndim = len(case.sizes)
    kind = f"Conv{'Transpose' if case.is_transposed else ''}{ndim}d"
    others = {"output_padding": case.output_padding} if case.is_transposed else {}
    convolution = getattr(nn, kind)(
        case.inputs, case.outputs, case.kernel, case.stride, case.padding,
        dilation=case.dilation, groups=case.groups, **others,
    ).eval()  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    # torch.export takes one image for a size that is known.
    batch = 2 if "N" in case.unknown else 1
    image = torch.randn((batch, *case.sizes, case.inputs), generator=generator)
    letters = f"N{'DHW'[-ndim:]}C"
    dims = {
        axis: torch.export.Dim.AUTO
        for axis, letter in enumerate(letters)
        if letter in case.unknown
    }
    return Problem(
        name, _ChannelsLast(convolution), (image,), image=letters, exact=True,
        dynamic=(dims,) if dims else None,
    )  # fmt: skip
