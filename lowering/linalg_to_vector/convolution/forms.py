"""Which form of a convolution is fastest: direct, or a Winograd algorithm and its tiles.

Costs are in vector multiply-adds.  What was measured (x86-64 with 512-bit vectors, one core) and
stands behind the numbers:
- the products of Winograd run at the full rate, direct convolution takes longer by one position
  and a half of each piece of a row, of at most fourteen;
- transforming one vector of channels of one tile, there or back, costs about ten for each
  product of the tile, memory included;
- transforming one vector of output channels of the weight costs about three and a half for each
  product in blocks that stay in the first-level cache, twelve in larger ones; and what was summed
  is read and written anew for each block of input channels;
- along one axis (Winograd's algorithm for columns or rows, the taps of the other summed) products
  take as long as direct ones do, for each piece of the tiles, and the transforms five for each
  product.  The stem of ResNet, 7x7 by 2 over three channels, takes 620 us so, 910 directly (1530 by
  algorithms along two axes); 1x7 over 192 channels of 17 x 17 takes 380 us, directly 525; a
  convolution of 3000 positions, three taps and 80 channels 1.29 ms, directly 2.18; 5x5 is faster
  along two axes (350 us for 48 channels of 35 x 35, 380 along one, 680 directly), and 3x3 by 2
  over three channels directly (93 us, 121 along one): the even taps are two, the odd one is one;
- a weight, which a network has evicted since it was last read, comes in at about five bytes for
  each multiply-add.  What takes longer, memory or arithmetic, hides some of the other, most of it
  where the weight is fetched ahead: 3x3 convolutions of 512 channels by 2 to 7 x 7 positions take
  0.83 ms with their weight in the cache and 0.89 ms without, 1.24 ms if it is not fetched ahead.

So a weight that Winograd's transform makes four times as large is often better transformed anew in
every call.  Where an image has few tiles, factors are used a few times only, and stay in registers
(`winograd_registers.py`): 3x3 convolutions of 512 channels and 7 x 7 positions take 0.43 ms so, and
0.49 with the weight from memory; with factors that are stored, a part at a time in the cache, 0.55,
and 1.3 where the 38 MB of the transformed weight are read.  256 channels of 14 x 14, sixteen tiles,
take 0.32 ms with factors that are stored.

The last tile of an axis is one of fewer positions if they are no multiple of its own, and does
without some of the products: F(4,3) has 22 x 22 for 14 x 14 positions, 11 x 11 for 7 x 7.

Convolutions of single pixels have one form, a matrix product: those of ResNet-50, each alone, run
at 0.96 to 1.0 of the peak.  Strassen's algorithm in Winograd's form, with its sums in the
first-level cache from one of the seven products to the next, was tried for them: an eighth fewer
multiply-adds took 0.96 to 1.02 of the time, 0.94 to 1.13 where the weight, seven quarters of it,
was not in the cache, and errors were 1.1 to 2.2 times as large.

How exact the forms are, and that a network's together may only have so much error, is in
`accuracy.py`; `exact` leaves only direct and F(2,3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from relax_mlir.errors import PassError
from relax_mlir.lowering.linalg_to_vector.convolution.accuracy import (
    choose_together,
    direct_error,
    error_limit,
    library_error,
    winograd_error,
)
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    CACHED_WEIGHT,
    FEW_TILES,
    SUMMED_IN_REGISTERS,
    VECTOR_COUNTS,
    choose_register_tile,
    register_groups,
    winograd_1d_chunk,
    winograd_chunk_rows,
    winograd_weight_block,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.topi.nn.winograd import Bilinear, bilinear

__all__ = ["ACCURACIES", "ConvolutionShape", "Form", "choose_forms", "forms_of", "panel_width"]

ACCURACIES = ("default", "exact")
"""What `accuracy` may be: `exact` for about the error of a direct convolution."""

# Outputs of a tile along an axis, by stride.
_OUTPUTS = {1: (2, 4), 2: (2, 4)}
_EXACT_OUTPUTS = 2
# More interpolation points than those of F(4, 3) cost too many digits.
_MOST_POINTS = 6
# Along one axis a point more is as exact as these along two.
_OUTPUTS_1D = (2, 3, 4)
_MOST_POINTS_1D = 7
_MOST_RUNS = 3
_TRANSFORM = 10
_TRANSFORM_1D, _PRODUCT_1D = 5, 2
# What reading a panel from the second-level cache for every piece of the tiles adds to products.
_REREAD = 0.1
_SMALL_BLOCK, _LARGE_BLOCK, _IN_REGISTERS = 3.5, 12, 1.0
_BLOCK_OF_SUMS = 3
_BYTES_AT_ONCE = 4.8
_LONG_ROW, _ROW_OVERHEAD = 14, 1.5
# A block of a panel that is transformed in the call fits into the first-level cache.
_VECTORS_IN_CALL = 2
# The part of the shorter of arithmetic and reading that is not hidden behind the longer one: more
# where the weight is read as it is needed than where it is fetched a block ahead.
_EXPOSED, _EXPOSED_AHEAD = 0.6, 0.25
# A weight of fewer bytes stays in the first-level cache, in whatever order it lies.
_SMALL_WEIGHT = 32 << 10
# Products and convolutions that have one form are taken to sum over so many channels.
_OTHER_CHANNELS = 64


@dataclass(frozen=True)
class ConvolutionShape:
    """Sizes of a convolution of [N, H, W, C] with [kh, kw, C, O]; `image` and `output` are (H, W),
    `padding` is (top, left).

    is_typical: whether H and W are only typical ones, since run time knows the real ones.
    """

    image: tuple[int, int]
    output: tuple[int, int]
    channels: int
    outputs: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int]
    is_typical: bool = False


@dataclass(frozen=True)
class Form:
    """How to compute a convolution: directly, or by Winograd algorithms for rows and columns, or
    for one of them.

    panel: output channels of a panel of the weight, 0 to leave it as it is.  cost: estimated
    vector multiply-adds of one image.  in_call: whether the weight is transformed in every call.
    error: estimated square of the relative error.
    """

    panel: int
    cost: float
    rows: Bilinear | None = None
    columns: Bilinear | None = None
    in_call: bool = False
    error: float = 0.0


def choose_forms(
    shapes: Sequence[tuple[ConvolutionShape, bool]],
    target: CPUTarget,
    accuracy: str = "default",
    *,
    others: int = 0,
) -> list[Form]:
    """The fastest forms that together have no more error than a function may have.

    shapes: those of its convolutions, and whether the weight is known when compiling.  others: how
    many sums of products it has besides, which are as exact as those of libraries.  Raises
    PassError for an unknown accuracy.
    """
    candidates = [forms_of(shape, target, accuracy, constant=known) for shape, known in shapes]
    rest = others * direct_error(_OTHER_CHANNELS)
    libraries = [library_error(prod(shape.kernel), shape.channels) for shape, _ in shapes]
    chosen = choose_together(
        [[(form.cost, form.error) for form in forms] for forms in candidates],
        error_limit([*libraries, rest]) - rest,
    )
    return [forms[i] for forms, i in zip(candidates, chosen, strict=True)]


def forms_of(
    shape: ConvolutionShape, target: CPUTarget, accuracy: str = "default", *, constant: bool = True
) -> list[Form]:
    """The forms that a convolution may have, direct the first.

    constant: whether the weight is known when compiling; if not it can only be transformed in the
    call, and stays in the order it has.  Images of any size have weights that are transformed once,
    or none at all.  Raises PassError for an unknown accuracy.
    """
    if accuracy not in ACCURACIES:
        known = " or ".join(ACCURACIES)
        raise PassError(f"convolution-accuracy is {accuracy!r}, expected {known}")
    forms = [_direct(shape, target)]
    if shape.is_typical:
        if constant and shape.strides == (1, 1):
            algorithms = _algorithms(shape, accuracy, in_call=False)
            forms += [_winograd(shape, *pair, target) for pair in algorithms]
        return forms
    for in_call in (True, False) if constant else (True,):
        for rows, columns in _algorithms(shape, accuracy, in_call):
            forms.append(_winograd(shape, rows, columns, target))
    if constant:
        forms += [_winograd_1d(shape, *one, target) for one in _algorithms_1d(shape, accuracy)]
    return forms if constant else [replace(form, panel=0) for form in forms]


def _algorithms(
    shape: ConvolutionShape, accuracy: str, in_call: bool
) -> Iterator[tuple[Bilinear, Bilinear]]:
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
                own.append(bilinear(output, taps, stride, in_call=in_call))
        choices.append(own)
    for rows in choices[0]:
        for columns in choices[1]:
            yield rows, columns


def _algorithms_1d(shape: ConvolutionShape, accuracy: str) -> Iterator[tuple[Bilinear, int]]:
    """Algorithms along one axis, and which."""
    if shape.dilation != (1, 1):
        return
    for axis in (1, 0):
        found = list(_algorithms_along(shape, axis, accuracy))
        yield from ((algorithm, axis) for algorithm in found)
        # Tiles along rows are stored a line of the image apart, which is slower.
        if found:
            return


def _algorithms_along(shape: ConvolutionShape, axis: int, accuracy: str) -> Iterator[Bilinear]:
    taps, stride, length = shape.kernel[axis], shape.strides[axis], shape.output[axis]
    if stride not in _OUTPUTS or taps <= stride:
        return
    for output in _OUTPUTS_1D:
        if output >= length or (accuracy == "exact" and output > _EXACT_OUTPUTS):
            continue
        for runs in range(1, _MOST_RUNS + 1):
            algorithm = _bilinear_within(_MOST_POINTS_1D, output, taps, stride, runs)
            if algorithm is not None:
                yield algorithm


def _bilinear_within(
    points: int, output: int, taps: int, stride: int, runs: int
) -> Bilinear | None:
    """An algorithm of at most so many points, whose runs have two taps or more."""
    own = -(-taps // stride)
    longest = -(-own // runs)
    if output + longest - 1 > points or (runs > 1 and own < 2 * runs):
        return None
    return bilinear(output, taps, stride, runs)


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
    weight = _weight_bytes(shape)
    compute = taps * shape.channels * -(-shape.outputs // lanes)
    pixels = min(shape.output[1], _LONG_ROW)
    exposed = _EXPOSED_AHEAD if weight > CACHED_WEIGHT else 1.0
    cost = _with_reading(compute * (1 + _ROW_OVERHEAD / pixels), weight, exposed)
    panel = panel_width(shape.output[1], shape.outputs, weight, target)
    return Form(panel, cost, error=direct_error(shape.channels))


def _winograd(
    shape: ConvolutionShape, rows: Bilinear, columns: Bilinear, target: CPUTarget
) -> Form:
    lanes, in_call = target.lanes(32), rows.in_call
    count = rows.products * columns.products
    tiles_h, tiles_w = (
        -(-length // axis.output)
        for length, axis in zip(shape.output, (rows, columns), strict=True)
    )
    tiles = tiles_h * tiles_w
    into, out = (-(-n // lanes) for n in (shape.channels, shape.outputs))
    elements = count * shape.channels
    chunk = winograd_chunk_rows(tiles_h, tiles_w, elements, shape.outputs, target)
    chunks = -(-tiles_h // chunk)
    made = _products_along(columns, shape.output[1])
    made *= _products_along(rows, shape.output[0]) if chunks == 1 else tiles_h * rows.products
    compute = made * ((shape.channels + 2) * out + _TRANSFORM * (into + out))
    weight, exposed = elements * shape.outputs * 4, _EXPOSED
    sizes = (count, shape.channels)
    groups = register_groups(columns.products, tiles, sizes, target) if in_call else []
    counts = VECTOR_COUNTS[: 1 if groups else _VECTORS_IN_CALL] if in_call else VECTOR_COUNTS
    panel = panel_width(min(tiles, 14), shape.outputs, weight, target, counts)
    if in_call:
        weight, exposed = _weight_bytes(shape), _EXPOSED_AHEAD
        if groups:
            factors = rows.products * (columns.products + len(groups) * columns.taps)
            compute += _IN_REGISTERS * factors * shape.channels * out
            block = SUMMED_IN_REGISTERS
        else:
            block = winograd_weight_block(
                rows.products, columns.products, shape.channels, panel or 2 * lanes,
                chunk * tiles_w, target,
            ).channels  # fmt: skip
            each = _LARGE_BLOCK if chunk * tiles_w > FEW_TILES else _SMALL_BLOCK
            compute += each * elements * out * chunks
        compute += _BLOCK_OF_SUMS * made * out * -(-shape.channels // block)
    cost = _with_reading(compute, weight * chunks, exposed)
    error = winograd_error((rows.points, columns.points), shape.channels)
    return Form(panel, cost, rows, columns, in_call, error)


def _products_along(algorithm: Bilinear, length: int) -> int:
    """The products of all tiles of an axis of so many output positions."""
    whole, rest = divmod(length, algorithm.output)
    last = algorithm.products_for(rest) if rest else 0
    return whole * algorithm.products + last


def _winograd_1d(
    shape: ConvolutionShape, algorithm: Bilinear, axis: int, target: CPUTarget
) -> Form:
    lanes, count = target.lanes(32), algorithm.products
    taps, stride, across = shape.kernel[1 - axis], shape.strides[1 - axis], shape.output[1 - axis]
    tiles = -(-shape.output[axis] // algorithm.output)
    into, out = (-(-n // lanes) for n in (shape.channels, shape.outputs))
    depth = taps * shape.channels
    weight = count * depth * shape.outputs
    chunk = winograd_1d_chunk((across, tiles), count * shape.channels, weight, stride, target)
    total = tiles if across == 1 else across
    chunks = -(-total // chunk)
    read = (across - 1) * stride + taps + (0 if across == 1 else (chunks - 1) * (taps - stride))
    pixels = min(chunk if across == 1 else chunk * tiles, _LONG_ROW)
    panel = panel_width(pixels, shape.outputs, weight * 4, target)
    reread = count * depth * (panel or lanes) * 4 > target.l1_bytes
    products = depth * (1 + _ROW_OVERHEAD / pixels + reread * _REREAD) + _PRODUCT_1D
    compute = count * tiles * across * products * out
    compute += _TRANSFORM_1D * count * tiles * (read * into + across * out)
    cost = _with_reading(compute, weight * 4 * chunks, _EXPOSED)
    points = (algorithm.points, 1)
    return Form(
        panel,
        cost,
        None if axis else algorithm,
        algorithm if axis else None,
        error=winograd_error(points, shape.channels),
    )


def _weight_bytes(shape: ConvolutionShape) -> int:
    return shape.kernel[0] * shape.kernel[1] * shape.channels * shape.outputs * 4


def _with_reading(compute: float, weight: int, exposed: float) -> float:
    """The cost of arithmetic while a weight of so many bytes is read."""
    reading = weight / _BYTES_AT_ONCE
    return max(compute, reading) + exposed * min(compute, reading)


def panel_width(
    positions: int,
    outputs: int,
    weight_bytes: int,
    target: CPUTarget,
    counts: tuple[int, ...] = VECTOR_COUNTS,
) -> int:
    """Output channels of a panel of the weight: those of a register tile, if they divide them all;
    0 where the weight is small or none fits.  counts: vectors that a panel may have."""
    lanes = target.lanes(32)
    fitting = tuple(n for n in counts if outputs % (n * lanes) == 0)
    if not fitting or weight_bytes <= _SMALL_WEIGHT:
        return 0
    return choose_register_tile(positions, outputs, lanes, target, fitting).vectors * lanes
