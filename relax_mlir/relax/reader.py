"""MLIR functions as Relax expressions: the reverse of `lowering`, one row for each operation.

Operations that only stand for a value (constants, shapes, tuples ...) become part of the
expression that uses them, unless they carry a name: then the program bound them to a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import read_constant
from relax_mlir.dialects.relax.spec import attributes_of, operand_groups, spec_of
from relax_mlir.errors import Error
from relax_mlir.ir.function import GlobalVar
from relax_mlir.ir.text import name_of
from relax_mlir.mlir import ir
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.blocks import (
    Binding,
    BindingBlock,
    DataflowBlock,
    LocalFunction,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from relax_mlir.relax.call_forms import FORMS, MLIR_NAMES, read_attributes

Op = ir.Operation

INLINE = frozenset(
    f"relax.{name}"
    for name in (
        "constant shape_expr prim_value string data_type function_ref extern_func tuple "
        "tuple_get_item"
    ).split()
)
"""Operations that need no binding of their own."""


class FunctionReader:
    """The parameters and the body of a `func.func`; must be used inside `mlir.scope()`."""

    def __init__(self, function: Op, constants: Mapping[str, np.ndarray]):
        self.constants = constants
        self._values: dict[ir.Value, nodes.Expr] = {}
        self._taken: set[str] = set()
        self._unnamed: dict[str, int] = {}
        block = function.regions[0].blocks[0]
        self._reserved = _all_names(function)
        names = parameter_names(function)
        self.params = [
            self.variable(value, name, nodes.Var)
            for value, name in zip(block.arguments, names, strict=True)
        ]
        self.body = self.sequence(block)

    # -- variables ----------------------------------------------------------------------------

    def variable(self, value: ir.Value, name: str | None, kind: type[nodes.Var]) -> nodes.Var:
        chosen = self._unique(name, kind)
        var = kind(chosen, value.type)
        self._values[value] = var
        return var

    def _unique(self, name: str | None, kind: type[nodes.Var]) -> str:
        """A name of its own: `lv_1` for a second `lv`, `lv`, `lv1` ... where there is none."""
        if name is None:
            prefix = "lv" if kind is nodes.DataflowVar else "gv"
            number = self._unnamed.get(prefix, 0)
            while (name := f"{prefix}{number or ''}") in self._reserved | self._taken:
                number += 1
            self._unnamed[prefix] = number + 1
        elif name in self._taken:
            number = 1
            while f"{name}_{number}" in self._taken | self._reserved:
                number += 1
            name = f"{name}_{number}"
        self._taken.add(name)
        return name

    def value(self, value: ir.Value) -> nodes.Expr:
        return self._values[value]

    # -- blocks -------------------------------------------------------------------------------

    def sequence(self, block: ir.Block) -> SeqExpr:
        """A block that ends in func.return or relax.yield."""
        blocks: list[BindingBlock] = []
        current: list[Binding] = []
        for view in block.operations:
            op = view.operation
            if op.name in ("func.return", "relax.yield"):
                break
            if op.name == "relax.dataflow":
                if current:
                    blocks.append(BindingBlock(current))
                current = []
                blocks.append(self._dataflow(op))
            else:
                current.extend(self._binding(op, nodes.Var))
        if current:
            blocks.append(BindingBlock(current))
        end = list(block.operations)[-1].operation
        return SeqExpr(blocks, self.value(end.operands[0]))

    def _dataflow(self, op: Op) -> DataflowBlock:
        operations = [view.operation for view in op.regions[0].blocks[0].operations]
        outputs = list(operations[-1].operands)
        bindings: list[Binding] = []
        for child in operations[:-1]:
            visible = any(result in outputs for result in child.results)
            bindings.extend(self._binding(child, nodes.Var if visible else nodes.DataflowVar))
        for output, result in zip(outputs, op.results, strict=True):
            if output.owner not in operations:  # made outside: only a second name makes it visible
                alias = nodes.Var(self._unique(None, nodes.Var), result.type)
                bindings.append(VarBinding(alias, self.value(output)))
                self._values[result] = alias
            else:
                self._values[result] = self._values[output]
        visible_vars = [self._values[result] for result in op.results]
        return DataflowBlock(bindings, [v for v in visible_vars if isinstance(v, nodes.Var)])

    def _binding(self, op: Op, kind: type[nodes.Var]) -> list[Binding]:
        if len(op.results) != 1:
            raise Error(f"{op.name} is not an operation of Relax functions")
        result = op.results[0]
        name = name_of(result)
        if op.name == "relax.match_cast":
            value = self.value(op.operands[0])
            return [MatchCast(self.variable(result, name, kind), value)]
        if op.name == "relax.if":
            # Its name comes before those of its branches, which may share it.
            var = self.variable(result, name, kind)
            return [VarBinding(var, self.expression(op))]
        if op.name == "relax.local_function":
            var = self.variable(result, name, kind)
            return [VarBinding(var, self.expression(op))]
        value = self.expression(op)
        # An output of a dataflow block is a variable even if the program gave it no name.
        visible = kind is nodes.Var and _in_dataflow(op)
        if name is None and op.name in INLINE and not visible:
            self._values[result] = value
            return []
        return [VarBinding(self.variable(result, name, kind), value)]

    # -- expressions --------------------------------------------------------------------------

    def expression(self, op: Op) -> nodes.Expr:
        """The expression an operation computes."""
        read = _READERS.get(op.name)
        if read is not None:
            return read(self, op)
        spec = spec_of(op)
        if spec is None:
            raise Error(f"{op.name} is not an operation of Relax functions")
        args: list[nodes.Expr | None] = [
            nodes.Tuple([self.value(v) for v in group])
            if isinstance(group, list)
            else None
            if group is None
            else self.value(group)
            for group in operand_groups(op)
        ]
        while args and args[-1] is None:
            args.pop()
        callee = nodes.Op.get(f"relax.{spec.name}")
        made = nodes.Call(callee, args, attributes_of(op), [op.results[0].type])
        made.type_args = ()
        return made


def parameter_names(function: Op) -> list[str | None]:
    """The names of a function's parameters."""
    block = function.regions[0].blocks[0]
    if "arg_attrs" not in function.attributes:
        return [name_of(value) for value in block.arguments]
    stored = [from_attribute(attrs) for attrs in ir.ArrayAttr(function.attributes["arg_attrs"])]
    return [
        attrs.get("relax.name") or name_of(value)
        for attrs, value in zip(stored, block.arguments, strict=True)
    ]


