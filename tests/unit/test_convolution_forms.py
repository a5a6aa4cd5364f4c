"""The algorithms of Winograd, and what the cost model chooses for well-known layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relax_mlir.errors import Error, PassError
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    RegisterTile,
    choose_register_tile,
    chunk_rows,
    even_pieces,
    register_groups,
    winograd_chunk_rows,
    winograd_weight_block,
)
from relax_mlir.lowering.linalg_to_vector.convolution.forms import (
    ConvolutionShape,
    Form,
    choose_forms,
)
from relax_mlir.lowering.linalg_to_vector.convolution.loops import row_tiles
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Window
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.topi.nn import bilinear

AVX512 = CPUTarget(vector_bits=512, vector_registers=32)
AVX2 = CPUTarget(vector_bits=256, vector_registers=16)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("taps", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("output", [1, 2, 3, 4])
def test_bilinear_algorithms(output: int, taps: int, stride: int) -> None:
    if stride == 1 and output + taps - 1 > 8:
        with pytest.raises(Error, match=r"winograd: \d outputs of \d taps need \d+ points"):
            bilinear(output, taps, stride)
        return
    algorithm = bilinear(output, taps, stride)
    random = np.random.default_rng(output * 10 + taps)
    x, w = random.standard_normal(algorithm.reach), random.standard_normal(taps)
    expected = [x[i * stride : i * stride + taps] @ w for i in range(output)]
    got = algorithm.a @ ((algorithm.g @ w) * (algorithm.b @ x))
    np.testing.assert_allclose(got, expected, atol=1e-11)
    assert algorithm.reach == (output - 1) * stride + taps


@pytest.mark.parametrize(("output", "taps", "stride"), [(4, 3, 1), (2, 3, 1), (4, 3, 2), (3, 4, 1)])
def test_constants_of_programs_are_exact(output: int, taps: int, stride: int) -> None:
    """Only the transformed weight, which is made once, is rounded; and weights that are transformed
    in the call have simple rows."""
    algorithm = bilinear(output, taps, stride)
    for positions in range(1, output + 1):
        for matrix in algorithm.part(positions):
            np.testing.assert_array_equal(matrix.astype(np.float32), matrix)
    in_call = bilinear(output, taps, stride, in_call=True).g
    assert all(1.0 in row for row in np.abs(in_call))


@pytest.mark.parametrize(
    ("output", "taps", "stride", "runs"),
    [(4, 3, 1, 1), (2, 3, 1, 1), (4, 5, 1, 1), (4, 3, 2, 1), (4, 7, 2, 1), (4, 7, 1, 2)],
)
@pytest.mark.parametrize("in_call", [False, True])
def test_first_products_are_an_algorithm_for_fewer_positions(
    output: int, taps: int, stride: int, runs: int, in_call: bool
) -> None:
    algorithm = bilinear(output, taps, stride, runs, in_call=in_call)
    random = np.random.default_rng(output * 10 + taps)
    x, w = random.standard_normal(algorithm.reach), random.standard_normal(taps)
    for positions in range(1, output):
        a, b = algorithm.part(positions)
        used = algorithm.products_for(positions)
        assert used < algorithm.products and a.shape == (positions, used)
        expected = [x[i * stride : i * stride + taps] @ w for i in range(positions)]
        got = a @ ((algorithm.g[:used] @ w) * (b @ x))
        np.testing.assert_allclose(got, expected, atol=1e-11)
        # What lies beyond the positions is not read.
        assert not b[:, (positions - 1) * stride + taps :].any()
    assert algorithm.products_for(output) == algorithm.products


def test_strides_of_algorithms() -> None:
    with pytest.raises(Error, match="winograd: strides 1 and 2 are known, given 3"):
        bilinear(2, 3, 3)


def choose_form(
    shape: ConvolutionShape, target: CPUTarget, accuracy: str = "default", *, constant: bool = True
) -> Form:
    return choose_forms([(shape, constant)], target, accuracy)[0]


def _shape(
    channels: int, outputs: int, size: int, kernel: int = 3, stride: int = 1
) -> ConvolutionShape:
    side = kernel // 2
    out = (size + 2 * side - kernel) // stride + 1
    return ConvolutionShape(
        (size, size), (out, out), channels, outputs, (kernel, kernel), (stride, stride), (1, 1),
        (side, side),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "outputs"),
    [
        (_shape(64, 64, 56), (4, 4)),  # ResNet's stages
        (_shape(128, 128, 28), (4, 4)),
        (_shape(256, 256, 14), (4, 4)),
        (_shape(64, 64, 224), (4, 4)),  # VGG
        (_shape(3, 64, 224), None),  # too few channels for what the transforms cost
        (_shape(3, 64, 224, 7, 2), None),
        (_shape(64, 256, 56, 1), None),
        (_shape(64, 64, 56, 3, 3), None),
        (_shape(64, 64, 4), (2, 2)),  # tiles of four would be the whole image
        (_shape(64, 64, 2), None),
    ],
)
def test_forms(shape: ConvolutionShape, outputs: tuple[int, int] | None) -> None:
    form = choose_form(shape, AVX512)
    found = (
        None
        if form.rows is None or form.columns is None
        else (
            form.rows.output,
            form.columns.output,
        )
    )
    assert found == outputs
    exact = choose_form(shape, AVX512, "exact")
    assert exact.rows is None or exact.rows.output == 2
    assert exact.cost >= form.cost


@pytest.mark.parametrize(
    ("shape", "in_call"),
    [
        (_shape(64, 64, 56), False),  # many tiles share what is transformed once
        (_shape(256, 256, 14), True),
        (_shape(512, 512, 7), True),  # 38 MB if it were transformed once
    ],
)
def test_large_weights_of_small_images_are_transformed_in_the_call(
    shape: ConvolutionShape, in_call: bool
) -> None:
    form = choose_form(shape, AVX512)
    assert form.rows is not None and form.in_call == in_call


def test_weights_that_are_arguments_are_transformed_in_the_call() -> None:
    form = choose_form(_shape(64, 64, 56), AVX512, constant=False)
    assert form.rows is not None and form.in_call and not form.panel
    # Where that does not pay nothing is done to them.
    assert choose_form(_shape(3, 64, 224), AVX512, constant=False).rows is None


@pytest.mark.parametrize(
    ("output", "taps", "stride", "runs", "products", "points"),
    [(4, 7, 2, 1, 13, 7), (4, 7, 1, 2, 13, 7), (3, 5, 1, 2, 9, 5), (4, 11, 2, 2, 23, 6)],
)
def test_taps_in_runs(
    output: int, taps: int, stride: int, runs: int, products: int, points: int
) -> None:
    algorithm = bilinear(output, taps, stride, runs)
    assert (algorithm.products, algorithm.points) == (products, points)
    random = np.random.default_rng(taps)
    x, w = random.standard_normal(algorithm.reach), random.standard_normal(taps)
    expected = [x[i * stride : i * stride + taps] @ w for i in range(output)]
    got = algorithm.a @ ((algorithm.g @ w) * (algorithm.b @ x))
    np.testing.assert_allclose(got, expected, atol=1e-12)


def _line(channels: int, length: int, taps: int, stride: int = 1) -> ConvolutionShape:
    side = taps // 2
    out = (length + 2 * side - taps) // stride + 1
    return ConvolutionShape(
        (1, length), (1, out), channels, channels, (1, taps), (1, stride), (1, 1), (0, side)
    )


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        (_shape(3, 64, 224, 7, 2), None, (4, 1)),  # the stem of ResNet
        (_shape(3, 64, 224), None, (4, 1)),  # that of VGG
        (_shape(3, 32, 224, 3, 2), None, None),  # two taps and one save too little
        (_shape(48, 64, 35, 5), (2, 1), (2, 1)),  # less along two axes
        (_line(80, 3000, 3), None, (4, 1)),
        (replace(_shape(192, 192, 17), kernel=(1, 7), padding=(0, 3)), None, (4, 2)),  # Inception
        (_line(192, 17, 7), None, None),  # its weight alone takes longer to read
        (replace(_shape(192, 192, 17), kernel=(7, 1), padding=(3, 0)), (4, 2), None),
        (replace(_line(64, 100, 3), dilation=(1, 2)), None, None),
        (_line(64, 100, 3, 3), None, None),
    ],
)
def test_forms_along_one_axis(
    shape: ConvolutionShape, rows: tuple[int, int] | None, columns: tuple[int, int] | None
) -> None:
    """Outputs of a tile and runs of the taps, along each axis."""
    form = choose_form(shape, AVX512)
    found = [axis and (axis.output, axis.runs) for axis in (form.rows, form.columns)]
    assert found == [rows, columns]
    # A weight that is no constant is not transformed along one axis alone.
    argument = choose_form(shape, AVX512, constant=False)
    assert (argument.rows is None) == (argument.columns is None)
    exact = choose_form(shape, AVX512, "exact")
    assert all(axis is None or axis.output <= 2 for axis in (exact.rows, exact.columns))


def test_unknown_accuracy() -> None:
    with pytest.raises(PassError, match="convolution-accuracy is 'low', expected default or exact"):
        choose_form(_shape(64, 64, 56), AVX512, "low")


@pytest.mark.parametrize("target", [AVX512, AVX2, CPUTarget()])
@pytest.mark.parametrize("pixels", [1, 7, 14, 28, 56, 100, None])
@pytest.mark.parametrize("channels", [1, 16, 24, 64, 512, None])
def test_register_tiles_fit(target: CPUTarget, pixels: int | None, channels: int | None) -> None:
    tile = choose_register_tile(pixels, channels, target.lanes(32), target)
    needed = tile.pixels * tile.vectors + tile.vectors + 1
    assert needed <= target.vector_registers
    assert pixels is None or tile.pixels <= pixels


def test_panels_for_wider_registers_than_the_target_has() -> None:
    """Eight vectors and a datum do not fit into sixteen registers: some wait in memory."""
    assert choose_register_tile(14, 32, 4, CPUTarget(vector_bits=128), (8,)) == RegisterTile(1, 8)


@pytest.mark.parametrize(
    ("rows", "channels", "outputs", "expected"),
    [
        (14, 64, 64, 7),  # a small weight: the data of a chunk fit into the second-level cache
        (7, 512, 512, 7),  # a large one is read once
        (56, 64, 64, 8),
        (56, 512, 512, 8),  # unless the data would fill the last-level cache
    ],
)
def test_rows_of_tiles_that_go_together(
    rows: int, channels: int, outputs: int, expected: int
) -> None:
    assert winograd_chunk_rows(rows, 7, 36 * channels, outputs, AVX512) == expected


@pytest.mark.parametrize(("channels", "tiles"), [(3, 4), (20, 4), (40, 49), (512, 4), (512, 49)])
def test_blocks_of_a_weight_are_whole_vectors(channels: int, tiles: int) -> None:
    block = winograd_weight_block(6, 6, channels, 32, tiles, AVX512)
    assert block.channels == channels or block.channels % 16 == 0
    assert block.rows == (2 if tiles > 16 else 1)
    room = AVX512.l2_bytes // 4 if tiles > 16 else AVX512.l1_bytes
    assert block.rows * 6 * block.channels * 32 * 4 <= room


def test_columns_whose_sums_fit_into_registers() -> None:
    sizes = (36, 30)
    assert register_groups(6, 4, sizes, AVX512) == [range(6)]
    assert register_groups(6, 8, sizes, AVX512) == [range(3), range(3, 6)]
    assert register_groups(6, 4, sizes, AVX2) == [range(2), range(2, 4), range(4, 6)]
    assert register_groups(6, 16, sizes, AVX512) == []
    # As much data does not stay in the cache, and so many products are too much code.
    assert register_groups(6, 4, (36, 1024), AVX512) == []
    assert register_groups(9, 4, (81, 30), AVX512) == []


def test_even_pieces() -> None:
    assert even_pieces(56, 14) == [14] * 4
    assert even_pieces(16, 14) == [8, 8]
    assert even_pieces(30, 14) == [10] * 3
    assert even_pieces(29, 14) == [10, 10, 9]
    assert even_pieces(1, 14) == [1]


def test_row_tiles_select_taps() -> None:
    """Tiles at a border know which positions each tap is good for; those between are alike."""
    window = Window(0, 1, stride=1, dilation=1, low=1, size=12, checked=True)
    first, middle, last = row_tiles(12, 3, window, 3)[0:3]
    assert (first.start, first.taps) == (0, ((1, 2), (0, 1, 2), (0, 1, 2)))
    assert (middle.start, middle.size, middle.count, middle.taps) == (3, 3, 2, None)
    assert (last.start, last.taps) == (9, ((0, 1, 2), (0, 1, 2), (0, 1)))


@pytest.mark.parametrize(
    ("tiles", "most", "cores", "rows"),
    [
        (14, 3, 1, 2),  # equal chunks rather than a rest
        (14, 5, 1, 5),  # but not by halving them
        (14, 2, 2, 1),  # seven rows for each core, not eight and six
        (7, 2, 2, 2),  # four and three either way
        (4, 2, 2, 2),
        (2, 2, 2, 1),
        (14, 4, 3, 1),
    ],
)
def test_rows_of_tiles_are_shared_out_evenly(tiles: int, most: int, cores: int, rows: int) -> None:
    assert chunk_rows(tiles, most, 1, cores) == rows


def test_too_few_rows_of_tiles_stay_together() -> None:
    assert chunk_rows(2, 2, 2, 2) == 2


def test_forms_of_a_network() -> None:
    """A chain of convolutions of many channels gives up some speed for its error; what else sums
    products leaves room, a few layers need none."""
    deep = [(_shape(512, 512, 14), True)] * 12
    fastest = choose_form(deep[0][0], AVX512)
    chosen = choose_forms(deep, AVX512)
    changed = [form for form in chosen if form.cost > fastest.cost]
    assert 0 < len(changed) < len(deep)
    assert all(form.error < fastest.error for form in changed)
    assert all(form.cost == fastest.cost for form in choose_forms(deep, AVX512, others=60))
    assert all(form.cost == fastest.cost for form in choose_forms(deep[:3], AVX512))
    assert choose_forms([], AVX512) == []
