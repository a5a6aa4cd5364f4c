"""Converters for matrix products, softmax and the losses' building blocks."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.relax.frontend.onnx.node import Converter, Node, Row


def matmul(node: Node) -> Any:
    return product(node, node.tensor(0), node.tensor(1))


def product(node: Node, x: Any, y: Any) -> Any:
    """A matrix product; integers are multiplied exactly, in their own dtype."""
    return node.ops.matmul(x, y)


def gemm(node: Node) -> Any:
    """alpha * A' B' + beta * C."""
    a, b, c = node.tensor(0), node.tensor(1), node.optional(2)
    a = node.permute(a, [1, 0]) if node.attr("transA", 0) else a
    b = node.permute(b, [1, 0]) if node.attr("transB", 0) else b
    result = _scaled(node, product(node, a, b), node.attr("alpha", 1.0))
    if c is None or node.attr("beta", 1.0) == 0:
        return result
    return node.ops.add(result, _scaled(node, c, node.attr("beta", 1.0)))


def _scaled(node: Node, x: Any, factor: float) -> Any:
    if factor == 1:
        return x
    if not dtypes.is_float(node.dtype(x)):
        scaled = node.ops.multiply(node.cast(x, "float64"), node.const(factor, "float64"))
        return node.cast(scaled, node.dtype(x))
    return node.ops.multiply(x, node.like(factor, x))


def softmax(name: str) -> dict[int, Converter]:
    """Along one axis; before version 13 over all axes from one on."""

    def flat(node: Node) -> Any:
        from relax_mlir.relax.frontend.onnx.ops_shape import flat_matrix

        x = node.tensor(0)
        axis = node.axis(node.attr("axis", 1), node.rank(x))
        matrix = flat_matrix(node, x, axis)
        return node.reshape(getattr(node.ops.nn, name)(matrix, axis=-1), node.shape(x))

    def single(node: Node) -> Any:
        x = node.tensor(0)
        return getattr(node.ops.nn, name)(x, axis=node.axis(node.attr("axis", -1), node.rank(x)))

    return {1: flat, 13: single}


def einsum(node: Node) -> Any:
    """Sums of products by subscripts; a diagonal (a letter twice in one operand) is masked."""
    equation = node.attr("equation").replace(" ", "")
    operands = node.tensors()
    if "->" not in equation:
        letters = equation.replace(",", "").replace(".", "")
        free = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
        equation += "->" + ("..." if "..." in equation else "") + free
    return node.ops.einsum(operands, subscripts=_without_dots(node, equation, operands))


def _without_dots(node: Node, equation: str, operands: list[Any]) -> str:
    """The equation with letters in place of `...`."""
    if "..." not in equation:
        return equation
    inputs, output = equation.split("->")
    parts = inputs.split(",")
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
    widths = [
        node.rank(x) - len(part.replace("...", ""))
        for part, x in zip(parts, operands, strict=True)
        if "..." in part
    ]
    names = "".join(spare[: max(widths)])
    widest = max(widths)
    for i, (part, x) in enumerate(zip(parts, operands, strict=True)):
        if "..." in part:
            width = node.rank(x) - len(part.replace("...", ""))
            parts[i] = part.replace("...", names[widest - width :])
    return ",".join(parts) + "->" + output.replace("...", names)


def det(node: Node) -> Any:
    """By elimination with pivoting, written out for the matrix's size."""
    x, ops = node.tensor(0), node.ops
    *batch, rows, columns = node.static_shape(x)
    if rows != columns or rows > 16:
        node.refuse(f"a matrix of {rows} x {columns}; square ones up to 16 are written out")
    a = node.reshape(x, [_count(batch), rows, rows])
    result = ops.ones(node.importer.shape_expr([_count(batch)]), node.dtype(x))
    for step in range(rows):
        size = rows - step
        column = node.reshape(node.slice(a, 2, 0, 1), [_count(batch), size])
        at = ops.argmax(ops.abs(column), axis=1, keepdims=True)
        order = node.const([list(range(size))], "int64")
        is_pivot = node.reshape(ops.equal(order, at), [_count(batch), size, 1])
        zero = node.like(0, x)
        pivot_row = ops.sum(ops.where(is_pivot, a, zero), axis=[1], keepdims=True)
        # The first row takes the pivot's place, at the price of a sign.
        first = node.slice(a, 1, 0, 1)
        a = ops.where(is_pivot, first, a)
        pivot = node.reshape(node.slice(pivot_row, 2, 0, 1), [_count(batch)])
        stays = ops.equal(node.reshape(at, [_count(batch)]), node.const(0, "int64"))
        sign = ops.where(stays, node.like(1, x), node.like(-1, x))
        result = ops.multiply(result, ops.multiply(sign, pivot))
        if size == 1:
            break
        below = node.slice(a, 1, 1, size)
        safe = ops.where(ops.equal(pivot, zero), node.like(1, x), pivot)
        factor = ops.divide(node.slice(below, 2, 0, 1), node.reshape(safe, [_count(batch), 1, 1]))
        a = node.slice(ops.subtract(below, ops.multiply(factor, pivot_row)), 2, 1, size)
    return node.reshape(result, batch)


def _count(batch: list[int]) -> int:
    total = 1
    for size in batch:
        total *= size
    return total


CONVERTERS: dict[str, Row] = {
    "Det": det,
    "Einsum": einsum,
    "Gemm": gemm,
    "LogSoftmax": softmax("log_softmax"),
    "MatMul": matmul,
    "Softmax": softmax("softmax"),
}
"""By operator; see `node.Row`."""