def _all_names(function: Op) -> set[str]:
    names: set[str] = {name for name in parameter_names(function) if name}

    def visit(op: Op) -> None:
        for region in op.regions:
            for block in region.blocks:
                for child in block.operations:
                    names.update(n for r in child.operation.results if (n := name_of(r)))
                    visit(child.operation)

    visit(function)
    return names


def _in_dataflow(op: Op) -> bool:
    parent = op.parent
    return parent is not None and parent.operation.name == "relax.dataflow"


# -- one reader an operation -------------------------------------------------------------------


def _string_of(op: Op, name: str) -> str:
    return ir.StringAttr(op.attributes[name]).value


def _callee(op: Op) -> GlobalVar:
    return GlobalVar(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)


def _constant(self: FunctionReader, op: Op) -> nodes.Expr:
    array = read_constant(op, self.constants)
    if array is None:
        return AbsentConstant(_string_of(op, "key"), op.results[0].type)
    return nodes.Constant(array)


class AbsentConstant(nodes.Expr):
    """A constant whose value is not in the module's table; its key is all there is."""

    def __init__(self, key: str, kind: ir.Type):
        self.key = key
        self.mlir_type = kind


def _shape(self: FunctionReader, op: Op) -> nodes.Expr:
    info = types.shape_info(op.results[0].type)
    assert info is not None and info.dims is not None
    return nodes.ShapeExpr(info.dims)


def _prim(self: FunctionReader, op: Op) -> nodes.Expr:
    info = types.prim_info(op.results[0].type)
    assert info is not None
    dtype, dim = info
    value = from_attribute(op.attributes["value"]) if "value" in op.attributes else dim
    return nodes.PrimValue(value, dtype)


def _if(self: FunctionReader, op: Op) -> nodes.Expr:
    then, otherwise = (self.sequence(region.blocks[0]) for region in op.regions)
    return nodes.If(self.value(op.operands[0]), then, otherwise)


def _call(self: FunctionReader, op: Op) -> nodes.Expr:
    args = [self.value(v) for v in op.operands]
    return _typed(_callee(op), args, {}, op)


def _call_packed(self: FunctionReader, op: Op) -> nodes.Expr:
    args = [self.value(v) for v in op.operands]
    stored = op.attributes
    attrs = from_attribute(stored["attrs"]) if "attrs" in stored else {}
    return _typed(nodes.ExternFunc(_string_of(op, "callee")), args, attrs, op)


