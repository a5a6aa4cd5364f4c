"""Which chains of operations are taken for Winograd convolutions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import relax_mlir
from relax_mlir import te, topi
from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import (
    Winograd,
    match_winograd,
)
from relax_mlir.lowering.tir_to_linalg.access import fill
from relax_mlir.mlir import arith, ir
from relax_mlir.transform import PassPipeline


@pytest.fixture
def function() -> Iterator[ir.Operation]:
    """F(2, 3) for rows and columns of an image of 8 x 8, as linalg operations on x, w and y."""
    algorithm = topi.nn.bilinear(2, 3)
    x = te.placeholder((1, 8, 8, 16), "float32", name="x")
    w = te.placeholder((4, 4, 16, 16), "float32", name="w")
    y = topi.nn.conv2d_winograd_nhwc(x, w, (1, 1), algorithm, algorithm, (8, 8))
    module = relax_mlir.IRModule({"main": te.create_prim_func([x, w, y])})
    lowered = PassPipeline("tir-to-linalg")(module)["main"]
    yield lowered.operation  # which lives as long as the function


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


@pytest.mark.parametrize("argument", [0, 1], ids=["data", "weight"])
@pytest.mark.parametrize("ahead", range(1, 5))
def test_what_is_read_must_stay(function: ir.Operation, argument: int, ahead: int) -> None:
    """The whole chain runs where its last operation is: what is read must be the same there."""
    links = [op for op in _operations(function) if op.name == "linalg.generic"][-5:]
    with ir.InsertionPoint(links[ahead]), links[ahead].location:
        zero = arith.constant(ir.F32Type.get(), 0.0)
        fill(function.regions[0].blocks[0].arguments[argument], zero)
    assert not _matches(function)


def test_passed_on_values_have_one_reader(function: ir.Operation) -> None:
    links = [op for op in _operations(function) if op.name == "linalg.generic"][-5:]
    with ir.InsertionPoint(links[-1]):
        links[-2].clone()
    assert not _matches(function)
