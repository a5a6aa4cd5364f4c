"""Which form of a convolution is fastest: direct, or a Winograd algorithm and its tiles.

Costs are in vector multiply-adds.  What was measured (x86-64 with 512-bit vectors, one core) and
stands behind the numbers:
- direct convolution and the products of Winograd reach the same rate;
- transforming one vector of channels of one tile, there or back, costs about twelve for each
  product of the tile, memory included;
- a weight beyond the second-level cache comes in at about ten bytes for each multiply-add that runs
  meanwhile, once for all tiles that are transformed together.

Errors against float64, root mean square, relative, of 3x3 convolutions of images after a ReLU, with
64 ... 512 input channels; in brackets with each sum in one piece instead of in blocks
(`summation.py`).  The last line is measured on compiled code, in brackets and the other lines on a
model in numpy of the same operations, with blocks of 64:
  direct                     1.2e-7 ... 1.8e-7 (2.5e-7 ... 9.8e-7)
  two outputs a tile, F(2,3) 2.1e-7 ... 2.4e-7 (2.2e-7 ... 6.0e-7)
  four, F(4,3)               4.3e-7 ... 5.7e-7 (5.4e-7 ... 1.7e-6)
Most of the last is that of the products, which the transform of the output enlarges; the
transforms' own rounding, and that of the transformed weight, are 1e-7 ... 2e-7 each.
The largest errors of the logits of whole networks are 1.15e-6 of the largest logit for
ResNet-18, 1.65e-6 for VGG-16, 5.8e-6 for a UNet and 3.0e-6 for DenseNet-121: 1.4, 1.9, 1.9 and 1.75
times those of ONNX Runtime.  `exact` leaves only direct and F(2,3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_mlir.errors import PassError
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    VECTOR_COUNTS,
    choose_register_tile,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.topi.nn.winograd import Bilinear, bilinear

__all__ = ["ACCURACIES", "ConvolutionShape", "Form", "choose_form", "panel_width"]

ACCURACIES = ("default", "exact")
"""What `accuracy` may be: `exact` for about the error of a direct convolution."""

# Outputs of a tile along an axis, by stride.
_OUTPUTS = {1: (2, 4), 2: (2, 4)}
_EXACT_OUTPUTS = 2
# More interpolation points than those of F(4, 3) cost too many digits.
_MOST_POINTS = 6
_TRANSFORM = 12
_BYTES_AT_ONCE = 10
# A weight of fewer bytes stays in the first-level cache, in whatever order it lies.
_SMALL_WEIGHT = 32 << 10


@dataclass(frozen=True)
class ConvolutionShape:
    """Sizes of a convolution of [N, H, W, C] with [kh, kw, C, O]; `image` and `output` are (H, W),
    `padding` is (top, left)."""

    image: tuple[int, int]
    output: tuple[int, int]
    channels: int
    outputs: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]


@dataclass(frozen=True)
class Form:
    """How to compute a convolution: directly, or by Winograd algorithms for rows and columns.

    panel: output channels of a panel of the weight, 0 to leave it as it is.  cost: estimated
    vector multiply-adds of one image.
    """

    panel: int
    cost: float
    rows: Bilinear | None = None
    columns: Bilinear | None = None


def choose_form(shape: ConvolutionShape, target: CPUTarget, accuracy: str = "default") -> Form:
    """The form of least estimated cost.  Raises PassError for an unknown accuracy."""
    if accuracy not in ACCURACIES:
        known = " or ".join(ACCURACIES)
        raise PassError(f"convolution-accuracy is {accuracy!r}, expected {known}")
    best = _direct(shape, target)
    for rows, columns in _algorithms(shape, accuracy):
        form = _winograd(shape, rows, columns, target)
        if form.cost < best.cost:
            best = form
    return best


def _algorithms(shape: ConvolutionShape, accuracy: str) -> Iterator[tuple[Bilinear, Bilinear]]:
    stride = shape.strides[0]
    if shape.strides != (stride, stride) or shape.dilation != (1, 1) or stride not in _OUTPUTS:
        return
    if min(shape.kernel) < 2:
        return
    choices: list[list[Bilinear]] = []
    for taps, length in zip(shape.kernel, shape.output, strict=True):
        own: list[Bilinear] = []
        for output in _OUTPUTS[stride]:
            # One tile is no tiling: the program then has no quotients to recognise.
            if output >= length or (accuracy == "exact" and output > _EXACT_OUTPUTS):
                continue
            if output + -(-taps // stride) - 1 <= _MOST_POINTS:
                own.append(bilinear(output, taps, stride))
        choices.append(own)
    for rows in choices[0]:
        for columns in choices[1]:
            yield rows, columns


def _direct(shape: ConvolutionShape, target: CPUTarget) -> Form:
    lanes = target.lanes(32)
    taps = 1
    for size, output, kernel, stride, spread, low in zip(
        shape.image, shape.output, shape.kernel, shape.strides, shape.dilation, shape.padding,
        strict=True,
    ):  # fmt: skip
        taps *= sum(
            0 <= position * stride + tap * spread - low < size
            for position in range(output)
            for tap in range(kernel)
        )
    vectors = -(-shape.outputs // lanes)
    weight = shape.kernel[0] * shape.kernel[1] * shape.channels * shape.outputs * 4
    cost = taps * shape.channels * vectors + _streaming(weight, 1, target)
    return Form(panel_width(shape.output[1], shape.outputs, weight, target), cost)


def _winograd(
    shape: ConvolutionShape, rows: Bilinear, columns: Bilinear, target: CPUTarget
) -> Form:
    lanes = target.lanes(32)
    count = rows.products * columns.products
    tiles_h, tiles_w = (
        -(-length // axis.output)
        for length, axis in zip(shape.output, (rows, columns), strict=True)
    )
    tiles = tiles_h * tiles_w
    into, out = (-(-n // lanes) for n in (shape.channels, shape.outputs))
    weight = count * shape.channels * shape.outputs * 4
    chunk = max(1, int(0.6 * target.l2_bytes) // (4 * count * (shape.channels + shape.outputs)))
    passes = -(-tiles // max(chunk, tiles_w))
    cost = count * tiles * ((shape.channels + 2) * out + _TRANSFORM * (into + out))
    cost += _streaming(weight, passes, target)
    panel = panel_width(min(tiles, 14), shape.outputs, weight, target)
    return Form(panel, cost, rows, columns)


def _streaming(weight: int, passes: int, target: CPUTarget) -> float:
    return weight * passes / _BYTES_AT_ONCE if weight > target.l2_bytes else 0.0


def panel_width(positions: int, outputs: int, weight_bytes: int, target: CPUTarget) -> int:
    """Output channels of a panel of the weight: those of a register tile, if they divide them all;
    0 where the weight is small or none fits."""
    lanes = target.lanes(32)
    counts = [n for n in VECTOR_COUNTS if outputs % (n * lanes) == 0]
    if not counts or weight_bytes <= _SMALL_WEIGHT:
        return 0
    return choose_register_tile(positions, outputs, lanes, target, counts).vectors * lanes
