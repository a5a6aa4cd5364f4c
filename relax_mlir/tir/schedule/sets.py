"""Integer sets and maps, exactly, by the library isl: what the cheaper proofs leave open.

A question costs 1 to 20 ms (and 0.1 s to load the library), so that the arithmetic on expressions
is asked first; a map whose digits overlap in a way it cannot take apart, such as the layouts of
`ldmatrix`, is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import Apply, Atom, Index, Leaf, value_domain


def is_injective(expressions: Sequence[Index], variables: Sequence[ir.Value]) -> bool:
    """Whether different values of the variables, which run over constant ranges from 0, give
    different values of the expressions.  False where an expression is not quasi-affine."""
    names = {variable: f"i{number}" for number, variable in enumerate(variables)}
    texts = [_text(expression, names) for expression in expressions]
    ranges = [_range(variable, name) for variable, name in names.items()]
    if any(text is None for text in [*texts, *ranges]):
        return False
    import islpy

    inputs, outputs = ", ".join(names.values()), ", ".join(str(text) for text in texts)
    conditions = " and ".join(str(text) for text in ranges)
    return bool(islpy.Map(f"{{ [{inputs}] -> [{outputs}] : {conditions} }}").is_injective())


def _range(variable: ir.Value, name: str) -> str | None:
    domain = value_domain(variable)
    extent = None if domain is None else domain[1].as_constant()
    return None if extent is None else f"0 <= {name} < {extent}"


def _text(expr: Index, names: Mapping[ir.Value, str]) -> str | None:
    """An expression in isl's notation, None where it multiplies variables."""
    parts = [str(expr.constant)]
    for monomial, factor in expr.terms.items():
        atom = _atom(monomial[0], names) if len(monomial) == 1 else None
        if atom is None:
            return None
        parts.append(f"{factor} * {atom}")
    return " + ".join(parts)


def _atom(atom: Atom, names: Mapping[ir.Value, str]) -> str | None:
    if isinstance(atom, Leaf):
        return names.get(atom.value)
    return _applied(atom, names)


def _applied(atom: Apply, names: Mapping[ir.Value, str]) -> str | None:
    left, right = _text(atom.left, names), atom.right.as_constant()
    if left is None or right is None or right <= 0:
        return None
    if atom.function == "floordiv":
        return f"floor(({left}) / {right})"
    return f"(({left}) mod {right})" if atom.function == "mod" else None
