"""Operations with any number of values of different types, and their text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import SLOTS, create
from relax_mlir.dialects.variadic_text import insert_segments, remove_segments
from relax_mlir.errors import Error, VerificationError
from relax_mlir.ir import IRModule
from relax_mlir.mlir import ir


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    with mlir.scope():
        yield


def _constants(sizes: list[int]) -> list[ir.Value]:
    return [
        create("relax.zeros", [types.tensor_type((size,), "float32")],
               [create("relax.shape_expr", [types.shape_type((size,))]).result],
               {"dtype": ir.StringAttr.get("float32")}).result
        for size in sizes
    ]  # fmt: skip


def _tuple_of(sizes: list[int]) -> ir.Module:
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        values = _constants(sizes)
        create("relax.tuple", [types.tuple_type([v.type for v in values])], values)
    return module


@pytest.mark.parametrize("count", [0, 1, 2, 100, SLOTS])
def test_different_types(count: int) -> None:
    assert _tuple_of(list(range(1, count + 1))).operation.verify()


def test_runs_of_one_type_share_a_slot() -> None:
    assert _tuple_of([4] * 2 * SLOTS + list(range(1, SLOTS))).operation.verify()


def test_too_many_types_are_refused() -> None:
    with pytest.raises(ValueError, match=f"at most {SLOTS} values of different types"):
        _tuple_of(list(range(1, SLOTS + 2)))


TEXT = """func.func @main(%x: tensor<1xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  // "relax.tuple"(%x) is only mentioned here
  %a:2 = "relax.dataflow"() ({
    %t = "relax.tuple"(%x, %y) {note = "}) \\"("} : (tensor<1xf32>, tensor<2xf32>) -> \
tuple<tensor<1xf32>, tensor<2xf32>>
    "relax.output"(%t, %y) : (tuple<tensor<1xf32>, tensor<2xf32>>, tensor<2xf32>) -> ()
  }) : () -> (tuple<tensor<1xf32>, tensor<2xf32>>, tensor<2xf32>)
  %b = "relax.call"(%x, %a#1) {callee = @f} : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}"""


def test_text_needs_no_segments() -> None:
    module = IRModule.parse(TEXT).verify()
    text = module.mlir()
    assert "SegmentSizes" not in text
    assert "SegmentSizes" in str(module.state.module)
    assert IRModule.parse(text).mlir() == text


def test_segments_that_are_there_stay() -> None:
    once = insert_segments(TEXT)
    assert once != TEXT
    assert insert_segments(once) == once
    assert remove_segments(once) == TEXT


def test_operands_by_name() -> None:
    text = """func.func @main(%x: tensor<1xf32>, %s: !relax.shape<["n"], 1>) -> tensor<2xf32> {
      %a = "relax.call_tir"(%x, %s) {callee = @f} : (tensor<1xf32>, !relax.shape<["n"], 1>) \
-> tensor<2xf32>
      return %a : tensor<2xf32>
    }"""
    module = IRModule.parse(text)
    block = module.state.functions()[0].regions[0].blocks[0]
    call = block.operations[0]
    assert list(call.arguments) == [block.arguments[0]]
    assert list(call.tir_vars) == [block.arguments[1]]


def test_errors_still_point_at_the_operation() -> None:
    text = """func.func @main(%x: tensor<1xf32>, %y: tensor<2xf32>) -> tensor<1xf32> {
      %t = "relax.tuple"(%x, %y) : (tensor<1xf32>, tensor<2xf32>) -> tuple<tensor<1xf32>>
      return %x : tensor<1xf32>
    }"""
    with pytest.raises(VerificationError, match=r":2:12: relax\.tuple: makes tuple"):
        IRModule.parse(text)


def test_more_results_than_an_operation_can_have() -> None:
    """The count is that of the text: no memory is spent on it."""
    text = '%0:9223372036854775807 = "tir.call"() {callee = "f"} : () -> (i32, i32)'
    assert insert_segments(text) == text.replace("{", "{operandSegmentSizes = X, ").replace(
        "X", f"array<i32: {', '.join(['0'] * SLOTS)}>"
    )
    with pytest.raises(Error, match="results"):
        IRModule.parse(text)
