"""`gpu-scalarize-quotients`: quotients of vectors of float16, lane by lane.

What `llvm-optimize-for-nvvm-target` makes of a quotient of float16, it makes of single ones only;
of others LLVM would make divisions of float32, which are subroutines.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.mlir import arith, ir, operations_named, vector

__all__ = ["ScalarizeQuotients"]


@register_pass("gpu-scalarize-quotients")
@dataclass(frozen=True)
class ScalarizeQuotients(Pass):
    """Divide the lanes of vectors of float16 one by one."""

    def run(self, state: ModuleState) -> None:
        for module in kernel_modules(state):
            for op in operations_named(module, ["arith.divf"]):
                if _is_of_halves(op.results[0].type):
                    with ir.InsertionPoint(op), op.location:
                        _scalarize(op)


def _is_of_halves(kind: ir.Type) -> bool:
    return (
        isinstance(kind, ir.VectorType)
        and kind.rank == 1
        and isinstance(kind.element_type, ir.F16Type)
    )


def _scalarize(op: ir.Operation) -> None:
    result = op.operands[0]
    for lane in range(ir.VectorType(result.type).shape[0]):
        dividend, divisor = (vector.extract(operand, [], [lane]) for operand in op.operands)
        result = vector.insert(arith.divf(dividend, divisor), result, [], [lane])
    op.results[0].replace_all_uses_with(result)
    op.erase()
