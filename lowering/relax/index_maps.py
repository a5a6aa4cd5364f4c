"""Arithmetic on index maps such as those of `relax.layout_transform`: values, composition,
inverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from relax_mlir.mlir import ir

_LARGEST = 1 << 20
"""Elements that are looked at one by one."""


def compose(outer: ir.AffineMap, inner: ir.AffineMap) -> ir.AffineMap:
    """The map `outer(inner(...))`."""
    results = [expr.compose(inner) for expr in outer.results]
    return ir.AffineMap.get(inner.n_dims, 0, results)


def is_identity(index_map: ir.AffineMap, sizes: Sequence[int]) -> bool:
    """True when the map leaves every index of a space of these sizes where it is."""
    results = list(index_map.results)
    if len(results) != len(sizes):
        return False
    if all(r == ir.AffineExpr.get_dim(i) for i, r in enumerate(results)):
        return True
    if not 0 < int(np.prod(sizes, dtype=np.int64)) <= _LARGEST:
        return False
    grid = np.indices(tuple(sizes))
    return all(
        bool(np.array_equal(np.broadcast_to(evaluate(expr, list(grid)), grid[i].shape), grid[i]))
        for i, expr in enumerate(results)
    )


def evaluate(expr: ir.AffineExpr, dims: Sequence[Any], symbols: Sequence[Any] = ()) -> np.ndarray:
    """The value of an expression for dimensions and symbols that are integers or arrays of them."""
    if isinstance(expr, ir.AffineDimExpr):
        return np.asarray(dims[expr.position])
    if isinstance(expr, ir.AffineSymbolExpr):
        return np.asarray(symbols[expr.position])
    if isinstance(expr, ir.AffineConstantExpr):
        return np.asarray(expr.value)
    assert isinstance(expr, ir.AffineBinaryExpr)  # there is no other kind
    left, right = (evaluate(part, dims, symbols) for part in (expr.lhs, expr.rhs))
    return _BINARY[type(expr)](left, right)


_BINARY: dict[type[ir.AffineExpr], Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    ir.AffineAddExpr: np.add,
    ir.AffineMulExpr: np.multiply,
    ir.AffineModExpr: np.mod,
    ir.AffineFloorDivExpr: np.floor_divide,
    ir.AffineCeilDivExpr: lambda a, b: -(-a // b),
}


@dataclass(frozen=True)
class _Part:
    """A result `(dim // divisor) % modulus`; no modulus for the leading part."""

    result: int
    dim: int
    divisor: int
    modulus: int | None


def inverse(index_map: ir.AffineMap) -> ir.AffineMap | None:
    """The map back, for maps that only permute dimensions and split them by constants; else None.

    The space of the results may be larger than that of the dimensions: there it is an inverse on
    the elements that come from one.
    """
    parts = [_part(i, expr) for i, expr in enumerate(index_map.results)]
    if None in parts:
        return None
    found: list[ir.AffineExpr] = []
    for dim in range(index_map.n_dims):
        own = sorted((p for p in parts if p and p.dim == dim), key=lambda p: p.divisor)
        if not own or own[0].divisor != 1 or own[-1].modulus is not None:
            return None
        for part, following in pairwise(own):
            if part.modulus is None or part.divisor * part.modulus != following.divisor:
                return None
        total = ir.AffineExpr.get_constant(0)
        for part in own:
            total = total + ir.AffineExpr.get_dim(part.result) * part.divisor
        found.append(total)
    return ir.AffineMap.get(len(parts), 0, found)


def _part(result: int, expr: ir.AffineExpr) -> _Part | None:
    modulus = None
    if isinstance(expr, ir.AffineModExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        modulus, expr = expr.rhs.value, expr.lhs
    divisor = 1
    if isinstance(expr, ir.AffineFloorDivExpr) and isinstance(expr.rhs, ir.AffineConstantExpr):
        divisor, expr = expr.rhs.value, expr.lhs
    if not isinstance(expr, ir.AffineDimExpr):
        return None
    return _Part(result, expr.position, divisor, modulus)
