"""Matching a pattern against expressions, with backtracking.

A match is a `State`: what each pattern matched, and the variable it was bound to.  `match` yields
every possible one, so that alternatives and unordered tuples are tried until all parts fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.ir.function import GlobalVar
from relax_mlir.relax import expr as nodes
from relax_mlir.relax import symbols
from relax_mlir.relax.dpl import pattern as patterns
from relax_mlir.relax.dpl.pattern import DFPattern
from relax_mlir.relax.expr import Expr, Var
from relax_mlir.relax.function import Function
from relax_mlir.relax.struct_info import from_mlir_type, to_mlir_type

Values = Mapping[Var, Expr]


@dataclass(frozen=True)
class State:
    """A match so far."""

    exprs: dict[DFPattern, Any] = field(default_factory=dict)
    variables: dict[DFPattern, Var] = field(default_factory=dict)

    def with_match(self, pattern: DFPattern, expr: Any, var: Var | None) -> State:
        exprs = {**self.exprs, pattern: expr}
        variables = self.variables if var is None else {**self.variables, pattern: var}
        return State(exprs, variables)


def extract_matched_expr(
    pattern: DFPattern, expr: Expr, var2val: Values | None = None
) -> dict[DFPattern, Any] | None:
    """What each part of the pattern matches, or None."""
    for state in match(pattern, expr, var2val or {}, State()):
        return state.exprs
    return None


def match(pattern: DFPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    """Every way to match, on top of what is matched already."""
    known = state.exprs.get(pattern)
    if known is not None:
        if _same(known, expr, values):
            yield state
        return
    rule, looks_through = _RULES[type(pattern)]
    var: Var | None = None
    if looks_through:
        expr, var = resolve(expr, values)
    elif isinstance(expr, Var):
        var = expr
    for found in rule(pattern, expr, values, state):
        yield found.with_match(pattern, expr, var)


def resolve(expr: Any, values: Values) -> tuple[Any, Var | None]:
    """What a variable is bound to in the end, and the last variable on the way."""
    var: Var | None = None
    while isinstance(expr, Var):
        var = expr
        bound = values.get(expr)
        if bound is None:
            break
        expr = bound
    return expr, var


def _same(known: Any, expr: Any, values: Values) -> bool:
    return known is expr or resolve(known, values)[0] is resolve(expr, values)[0]


def _each(
    parts: Sequence[DFPattern], exprs: Sequence[Any], values: Values, state: State
) -> Iterator[State]:
    """Every way to match patterns with expressions one by one."""
    if not parts:
        yield state
        return
    for found in match(parts[0], exprs[0], values, state):
        yield from _each(parts[1:], exprs[1:], values, found)


# -- one rule a kind of pattern ---------------------------------------------------------------


def _expr(
    pattern: patterns.ExprPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if equal(pattern.expr, expr):
        yield state


def equal(a: Any, b: Any) -> bool:
    """Structural equality of expressions; variables are equal when they are one."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, nodes.Op):
        return a.name == b.name
    if isinstance(a, nodes.Constant):
        return a.array.dtype == b.array.dtype and np.array_equal(a.array, b.array)
    if isinstance(a, (nodes.ShapeExpr, GlobalVar)):
        return bool(a == b)
    if isinstance(a, nodes.ExternFunc):
        return a.global_symbol == b.global_symbol
    if isinstance(a, nodes.Tuple):
        return len(a) == len(b) and all(map(equal, a.fields, b.fields))
    if isinstance(a, nodes.TupleGetItem):
        return a.index == b.index and equal(a.tuple_value, b.tuple_value)
    if isinstance(a, nodes.Call):
        same = equal(a.op, b.op) and a.attrs == b.attrs and len(a.args) == len(b.args)
        return same and all(map(equal, a.args, b.args))
    return False


