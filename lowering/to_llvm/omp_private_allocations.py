"""`omp-private-allocations`: stack buffers of a parallel loop, one a thread.

A buffer that an iteration has on the stack is allocated where its thread starts, before the first
iteration: LLVM keeps in registers only what is allocated at the start of a function, which a
parallel region becomes, and a thread's stack does not grow from iteration to iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.mlir import ir

__all__ = ["OmpPrivateAllocations"]


@register_pass("omp-private-allocations")
@dataclass(frozen=True)
class OmpPrivateAllocations(Pass):
    """Move stack allocations of fixed size to the start of the OpenMP region around them."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            function.walk(_visit)


def _visit(op: ir.Operation) -> ir.WalkResult:
    if op.name != "omp.parallel":
        return ir.WalkResult.ADVANCE
    start = op.regions[0].blocks[0]
    found: list[ir.Operation] = []

    def collect(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "memref.alloca" and not len(inner.operands) and inner.block != start:
            found.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(collect)
    for inner in found:
        inner.move_before(start.operations[0].operation)
    return ir.WalkResult.SKIP
