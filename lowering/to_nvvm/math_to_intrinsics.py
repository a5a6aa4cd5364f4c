"""`gpu-math-to-intrinsics`: math operations that LLVM has an intrinsic for, as calls of it.

Upstream's conversion of kernels turns them into calls of NVIDIA's libdevice, which we do without;
`llvm.call_intrinsic` it leaves alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import kernel_modules
from relax_mlir.mlir import ir, operations_named

__all__ = ["MathToIntrinsics"]

_INTRINSICS = {
    "math.absf": "llvm.fabs",
    "math.ceil": "llvm.ceil",
    "math.copysign": "llvm.copysign",
    "math.floor": "llvm.floor",
    "math.fma": "llvm.fma",
    "math.round": "llvm.round",
    "math.roundeven": "llvm.roundeven",
    "math.sqrt": "llvm.sqrt",
    "math.trunc": "llvm.trunc",
}


@register_pass("gpu-math-to-intrinsics")
@dataclass(frozen=True)
class MathToIntrinsics(Pass):
    """Call LLVM's intrinsics for roundings, roots and signs in kernels."""

    def run(self, state: ModuleState) -> None:
        for module in kernel_modules(state):
            for op in operations_named(module, _INTRINSICS):
                _convert(op)


def _convert(op: ir.Operation) -> None:
    operands = list(op.operands)
    made = ir.Operation.create(
        "llvm.call_intrinsic",
        results=[op.results[0].type],
        operands=operands,
        attributes={
            "intrin": ir.StringAttr.get(_INTRINSICS[op.name]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        },
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
