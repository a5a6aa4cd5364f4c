"""Operations that lack what they declare are refused by name, whatever their verifiers read."""

from __future__ import annotations

import pytest

from relax_mlir.errors import Error
from relax_mlir.ir import IRModule

BLOCK = """
func.func @f(%x: memref<4xf32> {{tir.name = "x"}}) attributes {{tir.attrs = {{}}}} {{
  "tir.block"() ({{
    {body}
  }}) {{domains = array<i64>, iter_kinds = [], operandSegmentSizes = array<i32: 0, 0, 0>,
       sym_name = "b"}} : () -> ()
  return
}}
"""
READ = '"tir.read"(%x) {{{attributes}}} : (memref<4xf32>) -> ()'
SEGMENTS = "operandSegmentSizes = array<i32: 1, 0, 0>"
OFFSETS, SIZES = "offsets = array<i64: 0>", "sizes = array<i64: 1>"
DYNAMIC = -(2**63)

CASES = [
    (READ.format(attributes=f"{SEGMENTS}, {OFFSETS}"), "tir.read: needs the attribute 'sizes'"),
    (
        READ.format(attributes=f"{OFFSETS}, sizes = array<i64: 1>"),
        "tir.read: needs the attribute 'operandSegmentSizes'",
    ),
    (
        '"tir.call"() {callee = "f", kind = "packed", literals = 3 : i64} : () -> ()',
        "tir.call: the attribute 'literals' is a ArrayAttr, not 3 : i64",
    ),
    (
        READ.format(attributes=f"{SEGMENTS}, {OFFSETS}, sizes = array<i32: 1>"),
        "tir.read: .*array<i64> is expected, not array<i32: 1>",
    ),
    (
        READ.format(attributes=f"{SEGMENTS}, offsets = array<i64: {DYNAMIC}>, {SIZES}"),
        "tir.read: .* is missing .1 dynamic entries, 0 values for them.",
    ),
    (
        READ.format(attributes=f"{OFFSETS}, {SIZES}, operandSegmentSizes = array<i32: 1, 0>"),
        "tir.read: 'operandSegmentSizes' counts .* there are 1 operands of 3 fields",
    ),
    (
        '"tir.call"() {callee = "f", kind = "packed"} : () -> ()',
        "tir.call: needs the attribute 'literals'",
    ),
]


@pytest.mark.parametrize(("operation", "message"), CASES, ids=[m for _, m in CASES])
def test_what_is_missing_is_named(operation: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        IRModule.parse(BLOCK.format(body=operation)).verify()


def test_the_same_operation_with_all_its_fields() -> None:
    whole = READ.format(attributes=f"{SEGMENTS}, {OFFSETS}, sizes = array<i64: 1>")
    IRModule.parse(BLOCK.format(body=whole)).verify()


@pytest.mark.parametrize("kind", ["tensor<7x!relax.object>", "memref<2x!relax.object>"])
def test_parameters_of_no_dtype(kind: str) -> None:
    text = f"func.func @f(%x: {kind}) attributes {{relax.attrs = {{}}}} {{ return }}"
    with pytest.raises(Error, match=r"is no dtype|invalid"):
        IRModule.parse(text).verify()
