"""Commutative reducers: sum, prod, max, min, and user-defined ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir import intrinsics
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import CommReducer, IterVar, PrimExpr, Reduce, Var, as_expr

__all__ = ["comm_reducer", "max", "min", "prod", "sum"]


def comm_reducer(
    fcombine: Callable[[Any, Any], Any],
    fidentity: Callable[..., Any],
    name: str = "reduce",
) -> Callable[..., Any]:
    """A reducer from a combiner and its identity.

    fcombine: two values (or tuples of values) to one.  fidentity: dtype (or several) to the
    identity.  The reducer takes `(expr, axis, where=None, init=None)`; of a tuple of expressions it
    returns a tuple.  With `where`, elements where it does not hold are skipped; `init` replaces
    the identity.
    """

    def reducer(
        expr: Any,
        axis: IterVar | Sequence[IterVar] | None = None,
        where: Any = None,
        init: Any = None,
        *more: Any,
    ) -> Any:
        if not isinstance(axis, (IterVar, list, tuple)):
            return _combine_all(fcombine, [expr, axis, where, init, *more])
        axes = [axis] if isinstance(axis, IterVar) else list(axis)
        several = isinstance(expr, (tuple, list))
        sources = [as_expr(e) for e in (expr if several else [expr])]
        inits = [] if init is None else list(init) if several else [init]
        combiner = _combiner(fcombine, fidentity, [s.dtype for s in sources], several)
        inits = [O.cast(s.dtype, i) for s, i in zip(sources, inits, strict=bool(inits))]
        made = [Reduce(combiner, sources, axes, where, i, inits) for i in range(len(sources))]
        return tuple(made) if several else made[0]

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"The {name} of an expression over reduce axes: `{name}(expr, axis)`."
    return reducer


def _combine_all(fcombine: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """`sum(a, b, c)` without an axis joins the values themselves."""
    values = [v for v in values if v is not None]
    if len(values) < 2:
        raise Error("a reduction needs its axis: sum(expr, axis=k)")
    result = values[0]
    for value in values[1:]:
        result = fcombine(result, value)
    return result


def _combiner(
    fcombine: Callable[[Any, Any], Any],
    fidentity: Callable[..., Any],
    dtypes: list[str],
    several: bool,
) -> CommReducer:
    left = [Var(f"x{i}", dtype) for i, dtype in enumerate(dtypes)]
    right = [Var(f"y{i}", dtype) for i, dtype in enumerate(dtypes)]
    identity = fidentity(*dtypes)
    if not several:
        result = [fcombine(left[0], right[0])]
        identity = [identity]
    else:
        result = list(fcombine(left, right))
        identity = list(identity)
    if len(result) != len(dtypes) or len(identity) != len(dtypes):
        raise Error(
            f"a reducer of {len(dtypes)} values must combine to {len(dtypes)} and have as many "
            f"identities, given {len(result)} and {len(identity)}"
        )
    typed = [O.cast(d, as_expr(r)) for d, r in zip(dtypes, result, strict=True)]
    neutral = [O.cast(d, as_expr(i)) for d, i in zip(dtypes, identity, strict=True)]
    return CommReducer(left, right, typed, neutral)


def _number(value: int) -> Callable[[str], PrimExpr]:
    return lambda dtype: O.const(value, dtype)


sum = comm_reducer(O.add, _number(0), "sum")
prod = comm_reducer(O.multiply, _number(1), "prod")
max = comm_reducer(O.max, intrinsics.lowest, "max")
min = comm_reducer(O.min, intrinsics.highest, "min")
