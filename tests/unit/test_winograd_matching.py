"""Which chains of operations are taken for Winograd convolutions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import relax_mlir
from relax_mlir import te, topi
from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_1d_matching import (
    match_winograd_1d,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import (
    Winograd,
    match_winograd,
)
from relax_mlir.lowering.tir_to_linalg.access import fill
from relax_mlir.mlir import arith, ir
from relax_mlir.transform import PassPipeline


def _lowered(weight: tuple[int, ...], transform: bool) -> relax_mlir.tir.PrimFunc:
    """F(2, 3) for rows and columns of an image of 8 x 8, as linalg operations on x, w and y."""
    algorithm = topi.nn.bilinear(2, 3)
    x = te.placeholder((1, 8, 8, 16), "float32", name="x")
    w = te.placeholder(weight, "float32", name="w")
    y = topi.nn.conv2d_winograd_nhwc(
        x, w, (1, 1), algorithm, algorithm, (8, 8), transform=transform
    )
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    return PassPipeline("tir-to-linalg")(module)["main"]


@pytest.fixture
def function() -> Iterator[ir.Operation]:
    lowered = _lowered((4, 4, 16, 16), False)
    with lowered.operation.context:
        yield lowered.operation  # which lives as long as the function


@pytest.fixture(params=[(3, 3, 16, 16), (2, 16, 3, 3, 8), (1, 16, 3, 3, 16)], ids=str)
def in_call(request: pytest.FixtureRequest) -> Iterator[ir.Operation]:
    """The same with a weight that is transformed in the call."""
    lowered = _lowered(request.param, True)
    with lowered.operation.context:
        yield lowered.operation


def _operations(function: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in function.regions[0].blocks[0].operations]


def _matches(function: ir.Operation) -> list[Winograd]:
    uses = BufferUses(function)
    found = (match_winograd(op, uses) for op in _operations(function))
    return [winograd for winograd in found if winograd is not None]


def test_a_chain(function: ir.Operation) -> None:
    (found,) = _matches(function)
    x, w, y = function.regions[0].blocks[0].arguments
    assert (found.data, found.weight, found.out) == (x, w, y)
    assert (found.channels, found.outputs, found.panel) == (16, 16, None)
    for axis in (found.rows, found.columns):
        assert (axis.step, axis.tiles, axis.size, axis.low, axis.length) == (2, 4, 8, 1, 8)
        assert axis.a.shape == (2, 4) and axis.b.shape == (4, 4)


def _tiled(
    sizes: tuple[int, int], output: int, stride: int, weight: int
) -> relax_mlir.tir.PrimFunc:
    """3x3 with tiles of `output` positions, which do not divide these sizes."""
    algorithm = topi.nn.bilinear(output, 3, stride)
    height, width = (size * stride for size in sizes)
    x = te.placeholder((1, height, width, 16), "float32", name="x")
    w = te.placeholder((weight, weight, 16, 16), "float32", name="w")
    y = topi.nn.conv2d_winograd_nhwc(x, w, (1, 1), algorithm, algorithm, sizes)
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    return PassPipeline("tir-to-linalg")(module)["main"]


@pytest.mark.parametrize(
    ("sizes", "output", "stride", "parts"),
    [
        ((7, 14), 4, 1, [(2, 3, 5, 5), (4, 2, 4, 4)]),
        ((13, 7), 4, 1, [(4, 1, 3, 3), (2, 3, 5, 5)]),
        ((7, 14), 4, 2, [(2, 3, 7, 7), (4, 2, 5, 5)]),
        ((5, 8), 2, 1, [(3, 1, 3, 3), (4, 2, 4, 4)]),
    ],
)
def test_the_last_tile_needs_fewer_products(
    sizes: tuple[int, int], output: int, stride: int, parts: list[tuple[int, int, int, int]]
) -> None:
    products = topi.nn.bilinear(output, 3, stride).products
    lowered = _tiled(sizes, output, stride, products)
    with lowered.operation.context:
        (found,) = _matches(lowered.operation)
    for axis, size, (tiles, rest, used, in_a) in zip(
        (found.rows, found.columns), sizes, parts, strict=True
    ):
        assert (axis.tiles, axis.length, axis.output) == (tiles, size, output)
        if size % output == 0:
            assert axis.last is None and axis.used_by_all == products
            continue
        assert axis.last is not None
        assert axis.last.a.shape == (rest, in_a) and axis.last.b.shape[0] == used
        assert (axis.whole, axis.used_by_all) == (tiles - 1, used)
        assert axis.last.b.shape[1] == (rest - 1) * stride + 3


def test_a_weight_transformed_in_the_call(in_call: ir.Operation) -> None:
    (found,) = _matches(in_call)
    x, w, y = in_call.regions[0].blocks[0].arguments
    assert (found.data, found.weight, found.out) == (x, w, y)
    shape = list(ir.MemRefType(w.type).shape)
    assert found.panel == (shape[-1] if len(shape) == 5 else None)
    assert found.transform is not None
    algorithm = topi.nn.bilinear(2, 3)
    for matrix in (found.transform.rows, found.transform.columns):
        np.testing.assert_allclose(matrix, algorithm.g, rtol=1e-6)
    # The two operations that transform it go with the chain, and what fills their results.
    members = [op.name for op in found.members]
    assert members.count("linalg.generic") >= 4 + 2 + 3


def test_a_weight_must_stay_until_the_end(in_call: ir.Operation) -> None:
    links = [op for op in _operations(in_call) if op.name == "linalg.generic"][-3:]
    with ir.InsertionPoint(links[-1]), links[-1].location:
        zero = arith.constant(ir.F32Type.get(), 0.0)
        fill(in_call.regions[0].blocks[0].arguments[1], zero)
    assert not _matches(in_call)


def test_a_transformed_weight_has_one_reader(in_call: ir.Operation) -> None:
    product = [op for op in _operations(in_call) if op.name == "linalg.generic"][-3]
    with ir.InsertionPoint(product):
        maker = next(
            use.owner.operation
            for use in product.operands[1].uses
            if use.owner.operation != product and use.owner.operation.name == "linalg.generic"
        )
        maker.clone()
    assert not _matches(in_call)


@pytest.mark.parametrize("argument", [0, 1], ids=["data", "weight"])
@pytest.mark.parametrize("ahead", range(1, 5))
def test_what_is_read_must_stay(function: ir.Operation, argument: int, ahead: int) -> None:
    """The whole chain runs where its last operation is: what is read must be the same there.  The
    weight is read by the third operation."""
    links = [op for op in _operations(function) if op.name == "linalg.generic"][-5:]
    with ir.InsertionPoint(links[ahead]), links[ahead].location:
        zero = arith.constant(ir.F32Type.get(), 0.0)
        fill(function.regions[0].blocks[0].arguments[argument], zero)
    is_read_later = argument == 1 and ahead <= 2
    assert len(_matches(function)) == is_read_later


def test_passed_on_values_have_one_reader(function: ir.Operation) -> None:
    links = [op for op in _operations(function) if op.name == "linalg.generic"][-5:]
    with ir.InsertionPoint(links[-1]):
        links[-2].clone()
    assert not _matches(function)


@pytest.mark.parametrize(
    ("kernel", "axis", "strides", "tiles", "taps"),
    [((7, 3), 1, (2, 1), 5, 7), ((7, 3), 0, (2, 1), 3, 3), ((1, 5), 1, (1, 1), 5, 1)],
)
def test_a_chain_along_one_axis(
    kernel: tuple[int, int], axis: int, strides: tuple[int, int], tiles: int, taps: int
) -> None:
    sides = (kernel[0] // 2, kernel[1] // 2)
    algorithm = topi.nn.bilinear(4, kernel[axis], strides[axis])
    x = te.placeholder((2, 20, 18, 8), "float32", name="x")
    w = te.placeholder((2, algorithm.products, kernel[1 - axis], 8, 16), "float32", name="w")
    sizes = (19 // strides[0] + 1, 17 // strides[1] + 1)
    y = topi.nn.conv2d_winograd_1d_nhwc(x, w, sides, algorithm, axis, strides[1 - axis], sizes)
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    lowered = PassPipeline("tir-to-linalg")(module)["main"]
    function = lowered.operation
    with function.context:
        uses = BufferUses(function)
        assert not _matches(function)
        chains = [match_winograd_1d(op, uses) for op in _operations(function)]
        (found,) = (chain for chain in chains if chain is not None)
        data, weight, out = function.regions[0].blocks[0].arguments
        assert (found.data, found.weight, found.out) == (data, weight, out)
        assert (found.direction, found.channels, found.outputs, found.panel) == (axis, 8, 32, 16)
        along, summed = found.axis, found.summed
        shape = (20, 18)
        assert (along.step, along.tiles, along.size, along.low, along.length) == (
            algorithm.step,
            tiles,
            shape[axis],
            sides[axis],
            sizes[axis],
        )
        np.testing.assert_allclose(along.b, algorithm.b, rtol=1e-6)
        other = 1 - axis
        assert (summed.taps, summed.stride, summed.size, summed.low, summed.length) == (
            taps,
            strides[other],
            shape[other],
            sides[other],
            sizes[other],
        )
        # Not where something else reads what it passes on.
        with ir.InsertionPoint(found.last), found.last.location:
            fill(found.last.operands[1], arith.constant(ir.F32Type.get(), 0.0))
        assert not any(match_winograd_1d(op, BufferUses(function)) for op in _operations(function))


@pytest.mark.parametrize("panel", [None, 16, 32])
def test_a_chain_of_lines(panel: int | None) -> None:
    algorithm = topi.nn.bilinear(4, 5, 2)
    sizes = (8, 32) if panel is None else (8, panel)
    lead = () if panel is None else (32 // panel,)
    x = te.placeholder((2, 41, 8), "float32", name="x")
    w = te.placeholder((*lead, algorithm.products, *sizes), "float32", name="w")
    y = topi.nn.conv1d_winograd_nwc(x, w, 2, algorithm, 21)
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    lowered = PassPipeline("tir-to-linalg")(module)["main"]
    function = lowered.operation
    with function.context:
        uses = BufferUses(function)
        chains = [match_winograd_1d(op, uses) for op in _operations(function)]
        (found,) = (chain for chain in chains if chain is not None)
        assert (found.is_line, found.direction, found.panel) == (True, 1, panel)
        assert (found.channels, found.outputs) == (8, 32)
        along = found.axis
        assert (along.step, along.tiles, along.size, along.low, along.length) == (8, 6, 41, 2, 21)
        assert (found.summed.taps, found.summed.size, found.summed.length) == (1, 1, 1)


def _of_any_batch(along: str) -> relax_mlir.tir.PrimFunc:
    """A padded convolution of as many images of 8 x 8 as there are."""
    algorithm = topi.nn.bilinear(2, 3)
    x = te.placeholder((te.var("n", "int64"), 8, 8, 16), "float32", name="x")
    if along == "both axes":
        w = te.placeholder((4, 4, 16, 16), "float32", name="w")
        y = topi.nn.conv2d_winograd_nhwc(x, w, (1, 1), algorithm, algorithm, (8, 8))
    else:
        w = te.placeholder((4, 3, 16, 16), "float32", name="w")
        y = topi.nn.conv2d_winograd_1d_nhwc(x, w, (1, 1), algorithm, 1, 1, (8, 8))
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    return PassPipeline("tir-to-linalg")(module)["main"]


@pytest.mark.parametrize("along", ["both axes", "one"])
def test_batches_of_any_size(along: str) -> None:
    """Views of the data and questions for their sizes, which stand between, write nothing."""
    lowered = _of_any_batch(along)
    with lowered.operation.context:
        uses = BufferUses(lowered.operation)
        match = match_winograd if along == "both axes" else match_winograd_1d
        operations = _operations(lowered.operation)
        assert {"memref.subview", "memref.dim"} <= {op.name for op in operations}
        (found,) = (chain for op in operations if (chain := match(op, uses)) is not None)
        assert found.data == lowered.operation.regions[0].blocks[0].arguments[0]


def test_a_weight_transposed_in_the_call() -> None:
    """A weight OIHW that is an argument is transposed first: its transform reads vectors of output
    channels, and what writes them before it is read takes nothing from the chain."""
    algorithm = topi.nn.bilinear(2, 3)
    x = te.placeholder((1, 8, 8, 16), "float32", name="x")
    w = te.placeholder((16, 16, 3, 3), "float32", name="w")
    turned = topi.transpose(w, (2, 3, 1, 0))
    y = topi.nn.conv2d_winograd_nhwc(
        x, turned, (1, 1), algorithm, algorithm, (8, 8), transform=True
    )
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    lowered = PassPipeline("tir-to-linalg,linalg-fuse-elementwise")(module)["main"]
    with lowered.operation.context:
        (found,) = _matches(lowered.operation)
        assert found.data == lowered.operation.regions[0].blocks[0].arguments[0]
        (transposition,) = [
            op
            for op in _operations(lowered.operation)
            if op.name == "linalg.generic" and found.weight == op.operands[-1]
        ]
        # Not where the weight is written behind its transform.
        with ir.InsertionPoint(found.last), found.last.location:
            transposition.clone()
        assert not _matches(lowered.operation)
