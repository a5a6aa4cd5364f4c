"""Relax expressions as MLIR operations: one row of `LOWERINGS` for each class of expression.

`ExprLowering.value(expr)` creates the operations of an expression at the insertion point.  Nested
calls become operations of their own, which is A-normal form; the owner of the lowering says where
variables live and how nested calls are named.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.relax import spec as rows
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import build_constant
from relax_mlir.dialects.variadic import create
from relax_mlir.errors import Error
from relax_mlir.ir.function import GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.call_forms import FORMS, MLIR_NAMES, stored_attributes
from relax_mlir.relax.call_types import CALLS, spec_named

Location = ir.Location


BOUND = (nodes.Call, nodes.TupleGetItem)
"""Expressions that become bindings of their own where they are nested in others."""


def post_order(expr: nodes.Expr) -> list[nodes.Expr]:
    """The expressions an expression is made of and itself, parts first, each object once."""
    order: list[nodes.Expr] = []
    seen: set[int] = set()
    pending: list[tuple[Any, bool]] = [(expr, False)]
    while pending:
        current, expanded = pending.pop()
        if expanded:
            order.append(current)
        elif id(current) not in seen and isinstance(current, nodes.Expr):
            seen.add(id(current))
            pending.append((current, True))
            pending.extend((child, False) for child in reversed(children(current)))
    return order


def children(expr: Any) -> tuple[Any, ...]:
    """The expressions an expression is made of; blocks of bindings are not entered."""
    if isinstance(expr, nodes.Call):
        return (expr.op, *expr.args)
    if isinstance(expr, nodes.Tuple):
        return expr.fields
    if isinstance(expr, nodes.TupleGetItem):
        return (expr.tuple_value,)
    if isinstance(expr, nodes.If):
        return (expr.cond, expr.true_branch, expr.false_branch)
    return ()


class ExprLowering:
    """Creates operations for expressions.

    `variable(var)` gives the MLIR value of a variable, `location(name)` the location of a binding,
    `fresh()` a name for a nested call, `constants` takes the large constants.
    """

    def __init__(
        self,
        variable: Callable[[nodes.Var], ir.Value],
        location: Callable[[str | None], Location],
        fresh: Callable[[], str],
        constants: MutableMapping[str, np.ndarray],
    ):
        self.variable = variable
        self.location = location
        self.fresh = fresh
        self.constants = constants
        self._done: dict[int, ir.Value] = {}

    def binding(self, expr: nodes.Expr, name: str) -> ir.Value:
        """The operations of an expression; the last one carries `name`."""
        self._start(expr)
        if isinstance(expr, nodes.Var):
            value = self.variable(expr)
            return _create("relax.bind", [value], [value.type], loc=self.location(name))
        return self._lower(expr, name)

    def operand(self, expr: nodes.Expr) -> ir.Value:
        """The value of an expression that is used where it stands, such as a returned tuple."""
        self._start(expr)
        return self.value(expr)

    def _start(self, expr: nodes.Expr) -> None:
        """Look up the variables first: making one visible may rebuild what holds the others.

        Then lower nested calls, the innermost first: an expression may be nested deeper than
        Python's stack.
        """
        self._done.clear()
        nested = post_order(expr)
        for node in nested:
            if isinstance(node, nodes.Var):
                self.variable(node)
        for node in nested:
            if isinstance(node, BOUND) and node is not expr:
                self.value(node)

    def value(self, expr: nodes.Expr) -> ir.Value:
        """The value of a nested expression; the same object twice is computed once."""
        if isinstance(expr, nodes.Var):
            return self.variable(expr)
        known = self._done.get(id(expr))
        if known is None:
            known = self._lower(expr, None, isinstance(expr, BOUND))
            self._done[id(expr)] = known
        return known

    def _lower(self, expr: nodes.Expr, name: str | None, bound: bool = False) -> ir.Value:
        for kind, lower in LOWERINGS:
            if isinstance(expr, kind):
                return lower(self, expr, lambda: self.location(self.fresh() if bound else name))
        raise Error(f"a {type(expr).__name__} cannot be part of a function: {expr}")


def _create(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: dict[str, ir.Attribute] | None = None,
    *,
    loc: Location,
) -> ir.Value:
    return create(name, results, operands, attributes, loc=loc).result


def symbol_ref(var: GlobalVar) -> ir.Attribute:
    return ir.FlatSymbolRefAttr.get(var.name_hint)


At = Callable[[], Location]
"""The location of the operation; a nested call gets its name when it is asked for, after those
of its operands."""


def _constant(self: ExprLowering, expr: nodes.Constant, at: At) -> ir.Value:
    return build_constant(expr.array, self.constants, at(), expr.mlir_type)


def _shape(self: ExprLowering, expr: nodes.ShapeExpr, at: At) -> ir.Value:
    return _create("relax.shape_expr", [], [expr.mlir_type], loc=at())


def _prim(self: ExprLowering, expr: nodes.PrimValue, at: At) -> ir.Value:
    stored: dict[str, ir.Attribute] = {}
    if expr.number is not None:
        stored["value"] = to_attribute(expr.number)
    return _create("relax.prim_value", [], [expr.mlir_type], stored, loc=at())


def _string(self: ExprLowering, expr: nodes.StringImm, at: At) -> ir.Value:
    stored: dict[str, ir.Attribute] = {"value": ir.StringAttr.get(expr.value)}
    return _create("relax.string", [], [expr.mlir_type], stored, loc=at())


def _data_type(self: ExprLowering, expr: nodes.DataTypeImm, at: At) -> ir.Value:
    stored: dict[str, ir.Attribute] = {"value": ir.TypeAttr.get(dtypes.to_mlir(expr.value))}
    return _create("relax.data_type", [], [expr.mlir_type], stored, loc=at())


def _function_ref(self: ExprLowering, expr: nodes.FunctionRef, at: At) -> ir.Value:
    stored = {"callee": symbol_ref(expr.var)}
    return _create("relax.function_ref", [], [expr.mlir_type], stored, loc=at())


def _extern_func(self: ExprLowering, expr: nodes.ExternFunc, at: At) -> ir.Value:
    stored: dict[str, ir.Attribute] = {"callee": ir.StringAttr.get(expr.global_symbol)}
    return _create("relax.extern_func", [], [expr.mlir_type], stored, loc=at())


def _tuple(self: ExprLowering, expr: nodes.Tuple, at: At) -> ir.Value:
    values = [self.value(field) for field in expr.fields]
    kind = types.tuple_type([value.type for value in values])
    return _create("relax.tuple", values, [kind], loc=at())


def _tuple_get_item(self: ExprLowering, expr: nodes.TupleGetItem, at: At) -> ir.Value:
    value = self.value(expr.tuple_value)
    return tuple_field(value, expr.index, at())


def tuple_field(value: ir.Value, index: int, loc: Location) -> ir.Value:
    """The field `index` of a tuple value; that of a tuple made in place needs no operation."""
    kind = types.tuple_fields(value.type)
    assert kind is not None
    stored = {"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)}
    return _create("relax.tuple_get_item", [value], [kind[index]], stored, loc=loc)


def _call(self: ExprLowering, expr: nodes.Call, at: At) -> ir.Value:
    name = getattr(expr.op, "name", None)
    if name in CALLS:
        return _SPECIAL[name](self, expr, at)
    spec = spec_named(name) if isinstance(name, str) else None
    if spec is not None:
        operands = _operator_operands(self, spec, expr)
        return rows.build(spec, operands, expr.attrs, expr.mlir_type, loc=at())
    if isinstance(expr.op, nodes.ExternFunc):
        stored: dict[str, ir.Attribute] = {"callee": ir.StringAttr.get(expr.op.global_symbol)}
        operands = _values(self, expr.args)
        if expr.attrs:
            stored["attrs"] = to_attribute(expr.attrs)
        return _create("relax.call_packed", operands, [expr.mlir_type], stored, loc=at())
    if isinstance(expr.op, nodes.FunctionRef):
        return _call_function(self, expr.op.var, expr, at)
    if isinstance(expr.op, GlobalVar):
        return _call_function(self, expr.op, expr, at)
    if isinstance(expr.op, nodes.Expr):
        operands = [self.value(expr.op), *_values(self, expr.args)]
        return _create("relax.call_value", operands, [expr.mlir_type], loc=at())
    raise Error(f"calling the value {expr.op} is not supported: call a function of the module")


def _call_function(self: ExprLowering, var: GlobalVar, expr: nodes.Call, at: At) -> ir.Value:
    operands = _values(self, expr.args)
    stored = {"callee": symbol_ref(var)}
    return _create("relax.call", operands, [expr.mlir_type], stored, loc=at())


def _values(self: ExprLowering, args: Sequence[Any]) -> list[ir.Value]:
    return [
        self.value(nodes.FunctionRef(arg) if isinstance(arg, GlobalVar) else arg) for arg in args
    ]


def _fields(self: ExprLowering, arg: nodes.Expr) -> list[ir.Value]:
    """The values in a tuple argument."""
    if isinstance(arg, nodes.Tuple):
        return [self.value(field) for field in arg.fields]
    value = self.value(arg)
    count = len(types.tuple_fields(value.type) or [])
    return [tuple_field(value, i, self.location(self.fresh())) for i in range(count)]


def _operator_operands(
    self: ExprLowering, spec: rows.OpSpec, expr: nodes.Call
) -> list[ir.Value | list[ir.Value] | None]:
    given = [*expr.args, *[None] * (len(spec.operands) - len(expr.args))]
    operands: list[ir.Value | list[ir.Value] | None] = []
    for declared, arg in zip(spec.operands, given, strict=True):
        if arg is None:
            operands.append(None)
        elif declared.startswith("*"):
            operands.append(_fields(self, arg))
        else:
            operands.append(_values(self, [arg])[0])
    return operands


def _call_tir(self: ExprLowering, expr: nodes.Call, at: At) -> ir.Value:
    values = _fields(self, expr.args[1])
    extra = [self.value(arg) for arg in expr.args[2:]]
    stored: dict[str, ir.Attribute] = {"callee": symbol_ref(expr.args[0])}
    if "inplace_indices" in expr.attrs:
        stored["inplace_indices"] = to_attribute(list(expr.attrs["inplace_indices"]))
    return _create(expr.op.name, [*values, *extra], [expr.mlir_type], stored, loc=at())


def _call_dps_packed(self: ExprLowering, expr: nodes.Call, at: At) -> ir.Value:
    stored: dict[str, ir.Attribute] = {"callee": ir.StringAttr.get(expr.args[0].global_symbol)}
    operands = _fields(self, expr.args[1])
    return _create("relax.call_dps_packed", operands, [expr.mlir_type], stored, loc=at())


def _call_pure_packed(self: ExprLowering, expr: nodes.Call, at: At) -> ir.Value:
    stored: dict[str, ir.Attribute] = {"callee": ir.StringAttr.get(expr.args[0].global_symbol)}
    operands = _values(self, expr.args[1:])
    return _create("relax.call_pure_packed", operands, [expr.mlir_type], stored, loc=at())


def _call_form(self: ExprLowering, expr: nodes.Call, at: At) -> ir.Value:
    name = expr.op.name
    form = FORMS[name]
    operands = [self.value(expr.args[0])] if form.callee == "value" else []
    operands += _fields(self, expr.args[1]) if form.packed else _values(self, expr.args[1:])
    operands += _values(self, expr.args[2:]) if form.sized else []
    stored = stored_attributes(form, expr)
    return _create(MLIR_NAMES[name], operands, [expr.mlir_type], stored, loc=at())


_SPECIAL: dict[str, Callable[[ExprLowering, nodes.Call, At], ir.Value]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir,
    "relax.call_dps_packed": _call_dps_packed,
    "relax.call_pure_packed": _call_pure_packed,
    **dict.fromkeys(FORMS, _call_form),
}

LOWERINGS: list[tuple[type[nodes.Expr], Callable[[ExprLowering, Any, At], ir.Value]]] = [
    (nodes.Call, _call),
    (nodes.Constant, _constant),
    (nodes.ShapeExpr, _shape),
    (nodes.PrimValue, _prim),
    (nodes.StringImm, _string),
    (nodes.DataTypeImm, _data_type),
    (nodes.FunctionRef, _function_ref),
    (nodes.ExternFunc, _extern_func),
    (nodes.Tuple, _tuple),
    (nodes.TupleGetItem, _tuple_get_item),
]
