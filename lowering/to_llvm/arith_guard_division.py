"""`arith-guard-division`: integer division that cannot end the process.

x86 raises SIGFPE on a division by zero and on the smallest number divided by -1; vectorised code
divides in unused lanes too.  Guarded, `x / 0` and `x % 0` are 0, as numpy's; the overflow wraps.
Divisions by a constant that is neither 0 nor -1 stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import arith, ir, operations_named
from relax_mlir.tir.math_ops import constant_like

__all__ = ["ArithGuardDivision"]

_SIGNED = ("arith.divsi", "arith.remsi", "arith.floordivsi", "arith.ceildivsi")
_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")


@register_pass("arith-guard-division")
@dataclass(frozen=True)
class ArithGuardDivision(Pass):
    """Give integer divisions by 0 and -1 defined results."""

    def run(self, state: ModuleState) -> None:
        with state.module.context:
            for op in operations_named(state.module.operation, (*_SIGNED, *_UNSIGNED)):
                if not _is_safe(op.operands[1]):
                    _guard(op)


def _is_safe(divisor: ir.Value) -> bool:
    """Whether a divisor is a constant other than 0 and -1 (in all lanes)."""
    owner = divisor.owner
    if not isinstance(owner, (ir.Operation, ir.OpView)) or owner.name != "arith.constant":
        return False
    value = owner.attributes["value"]
    if isinstance(value, ir.IntegerAttr):
        return value.value not in (0, -1)
    if isinstance(value, ir.DenseIntElementsAttr) and value.is_splat:
        return ir.IntegerAttr(value.get_splat_value()).value not in (0, -1)
    return False


def _guard(op: ir.Operation) -> None:
    dividend, divisor = op.operands
    with ir.InsertionPoint(op), op.location:
        zero, one = constant_like(divisor, 0), constant_like(divisor, 1)
        by_zero = arith.cmpi(arith.CmpIPredicate.eq, divisor, zero)
        unsafe = by_zero
        if op.name in _SIGNED:
            # x / -1 is 0 - x and x % -1 is 0: dividing 0 - x by 1 gives both, and wraps.
            negative = arith.cmpi(arith.CmpIPredicate.eq, divisor, constant_like(divisor, -1))
            dividend = arith.select(negative, arith.subi(zero, dividend), dividend)
            unsafe = arith.ori(unsafe, negative)
        dividend = arith.select(by_zero, zero, dividend)
        divisor = arith.select(unsafe, one, divisor)
    op.operands[0] = dividend
    op.operands[1] = divisor
