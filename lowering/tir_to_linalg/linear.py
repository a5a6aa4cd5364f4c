"""Index values of a block as sums of its iteration variables, constants and other values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.nest import encloses

__all__ = ["Linear", "is_inside", "linear", "variables_in"]


@dataclass(frozen=True)
class Linear:
    """`sum(coefficients[v] * v) + constant + sum(factor * value for value, factor in rest)`.

    The values of `rest` are whatever is no linear function of the iteration variables: sizes known
    at run time, quotients, elements of other buffers.
    """

    coefficients: dict[int, int] = field(default_factory=dict)
    constant: int = 0
    rest: tuple[tuple[ir.Value, int], ...] = ()

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        coefficients = dict(self.coefficients)
        for variable, coefficient in other.coefficients.items():
            total = coefficients.pop(variable, 0) + factor * coefficient
            if total:
                coefficients[variable] = total
        rest = dict(self.rest)
        for value, own in other.rest:
            total = rest.pop(value, 0) + factor * own
            if total:
                rest[value] = total
        return Linear(coefficients, self.constant + factor * other.constant, tuple(rest.items()))

    @property
    def is_constant(self) -> bool:
        return not self.coefficients and not self.rest


def linear(value: ir.Value, iter_vars: Sequence[ir.Value]) -> Linear:
    """An index value as a linear function, as far as it is one."""
    for position, variable in enumerate(iter_vars):
        if value == variable:
            return Linear({position: 1})
    if isinstance(value.owner, ir.Block):
        return Linear(rest=((value, 1),))
    op = value.owner.operation
    if op.name == "arith.constant":
        return Linear(constant=ir.IntegerAttr(op.attributes["value"]).value)
    found: Linear | None = None
    if op.name == "affine.apply":
        map_ = ir.AffineMapAttr(op.attributes["map"]).value
        operands = [linear(operand, iter_vars) for operand in op.operands]
        found = _of_expression(map_.results[0], operands, map_.n_dims)
    elif op.name in ("arith.addi", "arith.subi"):
        left, right = (linear(operand, iter_vars) for operand in op.operands)
        found = left.plus(right, 1 if op.name == "arith.addi" else -1)
    elif op.name == "arith.muli":
        left, right = (linear(operand, iter_vars) for operand in op.operands)
        found = _product(left, right)
    return Linear(rest=((value, 1),)) if found is None else found


def _product(left: Linear, right: Linear) -> Linear | None:
    for factor, other in ((left, right), (right, left)):
        if factor.is_constant:
            return Linear().plus(other, factor.constant)
    return None


def _of_expression(expr: ir.AffineExpr, operands: list[Linear], n_dims: int) -> Linear | None:
    if isinstance(expr, ir.AffineConstantExpr):
        return Linear(constant=expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[n_dims + expr.position]
    if isinstance(expr, (ir.AffineAddExpr, ir.AffineMulExpr)):
        left = _of_expression(expr.lhs, operands, n_dims)
        right = _of_expression(expr.rhs, operands, n_dims)
        if left is None or right is None:
            return None
        return left.plus(right) if isinstance(expr, ir.AffineAddExpr) else _product(left, right)
    return None


def variables_in(value: ir.Value, iter_vars: Sequence[ir.Value], nest: ir.Operation) -> set[int]:
    """The iteration variables that a value depends on; `nest` is the outermost loop."""
    for position, variable in enumerate(iter_vars):
        if value == variable:
            return {position}
    if not is_inside(value, nest):
        return set()
    found: set[int] = set()
    for operand in value.owner.operation.operands:
        found |= variables_in(operand, iter_vars, nest)
    return found


def is_inside(value: ir.Value, nest: ir.Operation) -> bool:
    """Whether an operation in the nest computes a value."""
    return not isinstance(value.owner, ir.Block) and encloses(nest.opview, value)