def _var(pattern: patterns.VarPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    kind = nodes.DataflowVar if isinstance(pattern, patterns.DataflowVarPattern) else Var
    if isinstance(expr, kind) and pattern.name in ("", expr.name_hint):
        yield state


def _global_var(
    pattern: patterns.VarPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if isinstance(expr, nodes.FunctionRef):
        expr = expr.var
    if isinstance(expr, GlobalVar) and pattern.name in ("", expr.name_hint):
        yield state


def _extern(
    pattern: patterns.ExternFuncPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if isinstance(expr, nodes.ExternFunc) and pattern.global_symbol in ("", expr.global_symbol):
        yield state


def _constant(pattern: DFPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    if isinstance(expr, nodes.Constant):
        yield state


def _anything(pattern: DFPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    yield state


def _call(
    pattern: patterns.CallPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if not isinstance(expr, nodes.Call):
        return
    given = [arg for arg in expr.args if arg is not None]
    args = pattern.args
    if args is not None and len(args) != len(given):
        if not pattern.varg_default_wildcard or len(args) > len(given):
            return
        given = given[: len(args)]
    for found in match(pattern.op, expr.op, values, state):
        if args is None:
            yield found
        else:
            yield from _each(args, given, values, found)


def _tuple(
    pattern: patterns.TuplePattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if not isinstance(expr, nodes.Tuple) or len(expr.fields) != len(pattern.fields):
        return
    if not isinstance(pattern, patterns.UnorderedTuplePattern):
        yield from _each(pattern.fields, expr.fields, values, state)
        return
    for order in permutations(expr.fields):
        yield from _each(pattern.fields, order, values, state)


def _item(
    pattern: patterns.TupleGetItemPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if isinstance(expr, nodes.TupleGetItem) and pattern.index in (None, -1, expr.index):
        yield from match(pattern.tuple, expr.tuple_value, values, state)


def _or(pattern: patterns.OrPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    yield from match(pattern.left, expr, values, state)
    yield from match(pattern.right, expr, values, state)


def _and(pattern: patterns.AndPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    for found in match(pattern.left, expr, values, state):
        yield from match(pattern.right, expr, values, found)


def _not(pattern: patterns.NotPattern, expr: Any, values: Values, state: State) -> Iterator[State]:
    if next(match(pattern.reject, expr, values, state), None) is None:
        yield state


def _attr(
    pattern: patterns.AttrPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    target = resolve(expr, values)[0]
    attrs = target.attrs if isinstance(target, (nodes.Call, Function)) else None
    if attrs is None:
        return
    if all(name in attrs and _plain(attrs[name]) == _plain(v) for name, v in pattern.attrs.items()):
        yield from match(pattern.pattern, expr, values, state)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


def _dtype(
    pattern: patterns.DataTypePattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    dtype = getattr(expr, "dtype", None) if _is_tensor(expr) else None
    if dtype is not None and dtype == dtypes.canonical(pattern.dtype):
        yield from match(pattern.pattern, expr, values, state)


def _is_tensor(expr: Any) -> bool:
    from relax_mlir.dialects.relax import types

    return isinstance(expr, Expr) and types.is_tensor(expr.mlir_type)


def _shape(
    pattern: patterns.ShapePattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    shape = expr.shape if _is_tensor(expr) else None
    if shape is not None and shape.dims == symbols.to_dims(pattern.shape):
        yield from match(pattern.pattern, expr, values, state)


def _type(
    pattern: patterns.TypePattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    from relax_mlir import mlir

    if not isinstance(expr, Expr):
        return
    with mlir.scope():
        wanted = from_mlir_type(to_mlir_type(pattern.struct_info))
    if wanted.is_base_of(expr.struct_info):
        yield from match(pattern.pattern, expr, values, state)


def _prim_array(
    pattern: patterns.PrimArrPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if isinstance(expr, nodes.ShapeExpr) and expr.dims == symbols.to_dims(pattern.shape):
        yield state


def _function(
    pattern: patterns.FunctionPattern, expr: Any, values: Values, state: State
) -> Iterator[State]:
    if not isinstance(expr, Function) or len(expr.params) != len(pattern.params):
        return
    inner = {**values, **{b.var: b.value for b in expr.body.bindings}}
    for found in _each(pattern.params, expr.params, inner, state):
        yield from match(pattern.body, expr.body.body, inner, found)


Rule = Callable[[Any, Any, Values, State], Iterator[State]]

_RULES: dict[type[DFPattern], tuple[Rule, bool]] = {
    patterns.ExprPattern: (_expr, True),
    patterns.VarPattern: (_var, False),
    patterns.DataflowVarPattern: (_var, False),
    patterns.GlobalVarPattern: (_global_var, False),
    patterns.ExternFuncPattern: (_extern, True),
    patterns.ConstantPattern: (_constant, True),
    patterns.WildcardPattern: (_anything, False),
    patterns.CallPattern: (_call, True),
    patterns.TuplePattern: (_tuple, True),
    patterns.UnorderedTuplePattern: (_tuple, True),
    patterns.TupleGetItemPattern: (_item, True),
    patterns.OrPattern: (_or, False),
    patterns.AndPattern: (_and, False),
    patterns.NotPattern: (_not, False),
    patterns.AttrPattern: (_attr, False),
    patterns.DataTypePattern: (_dtype, False),
    patterns.ShapePattern: (_shape, False),
    patterns.TypePattern: (_type, False),
    patterns.PrimArrPattern: (_prim_array, True),
    patterns.FunctionPattern: (_function, True),
}
"""The rule of each kind, and whether it looks at what a variable is bound to."""
