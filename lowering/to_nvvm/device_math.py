"""`gpu-device-math`: elementary functions that a GPU has no instruction for.

What `math-to-polynomials` does not expand: inverse trigonometric and hyperbolic functions, and all
of float64.  It comes before that pass, which expands the functions of f32 that are used here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.kernel_roots import inside, kernel_modules
from relax_mlir.lowering.to_nvvm.elementary import (
    EXPANSIONS,
    EXPANSIONS_F64,
    Arithmetic,
    Expansion,
)
from relax_mlir.mlir import arith, ir

__all__ = ["DeviceMath"]


@register_pass("gpu-device-math")
@dataclass(frozen=True)
class DeviceMath(Pass):
    """Expand elementary functions of kernels that are no instructions of GPUs."""

    def run(self, state: ModuleState) -> None:
        for module in kernel_modules(state):
            # An expansion may use functions that are expanded in turn.
            while found := [op for op in inside(module) if _is_expandable(op)]:
                for op in found:
                    with ir.InsertionPoint(op), op.location:
                        _expand(op)


def _is_expandable(op: ir.Operation) -> bool:
    return op.name in EXPANSIONS_F64 and op.name in _table(_element(op.results[0].type))


def _table(element: ir.Type) -> Mapping[str, Expansion]:
    return EXPANSIONS_F64 if isinstance(element, ir.F64Type) else EXPANSIONS


def _element(kind: ir.Type) -> ir.Type:
    return kind.element_type if isinstance(kind, ir.VectorType) else kind


def _expand(op: ir.Operation) -> None:
    kind = op.results[0].type
    operands = list(op.operands)
    element = _element(kind)
    is_narrow = isinstance(element, (ir.F16Type, ir.BF16Type))
    wide: ir.Type = ir.F32Type.get() if is_narrow else element
    if isinstance(kind, ir.VectorType):
        wide = ir.VectorType.get(kind.shape, wide)
    if is_narrow:
        operands = [arith.extf(wide, operand) for operand in operands]
    result = _table(element)[op.name](Arithmetic(wide), *operands)
    op.results[0].replace_all_uses_with(arith.truncf(kind, result) if is_narrow else result)
    op.erase()
