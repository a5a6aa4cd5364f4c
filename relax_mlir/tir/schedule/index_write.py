"""Index expressions as operations, one `affine.apply` wherever they are affine, and as text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from relax_mlir.mlir import affine, arith, ir
from relax_mlir.tir.schedule.index import Atom, Index, Leaf, atom_index


def is_affine(expr: Index) -> bool:
    """True for what one `affine.apply` can compute."""
    return all(len(m) == 1 and _atom_is_affine(m[0]) for m in expr.terms)


def _atom_is_affine(atom: Atom) -> bool:
    if isinstance(atom, Leaf):
        return True
    divides = atom.function in ("floordiv", "mod") and (atom.right.as_constant() or 0) > 0
    return divides and is_affine(atom.left)


def write(expr: Index, at: ir.InsertionPoint, location: ir.Location | None = None) -> ir.Value:
    """Operations that compute `expr`, inserted at `at`; a bare variable is that variable."""
    value = expr.as_leaf()
    if value is not None:
        return value
    location = location or ir.Location.unknown()
    if expr.is_constant:
        return arith.ConstantOp(ir.IndexType.get(), expr.constant, loc=location, ip=at).result
    leaves = expr.leaves()
    if all(len(m) == 1 and isinstance(m[0], Leaf) for m in expr.terms):
        affine_map = _linear_map((*expr.terms.values(),), expr.constant)
        return affine.AffineApplyOp(affine_map, leaves, loc=location, ip=at).result
    if is_affine(expr):
        dims = {v: ir.AffineExpr.get_dim(n) for n, v in enumerate(leaves)}
        affine_map = ir.AffineMap.get(len(leaves), 0, [_to_affine(expr, dims)])
        return affine.AffineApplyOp(affine_map, leaves, loc=location, ip=at).result
    return _write_arithmetic(expr, at, location or ir.Location.unknown())


@lru_cache(maxsize=4096)
def _linear_map(coefficients: tuple[int, ...], constant: int) -> ir.AffineMap:
    """The sum of the operands times these, plus a constant."""
    total: Any = None
    for number, k in enumerate(coefficients):
        dim = ir.AffineExpr.get_dim(number)
        term = dim if k == 1 else dim * k
        total = term if total is None else total + term
    return ir.AffineMap.get(len(coefficients), 0, [total + constant if constant else total])


def _to_affine(expr: Index, dims: dict[ir.Value, Any]) -> Any:
    total: Any = None
    for monomial, k in expr.terms.items():
        atom = monomial[0]
        if isinstance(atom, Leaf):
            term = dims[atom.value]
        else:
            left, right = _to_affine(atom.left, dims), atom.right.constant
            build = ir.AffineExpr.get_mod if atom.function == "mod" else ir.AffineExpr.get_floor_div
            term = build(left, right)
        term = term if k == 1 else term * k
        total = term if total is None else total + term
    if total is None:
        return ir.AffineExpr.get_constant(expr.constant)
    return total + expr.constant if expr.constant else total


def _write_arithmetic(expr: Index, at: ir.InsertionPoint, location: ir.Location) -> ir.Value:
    """The affine part in one operation, the rest in `arith`."""
    linear = Index(
        {m: k for m, k in expr.terms.items() if len(m) == 1 and _atom_is_affine(m[0])},
        expr.constant,
    )
    plain = not linear.terms
    total = None if plain else write(linear, at, location)
    others = [(m, k) for m, k in expr.terms.items() if m not in linear.terms]
    for monomial, k in sorted(others, key=lambda term: term[1] < 0):
        factors = [_write_atom(atom, at, location) for atom in monomial]
        subtract = total is not None and k < 0
        factor = -k if subtract else k
        if factor != 1:
            factors.append(write(Index({}, factor), at, location))
        product = factors[0]
        for each in factors[1:]:
            product = arith.MulIOp(product, each, loc=location, ip=at).result
        if total is None:
            total = product
        else:
            combine = arith.SubIOp if subtract else arith.AddIOp
            total = combine(total, product, loc=location, ip=at).result
    assert total is not None
    if plain and expr.constant:
        combine = arith.AddIOp if expr.constant > 0 else arith.SubIOp
        rest = write(Index({}, abs(expr.constant)), at, location)
        total = combine(total, rest, loc=location, ip=at).result
    return total


def _write_atom(atom: Atom, at: ir.InsertionPoint, location: ir.Location) -> ir.Value:
    if isinstance(atom, Leaf):
        return atom.value
    if _atom_is_affine(atom):
        return write(atom_index(atom), at, location)
    left, right = write(atom.left, at, location), write(atom.right, at, location)
    if atom.function == "mod":
        quotient = arith.FloorDivSIOp(left, right, loc=location, ip=at).result
        multiple = arith.MulIOp(quotient, right, loc=location, ip=at).result
        return arith.SubIOp(left, multiple, loc=location, ip=at).result
    ops = {"floordiv": arith.FloorDivSIOp, "min": arith.MinSIOp, "max": arith.MaxSIOp}
    return ops[atom.function](left, right, loc=location, ip=at).result


def to_mixed(expr: Index, at: ir.InsertionPoint) -> int | ir.Value:
    """An int when constant, else a value computed at `at`."""
    return expr.constant if expr.is_constant else write(expr, at)


# -- text -------------------------------------------------------------------------------------


def show(expr: Index) -> str:
    """The expression as Python text with the variables' names, for error messages."""
    parts: list[str] = []
    for monomial, k in expr.terms.items():
        factors = [_show_atom(atom, len(monomial) > 1 or abs(k) != 1) for atom in monomial]
        if abs(k) != 1:
            factors.append(str(abs(k)))
        sign = "-" if k < 0 else "+"
        parts.append(f"{sign} " + " * ".join(factors))
    if expr.constant or not parts:
        parts.append(f"{'-' if expr.constant < 0 else '+'} {abs(expr.constant)}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


def _show_atom(atom: Atom, tight: bool) -> str:
    if isinstance(atom, Leaf):
        return getattr(atom.value.location, "name_str", None) or atom.value.get_name().lstrip("%")
    if atom.function in ("min", "max"):
        return f"{atom.function}({atom.left}, {atom.right})"
    left, right = (f"({e})" if len(e.terms) + bool(e.constant) > 1 else str(e)
                   for e in (atom.left, atom.right))  # fmt: skip
    text = f"{left} {'//' if atom.function == 'floordiv' else '%'} {right}"
    return f"({text})" if tight else text
