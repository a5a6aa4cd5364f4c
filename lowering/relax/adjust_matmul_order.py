"""relax-adjust-matmul-order."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.functions import (
    attributes_of_function,
    entry_block,
    relax_functions,
    walk,
)
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    defining,
    dims_of,
    dtype_of,
    erase_dead,
    has_one_use,
    replace,
)
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-adjust-matmul-order")
@dataclass(frozen=True)
class AdjustMatmulOrder(Pass):
    """Multiply chains of three matrices in the order that takes fewer multiplications.

    Of `(a @ b) @ c` and `a @ (b @ c)` the cheaper one is taken where that is certain for all sizes
    (a symbol is at least 1).  A product of two matrices that are known before the model runs,
    parameters from position `num_input` on, counts as free.  Only products nobody else uses are
    regrouped; `a` may have batch dimensions, `b` and `c` have two.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            known = _known_values(function)
            for op in operations_named(function, ["relax.matmul"]):
                if _is_plain(op):
                    _regroup(op, known)


def _known_values(function: ir.Operation) -> set[ir.Value]:
    """The values that are known before the model runs, if `num_input` says which are."""
    attributes = attributes_of_function(function)
    if "num_input" not in attributes:
        return set()
    known = set(list(entry_block(function).arguments)[int(attributes["num_input"]) :])
    for op in walk(function):
        simple = len(op.results) == 1 and not len(op.regions) and op.name != "relax.call_packed"
        if simple and all(value in known for value in op.operands):
            known.add(op.results[0])
    return known


def _is_plain(op: ir.Operation) -> bool:
    """True for a product whose dtype is that of its operands."""
    return dtype_of(op.results[0]) == dtype_of(op.operands[0]) == dtype_of(op.operands[1])


def _regroup(op: ir.Operation, known: set[ir.Value]) -> None:
    left, right = op.operands
    inner = defining(left, "relax.matmul")
    if inner is not None and has_one_use(left) and _is_plain(inner):
        a, b, c = (*inner.operands, right)
        if _is_better_right(a, b, c, known):
            write = OperatorWriter(op)
            product = write.op("matmul", b, c, **attributes_of(inner))
            if {b, c} <= known:
                known.add(product)
            replace(op, write.op("matmul", a, product, **attributes_of(op)))
            erase_dead([inner])
            return
    inner, transposed = _factors(right)
    if inner is None:
        return
    b, c = inner.operands
    shapes = [dims_of(b) or (), dims_of(c) or ()]
    if transposed is not None:
        b, c = c, b
        shapes = [tuple(reversed(shape)) for shape in reversed(shapes)]
    if _is_better_left(left, shapes, {left, b} <= known, {b, c} <= known):
        write = OperatorWriter(op)
        if transposed is not None:
            b, c = (write.op("permute_dims", value) for value in (b, c))
        product = write.op("matmul", left, b, **attributes_of(inner))
        replace(op, write.op("matmul", product, c, **attributes_of(op)))
        erase_dead([inner] if transposed is None else [inner, transposed])


def _factors(value: ir.Value) -> tuple[ir.Operation | None, ir.Operation | None]:
    """The product that a value, or the matrix that it is the transpose of, is; and the transpose.

    (None, None) when others need it too.
    """
    transposed = defining(value, "relax.permute_dims")
    if transposed is not None:
        rank = len(dims_of(value) or ())
        if rank != 2 or attributes_of(transposed)["axes"] not in (None, [1, 0], (1, 0)):
            return None, None
    source = value if transposed is None else transposed.operands[0]
    inner = defining(source, "relax.matmul")
    if inner is None or not has_one_use(value) or not has_one_use(source) or not _is_plain(inner):
        return None, None
    return inner, transposed


def _is_better_left(
    a: ir.Value, shapes: Sequence[tuple[Dim, ...]], first_known: bool, last_known: bool
) -> bool:
    """Whether `(a @ b) @ c` takes certainly fewer multiplications than `a @ (b @ c)`."""
    costs = _costs(dims_of(a), shapes[0], shapes[1], first_known, last_known)
    return costs is not None and is_positive(dim_algebra.subtract(costs[1], costs[0]))


def _is_better_right(a: ir.Value, b: ir.Value, c: ir.Value, known: set[ir.Value]) -> bool:
    """Whether `a @ (b @ c)` takes certainly fewer multiplications than `(a @ b) @ c`."""
    costs = _costs(dims_of(a), dims_of(b), dims_of(c), {a, b} <= known, {b, c} <= known)
    return costs is not None and is_positive(dim_algebra.subtract(costs[0], costs[1]))


def _costs(
    left: tuple[Dim, ...] | None,
    middle: tuple[Dim, ...] | None,
    right: tuple[Dim, ...] | None,
    first_known: bool,
    last_known: bool,
) -> tuple[Dim, Dim] | None:
    """Multiplications at run time of `(a @ b) @ c` and of `a @ (b @ c)`."""
    if left is None or middle is None or right is None:
        return None
    if len(left) < 2 or len(middle) != 2 or len(right) != 2:
        return None
    rows = dim_algebra.product(left[:-1])
    inner, rank, columns = left[-1], middle[1], right[1]
    to_left = dim_algebra.add(
        _cost(rows, inner, rank, free=first_known), _cost(rows, rank, columns)
    )
    to_right = dim_algebra.add(
        _cost(inner, rank, columns, free=last_known), _cost(rows, inner, columns)
    )
    return to_left, to_right


def _cost(m: Dim, k: Dim, n: Dim, *, free: bool = False) -> Dim:
    return 0 if free else dim_algebra.product([m, k, n])


def is_positive(dim: Dim) -> bool:
    """True when an expression is certainly more than 0 for symbols that are at least 1."""
    shifted = dim_algebra.substitute(
        dim, {symbol: f"({symbol} + 1)" for symbol in dim_algebra.symbols(dim)}
    )
    if isinstance(shifted, int):
        return shifted > 0
    constant = 0
    for term in _terms(ast.parse(shifted, mode="eval").body):
        if isinstance(term, ast.Constant):
            constant = _integer(term)
        elif _is_negative(term):
            return False
    return constant > 0


def _integer(node: ast.Constant) -> int:
    assert isinstance(node.value, int)  # sizes have no other constants
    return node.value


def _terms(node: ast.expr, sign: int = 1) -> list[ast.expr]:
    """The terms of a sum; those that are subtracted are negated."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        other = sign if isinstance(node.op, ast.Add) else -sign
        return [*_terms(node.left, sign), *_terms(node.right, other)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _terms(node.operand, -sign)
    if sign > 0:
        return [node]
    if isinstance(node, ast.Constant):
        return [ast.Constant(-_integer(node))]
    return [ast.UnaryOp(ast.USub(), node)]


def _is_negative(term: ast.expr) -> bool:
    """True for a term that may be negative: one with a negative factor, or a difference in it."""
    for node in ast.walk(term):
        if isinstance(node, ast.UnaryOp) or (
            isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mult)
        ):
            return True
        if isinstance(node, ast.Constant) and _integer(node) < 0:
            return True
    return False
