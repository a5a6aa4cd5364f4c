"""`omp-private-allocations`: stack buffers of a parallel loop, one a thread.

A buffer that an iteration has on the stack is allocated where its thread starts, before the first
iteration: LLVM keeps in registers only what is allocated at the start of a function, which a
parallel region becomes, and a thread's stack does not grow from iteration to iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.mlir import ir, operations_named

__all__ = ["OmpPrivateAllocations"]


@register_pass("omp-private-allocations")
@dataclass(frozen=True)
class OmpPrivateAllocations(Pass):
    """Move stack allocations of fixed size to the start of the OpenMP region around them."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            for parallel in operations_named(function, ("omp.parallel",)):
                _move_allocations(parallel)


def _move_allocations(parallel: ir.Operation) -> None:
    start = parallel.regions[0].blocks[0]
    for op in operations_named(parallel, ("memref.alloca",)):
        if not len(op.operands) and op.block != start:
            op.move_before(start.operations[0].operation)
