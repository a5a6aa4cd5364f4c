"""Symbolic dimensions as index values inside a TensorIR function."""

from __future__ import annotations

import ast

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_location
from relax_mlir.mlir import affine, arith, ir


class DimValues:
    """Makes each dimension once, at one place of a function.

    `symbols` gives the index value of every symbol; `before` is the operation to build in front of.
    """

    def __init__(self, symbols: dict[str, ir.Value], before: ir.Operation) -> None:
        self._values: dict[Dim, ir.Value] = {**symbols}
        self._before = before

    def value(self, dim: Dim) -> ir.Value:
        """The index value of a dimension; raises KeyError for an unknown symbol."""
        dim = dim_algebra.canonical(dim)
        if dim not in self._values:
            with ir.InsertionPoint(self._before):
                self._values[dim] = self._make(dim)
        return self._values[dim]

    def _make(self, dim: Dim) -> ir.Value:
        if isinstance(dim, int):
            return arith.ConstantOp(ir.IndexType.get(), dim).result
        symbols = list(dim_algebra.symbols(dim))
        node = ast.parse(dim, mode="eval").body
        expression = _affine(node, symbols)
        operands = [self._values[symbol] for symbol in symbols]
        if expression is None:
            return _arithmetic(node, dict(zip(symbols, operands, strict=True)))
        affine_map = ir.AffineMap.get(len(symbols), 0, [expression])
        return affine.AffineApplyOp(affine_map, operands).result


def _affine(node: ast.expr, symbols: list[str]) -> ir.AffineExpr | None:
    """The expression over the symbols as affine dimensions, or None."""
    if isinstance(node, ast.Constant):
        return ir.AffineExpr.get_constant(node.value)
    if isinstance(node, ast.Name):
        return ir.AffineExpr.get_dim(symbols.index(node.id))
    if isinstance(node, ast.UnaryOp):
        inner = _affine(node.operand, symbols)
        return None if inner is None else inner * -1
    operator, left, right = _split(node)
    a, b = _affine(left, symbols), _affine(right, symbols)
    if a is None or b is None:
        return None
    constants = [isinstance(e, ir.AffineConstantExpr) for e in (a, b)]
    if operator == "+":
        return a + b
    if operator == "-":
        return a + b * -1
    if operator == "*" and any(constants):
        return a * b
    if operator == "floordiv" and constants[1]:
        return ir.AffineExpr.get_floor_div(a, b)
    if operator == "floormod" and constants[1]:
        return ir.AffineExpr.get_mod(a, b)
    return None


_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_OPERATIONS = {
    "+": arith.AddIOp,
    "-": arith.SubIOp,
    "*": arith.MulIOp,
    "floordiv": arith.FloorDivSIOp,
    # Dimensions are never negative: floor and truncation agree.
    "floormod": arith.RemSIOp,
    "min": arith.MinSIOp,
    "max": arith.MaxSIOp,
}


def _split(node: ast.expr) -> tuple[str, ast.expr, ast.expr]:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)], node.left, node.right
    assert isinstance(node, ast.Call)  # canonical dimensions hold nothing else
    assert isinstance(node.func, ast.Name)
    return node.func.id, node.args[0], node.args[1]


def _arithmetic(node: ast.expr, values: dict[str, ir.Value]) -> ir.Value:
    if isinstance(node, ast.Constant):
        return arith.ConstantOp(ir.IndexType.get(), node.value).result
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        zero = arith.ConstantOp(ir.IndexType.get(), 0).result
        return arith.SubIOp(zero, _arithmetic(node.operand, values)).result
    operator, left, right = _split(node)
    return _OPERATIONS[operator](_arithmetic(left, values), _arithmetic(right, values)).result


def size_of(buffer: ir.Value, axis: int, name: str) -> ir.Value:
    """`memref.dim` with the symbol's name; built at the current insertion point."""
    index = arith.ConstantOp(ir.IndexType.get(), axis).result
    return ir.Operation.create(
        "memref.dim",
        results=[ir.IndexType.get()],
        operands=[buffer, index],
        loc=name_location(name),
    ).result
