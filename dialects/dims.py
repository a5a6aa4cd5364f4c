"""Symbolic dimensions: integers, or expressions over symbols in one canonical spelling.

A dimension is an `int` or a `str`.  Expressions are sums of products over symbols, with
`floordiv`, `floormod`, `min` and `max` kept as opaque factors; `canonical("2*n + n")` is
`"n * 3"`.  Two dimensions are known to be equal exactly when their canonical forms are.

The value of a bool scalar is a comparison of dimensions (`COMPARISONS`): one or zero.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeAlias

Dim: TypeAlias = "int | str"
# A polynomial maps a sorted tuple of factor names to its integer coefficient.
_Poly: TypeAlias = "dict[tuple[str, ...], int]"

COMPARISONS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<="}
"""The functions that compare two dimensions, and their Python operators."""

_FUNCTIONS = ("min", "max", "floordiv", "floormod", *COMPARISONS)


@lru_cache(maxsize=4096)
def canonical(dim: Dim) -> Dim:
    """The canonical form of a dimension given as an int or as Python expression text."""
    if isinstance(dim, int):
        return dim
    return _format(_polynomial(ast.parse(dim.strip(), mode="eval").body))


def add(a: Dim, b: Dim) -> Dim:
    return canonical(f"({a}) + ({b})")


def subtract(a: Dim, b: Dim) -> Dim:
    return canonical(f"({a}) - ({b})")


def multiply(a: Dim, b: Dim) -> Dim:
    return canonical(f"({a}) * ({b})")


def floordiv(a: Dim, b: Dim) -> Dim:
    return canonical(f"({a}) // ({b})")


def floormod(a: Dim, b: Dim) -> Dim:
    return canonical(f"({a}) % ({b})")


def ceildiv(a: Dim, b: Dim) -> Dim:
    return floordiv(subtract(add(a, b), 1), b)


def minimum(a: Dim, b: Dim) -> Dim:
    return canonical(f"min({a}, {b})")


def maximum(a: Dim, b: Dim) -> Dim:
    return canonical(f"max({a}, {b})")


def exact_divide(a: Dim, b: Dim) -> Dim:
    """a / b where b is known to divide a: common factors cancel before dividing."""
    top, bottom = _parse(a), _parse(b)
    if not bottom:
        raise ValueError("division by zero in a dimension")
    if len(bottom) > 1:
        scale = top.get(next(iter(bottom)), 0) // next(iter(bottom.values()))
        scaled = {factors: k * scale for factors, k in bottom.items()}
        return scale if scale and scaled == top else floordiv(a, b)
    ((factors, coefficient),) = bottom.items()
    quotient: _Poly = {}
    for term, k in top.items():
        remaining = list(term)
        for factor in factors:
            if factor not in remaining:
                return floordiv(a, b)
            remaining.remove(factor)
        if k % coefficient:
            return floordiv(a, b)
        quotient[tuple(remaining)] = k // coefficient
    return _format(quotient)


def product(dims: Iterable[Dim]) -> Dim:
    result: Dim = 1
    for dim in dims:
        result = multiply(result, dim)
    return result


def equal(a: Dim, b: Dim) -> bool:
    """True when the two are provably the same number."""
    return canonical(a) == canonical(b)


def differ(a: Dim, b: Dim) -> bool:
    """True when the two are provably different numbers."""
    if unequal(a, b):
        return True
    undecided = _undecided.get()
    if undecided is not None and not equal(a, b):
        undecided.append((a, b))
    return False


def unequal(a: Dim, b: Dim) -> bool:
    """As `differ`, of sizes that may be unequal: nothing is collected by `undecided_sizes`."""
    difference = subtract(a, b)
    return isinstance(difference, int) and difference != 0


_undecided: ContextVar[list[tuple[Dim, Dim]] | None] = ContextVar("undecided", default=None)


@contextmanager
def undecided_sizes() -> Iterator[list[tuple[Dim, Dim]]]:
    """Collects the pairs of sizes that `differ` could not decide: type inference asks it about
    sizes that must be equal, so these are left to be compared at run time."""
    found: list[tuple[Dim, Dim]] = []
    token = _undecided.set(found)
    try:
        yield found
    finally:
        _undecided.reset(token)


def symbols(dim: Dim) -> tuple[str, ...]:
    """The symbols of a dimension in order of appearance."""
    if isinstance(dim, int):
        return ()
    names: list[str] = []
    callees: list[ast.expr] = []  # a call comes before its parts
    for node in ast.walk(ast.parse(dim, mode="eval")):
        if isinstance(node, ast.Call):
            callees.append(node.func)
        if isinstance(node, ast.Name) and node not in callees and node.id not in names:
            names.append(node.id)
    return tuple(names)


def is_symbol(dim: Dim) -> bool:
    """True for a bare symbol such as "n"."""
    return isinstance(dim, str) and dim.isidentifier()


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """Replace symbols by dimensions and canonicalise."""
    if isinstance(dim, int):
        return dim

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in values:
                return node
            return ast.parse(f"({values[node.id]})", mode="eval").body

    return canonical(ast.unparse(Replace().visit(ast.parse(dim, mode="eval"))))


def _parse(dim: Dim) -> _Poly:
    return _polynomial(ast.parse(str(dim), mode="eval").body)


def _polynomial(node: ast.expr) -> _Poly:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return {(): node.value} if node.value else {}
    if isinstance(node, ast.Name):
        return {(node.id,): 1}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return {factors: -k for factors, k in _polynomial(node.operand).items()}
    if isinstance(node, ast.BinOp):
        return _binary(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, [_polynomial(arg) for arg in node.args])
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node.ops[0], _polynomial(node.left), _polynomial(node.comparators[0]))
    raise ValueError(f"not a dimension expression: {ast.unparse(node)!r}")


def _binary(node: ast.BinOp) -> _Poly:
    left, right = _polynomial(node.left), _polynomial(node.right)
    match node.op:
        case ast.Add():
            return _sum(left, right, 1)
        case ast.Sub():
            return _sum(left, right, -1)
        case ast.Mult():
            return _product(left, right)
        case ast.FloorDiv():
            return _call("floordiv", [left, right])
        case ast.Mod():
            return _call("floormod", [left, right])
    raise ValueError(f"operator not allowed in a dimension: {ast.unparse(node)!r}")


def _comparison(op: ast.cmpop, left: _Poly, right: _Poly) -> _Poly:
    match op:
        case ast.Eq():
            return _call("equal", [left, right])
        case ast.NotEq():
            return _call("not_equal", [left, right])
        case ast.Lt():
            return _call("less", [left, right])
        case ast.LtE():
            return _call("less_equal", [left, right])
        case ast.Gt():
            return _call("less", [right, left])
        case ast.GtE():
            return _call("less_equal", [right, left])
    raise ValueError("sizes are compared with ==, !=, <, <=, > and >=")


def _sum(left: _Poly, right: _Poly, sign: int) -> _Poly:
    result = dict(left)
    for factors, k in right.items():
        result[factors] = result.get(factors, 0) + sign * k
    return {factors: k for factors, k in result.items() if k}


def _product(left: _Poly, right: _Poly) -> _Poly:
    result: _Poly = {}
    for fa, ka in left.items():
        for fb, kb in right.items():
            factors = tuple(sorted(fa + fb))
            result[factors] = result.get(factors, 0) + ka * kb
    return {factors: k for factors, k in result.items() if k}


def _constant(poly: _Poly) -> int | None:
    if not poly:
        return 0
    return poly[()] if set(poly) == {()} else None


def _call(name: str, args: list[_Poly]) -> _Poly:
    if name not in _FUNCTIONS or len(args) != 2:
        raise ValueError(f"function not allowed in a dimension: {name}")
    left, right = args
    a, b = _constant(left), _constant(right)
    if a is not None and b is not None:
        return _as_poly(_fold(name, a, b))
    if left == right:
        if name in COMPARISONS:
            return _as_poly(int(name in ("equal", "less_equal")))
        return {"min": left, "max": left, "floordiv": {(): 1}, "floormod": {}}[name]
    if b is not None and name in ("floordiv", "floormod"):
        return _divide(name, left, b)
    texts = [str(_format(left)), str(_format(right))]
    if name in ("min", "max"):
        texts.sort()
    return {(f"{name}({texts[0]}, {texts[1]})",): 1}


def _as_poly(value: int) -> _Poly:
    return {(): value} if value else {}


def _fold(name: str, a: int, b: int) -> int:
    if name in ("floordiv", "floormod") and b == 0:
        raise ValueError("division by zero in a dimension")
    return {
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "floordiv": lambda: a // b,
        "floormod": lambda: a % b,
        "equal": lambda: int(a == b),
        "not_equal": lambda: int(a != b),
        "less": lambda: int(a < b),
        "less_equal": lambda: int(a <= b),
    }[name]()


def _divide(name: str, left: _Poly, divisor: int) -> _Poly:
    """Take the multiples of the divisor out of a floordiv or floormod."""
    if divisor == 0:
        raise ValueError("division by zero in a dimension")
    exact = {f: k // divisor for f, k in left.items() if k % divisor == 0}
    rest = {f: k for f, k in left.items() if k % divisor != 0}
    if not rest:
        return exact if name == "floordiv" else {}
    constant = _constant(rest)
    if constant is not None:
        remainder = _as_poly(_fold(name, constant, divisor))
    else:
        remainder = {(f"{name}({_format(rest)}, {divisor})",): 1}
    return _sum(exact, remainder, 1) if name == "floordiv" else remainder


def _format(poly: _Poly) -> Dim:
    constant = _constant(poly)
    if constant is not None:
        return constant
    text = ""
    # Symbols first, the constant last, as TVM prints `n * 2 + 1`.
    for factors, k in sorted(poly.items(), key=lambda term: (not term[0], term[0])):
        sign = "-" if k < 0 else "+"
        parts = [*factors, str(abs(k))] if abs(k) != 1 or not factors else [*factors]
        term = " * ".join(parts)
        text = (f"{sign} " if sign == "-" else "") + term if not text else f"{text} {sign} {term}"
    return text.replace("- ", "-", 1) if text.startswith("- ") else text