def _local_function(self: FunctionReader, op: Op) -> nodes.Expr:
    block = op.regions[0].blocks[0]
    variables = [self.variable(a, name_of(a), nodes.Var) for a in block.arguments]
    own = variables.pop(0) if "recursive" in op.attributes else None
    stored = op.attributes
    return LocalFunction(
        variables,
        self.sequence(block),
        op.results[0].type,
        own=own,
        attrs=from_attribute(stored["attrs"]) if "attrs" in stored else {},
        is_pure="pure" not in stored or bool(from_attribute(stored["pure"])),
    )


def _call_value(self: FunctionReader, op: Op) -> nodes.Expr:
    callee, *args = [self.value(v) for v in op.operands]
    return _typed(callee, args, {}, op)


def _typed(callee: Any, args: list[Any], attrs: dict[str, Any], op: Op) -> nodes.Call:
    kind = op.results[0].type
    declared = () if kind == types.object_type() else (kind,)
    return nodes.Call(callee, args, attrs, declared)


def _call_pure_packed(self: FunctionReader, op: Op) -> nodes.Expr:
    args = [nodes.ExternFunc(_string_of(op, "callee")), *[self.value(v) for v in op.operands]]
    return _typed(nodes.Op.get(op.name), args, {}, op)


def _outputs(kind: ir.Type) -> list[ir.Type]:
    return types.tuple_fields(kind) or [kind]


def _call_dps_packed(self: FunctionReader, op: Op) -> nodes.Expr:
    fields = nodes.Tuple([self.value(v) for v in op.operands])
    args = [nodes.ExternFunc(_string_of(op, "callee")), fields]
    return nodes.Call(nodes.Op.get(op.name), args, {}, _outputs(op.results[0].type))


def _call_tir(self: FunctionReader, op: Op) -> nodes.Expr:
    view = op.opview
    fields = nodes.Tuple([self.value(v) for v in view.arguments])
    args: list[Any] = [_callee(op), fields, *[self.value(v) for v in view.tir_vars]]
    attrs: dict[str, Any] = {}
    if "inplace_indices" in op.attributes:
        attrs["inplace_indices"] = list(from_attribute(op.attributes["inplace_indices"]))
    return nodes.Call(nodes.Op.get(op.name), args, attrs, _outputs(op.results[0].type))


def _call_form(self: FunctionReader, op: Op) -> nodes.Expr:
    name = _FORM_NAMES[op.name]
    form, values = FORMS[name], [self.value(v) for v in op.operands]
    callee: Any = (
        _callee(op)
        if form.callee == "symbol"
        else nodes.ExternFunc(_string_of(op, "callee"))
        if form.callee == "string"
        else values.pop(0)
    )
    sized = form.sized and len(values) > 0 and types.shape_info(op.operands[-1].type) is not None
    sizes = [values.pop()] if sized else []
    args = [callee, nodes.Tuple(values), *sizes] if form.packed else [callee, *values]
    kind = op.results[0].type
    declared: Any = () if kind == types.object_type() or not form.declared else (kind,)
    if form.outputs or "inplace_indices" in form.attributes:
        declared = _outputs(kind)
    made = nodes.Call(nodes.Op.get(name), args, read_attributes(form, op), declared)
    made.mlir_type = kind
    return made


_FORM_NAMES = {MLIR_NAMES[name]: name for name in FORMS}

_READERS: dict[str, Callable[[FunctionReader, Op], nodes.Expr]] = {
    "relax.bind": lambda self, op: self.value(op.operands[0]),
    "relax.constant": _constant,
    "relax.shape_expr": _shape,
    "relax.prim_value": _prim,
    "relax.string": lambda self, op: nodes.StringImm(_string_of(op, "value")),
    "relax.data_type": lambda self, op: nodes.DataTypeImm(
        dtypes.from_mlir(ir.TypeAttr(op.attributes["value"]).value)
    ),
    "relax.function_ref": lambda self, op: nodes.FunctionRef(_callee(op), op.results[0].type),
    "relax.extern_func": lambda self, op: nodes.ExternFunc(_string_of(op, "callee")),
    "relax.tuple": lambda self, op: nodes.Tuple([self.value(v) for v in op.operands]),
    "relax.tuple_get_item": lambda self, op: nodes.TupleGetItem(
        self.value(op.operands[0]), ir.IntegerAttr(op.attributes["index"]).value
    ),
    "relax.if": _if,
    "relax.local_function": _local_function,
    "relax.call_value": _call_value,
    "relax.call": _call,
    "relax.call_packed": _call_packed,
    "relax.call_pure_packed": _call_pure_packed,
    "relax.call_dps_packed": _call_dps_packed,
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir,
    **dict.fromkeys(_FORM_NAMES, _call_form),
}
