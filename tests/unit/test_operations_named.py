"""Finding operations by name, without a walk in Python."""

from __future__ import annotations

import pytest

from relax_mlir import mlir
from relax_mlir.mlir import ir, operations_named

TEXT = """
func.func @f(%n: index, %c: i1) {
  %one = arith.constant 1 : index
  scf.for %i = %one to %n step %one {
    %a = arith.addi %i, %one : index
    scf.for %j = %one to %a step %one {
      %b = arith.addi %j, %a : index
    }
    scf.if %c {
      %d = arith.muli %i, %i : index
    }
  }
  %e = arith.addi %one, %n : index
  return
}
func.func @g(%n: index) {
  %f = arith.muli %n, %n : index
  return
}
"""


@pytest.mark.parametrize(
    "names",
    [(), ("arith.addi",), ("scf.for", "arith.muli"), ("scf.if", "func.func"), ("none.such",)],
)
def test_finds_what_a_walk_finds_in_its_order(names: tuple[str, ...]) -> None:
    with mlir.scope():
        module = ir.Module.parse(TEXT)
        walked: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name in names:
                walked.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        text = str(module)
        found = operations_named(module.operation, names)
        assert found == walked
        assert str(module) == text


def test_looks_inside_of_the_given_operation_only() -> None:
    with mlir.scope():
        module = ir.Module.parse(TEXT)
        function = module.body.operations[1].operation
        (product,) = operations_named(function, ("arith.muli", "func.func"))
        assert product.name == "arith.muli"
