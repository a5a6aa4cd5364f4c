"""Python's operators on scalar expressions; what each builds is in `operators.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.errors import Error

if TYPE_CHECKING:
    from relax_mlir.tir.expr import PrimExpr


def operator_functions() -> Any:
    """The operator functions; imported late because they build the nodes declared here."""
    from relax_mlir.tir import operators

    return operators


class ExprOp:
    """Python operators for everything that stands for a scalar expression."""

    def __add__(self, other: Any) -> PrimExpr:
        return operator_functions().add(self, other)

    def __radd__(self, other: Any) -> PrimExpr:
        return operator_functions().add(other, self)

    def __sub__(self, other: Any) -> PrimExpr:
        return operator_functions().subtract(self, other)

    def __rsub__(self, other: Any) -> PrimExpr:
        return operator_functions().subtract(other, self)

    def __mul__(self, other: Any) -> PrimExpr:
        return operator_functions().multiply(self, other)

    def __rmul__(self, other: Any) -> PrimExpr:
        return operator_functions().multiply(other, self)

    def __truediv__(self, other: Any) -> PrimExpr:
        return operator_functions().true_divide(self, other)

    def __rtruediv__(self, other: Any) -> PrimExpr:
        return operator_functions().true_divide(other, self)

    def __floordiv__(self, other: Any) -> PrimExpr:
        return operator_functions().floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> PrimExpr:
        return operator_functions().floordiv(other, self)

    def __mod__(self, other: Any) -> PrimExpr:
        return operator_functions().floormod(self, other)

    def __rmod__(self, other: Any) -> PrimExpr:
        return operator_functions().floormod(other, self)

    def __neg__(self) -> PrimExpr:
        return operator_functions().negate(self)

    def __pos__(self) -> PrimExpr:
        return operator_functions().as_expr(self)

    def __invert__(self) -> PrimExpr:
        return operator_functions().bitwise_not(self)

    def __lshift__(self, other: Any) -> PrimExpr:
        return operator_functions().shift_left(self, other)

    def __rlshift__(self, other: Any) -> PrimExpr:
        return operator_functions().shift_left(other, self)

    def __rshift__(self, other: Any) -> PrimExpr:
        return operator_functions().shift_right(self, other)

    def __rrshift__(self, other: Any) -> PrimExpr:
        return operator_functions().shift_right(other, self)

    def __and__(self, other: Any) -> PrimExpr:
        return operator_functions().bitwise_and(self, other)

    def __rand__(self, other: Any) -> PrimExpr:
        return operator_functions().bitwise_and(other, self)

    def __or__(self, other: Any) -> PrimExpr:
        return operator_functions().bitwise_or(self, other)

    def __ror__(self, other: Any) -> PrimExpr:
        return operator_functions().bitwise_or(other, self)

    def __xor__(self, other: Any) -> PrimExpr:
        return operator_functions().bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> PrimExpr:
        return operator_functions().bitwise_xor(other, self)

    def __lt__(self, other: Any) -> PrimExpr:
        return operator_functions().less(self, other)

    def __le__(self, other: Any) -> PrimExpr:
        return operator_functions().less_equal(self, other)

    def __gt__(self, other: Any) -> PrimExpr:
        return operator_functions().greater(self, other)

    def __ge__(self, other: Any) -> PrimExpr:
        return operator_functions().greater_equal(self, other)

    def __eq__(self, other: object) -> Any:
        return operator_functions().equal(self, other) if _is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return operator_functions().not_equal(self, other) if _is_operand(other) else NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __abs__(self) -> PrimExpr:
        return operator_functions().abs(self)

    def __bool__(self) -> bool:
        raise Error(
            "an expression has no truth value while a program is written",
            hint="use tir.all / tir.any / tir.Not instead of and / or / not, and "
            "tir.if_then_else or tir.Select instead of if",
        )

    def equal(self, other: Any) -> PrimExpr:
        """The expression `self == other`."""
        return operator_functions().equal(self, other)

    def astype(self, dtype: object) -> PrimExpr:
        """The expression converted to `dtype`."""
        return operator_functions().cast(dtype, self)


def _is_operand(value: object) -> bool:
    return isinstance(value, (ExprOp, int, float)) or hasattr(value, "asobject")
