"""Relax expressions and bindings as TVMScript: one row of `_TEXTS` for each class of expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.layout_transform import map_text
from relax_mlir.ir.function import GlobalVar
from relax_mlir.mlir import ir
from relax_mlir.relax import expr as nodes
from relax_mlir.relax.blocks import Binding, MatchCast
from relax_mlir.relax.call_forms import FORMS
from relax_mlir.relax.call_types import spec_named
from relax_mlir.relax.reader import AbsentConstant
from relax_mlir.relax.type_text import TypeStyle
from relax_mlir.script.printer.core import literal

METADATA_KEY = "relax.expr.Constant"


@dataclass
class ExprPrinter:
    """Prints expressions.

    `name(var)` is the name of a variable, `global_name(name)` that of a function of the module,
    `no_dtype`, `out_keyword` and `args_keyword` are what TVM versions spell differently;
    `constants` takes the arrays that are printed as `metadata[...]`.
    """

    style: TypeStyle = field(default_factory=TypeStyle)
    no_dtype: str = '"void"'
    out_keyword: str = "out_sinfo"
    args_keyword: str = "sinfo_args"
    name: Callable[[nodes.Var], str] = lambda var: var.name_hint
    global_name: Callable[[str], str] = lambda name: name
    constants: list[Any] = field(default_factory=list)

    @property
    def R(self) -> str:
        return self.style.relax

    def text(self, expr: Any) -> str:
        """The expression as TVMScript."""
        if isinstance(expr, GlobalVar):
            return self.global_name(expr.name_hint)
        for kind, text in _TEXTS:
            if isinstance(expr, kind):
                return text(self, expr)
        raise TypeError(f"a {type(expr).__name__} has no TVMScript form")

    def value(self, expr: nodes.Expr) -> str:
        """The right side of a binding: a tuple of several fields goes without parentheses."""
        text = self.text(expr)
        if isinstance(expr, nodes.Tuple) and len(expr.fields) > 1:
            return text[1:-1]
        return text

    def binding(self, binding: Binding, *, show_type: bool = True) -> str:
        """`lv: R.Tensor((2, 3), dtype="float32") = R.add(x, y)`."""
        var = binding.var
        kind = self.style.text(var.mlir_type)
        if isinstance(binding, MatchCast):
            right = f"{self.R}.match_cast({self.text(binding.value)}, {kind})"
        else:
            right = self.value(binding.value)
            if _says_its_type(binding.value, var.mlir_type):
                return f"{self.name(var)} = {right}"
        annotation = f": {kind}" if show_type else ""
        return f"{self.name(var)}{annotation} = {right}"

    def metadata(self, constant: Any) -> str:
        """`metadata["relax.expr.Constant"][0]`; the same array twice is one entry."""
        array = getattr(constant, "array", constant)
        for i, known in enumerate(self.constants):
            if known is array:
                return f'metadata["{METADATA_KEY}"][{i}]'
        self.constants.append(array)
        return f'metadata["{METADATA_KEY}"][{len(self.constants) - 1}]'

    def attribute(self, name: str, value: Any) -> str:
        """The value of an operator's attribute; `no_dtype` is how a dtype left open is written."""
        if name.endswith("dtype") and value == "void":
            return self.no_dtype
        return attribute_text(value)

    def call(self, name: str, parts: Sequence[str]) -> str:
        return f"{self.R}.{name}({', '.join(parts)})"


def _says_its_type(value: nodes.Expr, kind: ir.Type) -> bool:
    """True for calls whose text has the result type in it."""
    name = getattr(getattr(value, "op", None), "name", None)
    return name in _DPS_CALLS and value.mlir_type == kind


_DPS_CALLS = (
    "relax.call_tir",
    "relax.call_tir_inplace",
    "relax.call_dps_packed",
    "relax.call_tir_with_grad",
    "relax.call_py_func",
)


def expression_text(expr: nodes.Expr) -> str:
    """An expression by itself, for `str` and `repr`."""
    with mlir.scope():
        return ExprPrinter().text(expr)


def binding_text(binding: Binding) -> str:
    """A binding by itself."""
    with mlir.scope():
        return ExprPrinter().binding(binding)


# -- one text a class --------------------------------------------------------------------------


def attribute_text(value: Any) -> str:
    """An attribute's value: a literal, or an index map."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(attribute_text, value))}]"
    if isinstance(value, ir.AffineMapAttr):
        return f"T.index_map({map_text(value)})"
    if isinstance(value, Mapping):
        entries = [f"{literal(key)}: {attribute_text(entry)}" for key, entry in value.items()]
        return f"{{{', '.join(entries)}}}"
    return literal(value)


def _constant(self: ExprPrinter, expr: nodes.Constant) -> str:
    array = expr.array
    if array.ndim:
        return self.metadata(expr)
    value = array.item() if array.dtype.kind != "V" else float(array)
    if array.dtype.kind == "V" and "int" in array.dtype.name:
        value = int(array)
    return self.call("const", [attribute_text(value), f'"{array.dtype.name}"'])


def _shape(self: ExprPrinter, expr: nodes.ShapeExpr) -> str:
    return self.call("shape", [f"[{', '.join(map(self.style.dim, expr.dims))}]"])


def _prim(self: ExprPrinter, expr: nodes.PrimValue) -> str:
    value = attribute_text(expr.number) if expr.dim is None else self.style.dim(expr.dim)
    is_comparison = expr.dtype == "bool" and isinstance(expr.dim, str)
    if expr.dtype != "int64" and not is_comparison:
        value = f"{self.style.tir}.{expr.dtype}({value})"
    return self.call("prim_value", [value])


def _tuple(self: ExprPrinter, expr: nodes.Tuple) -> str:
    if not expr.fields:
        return self.call("tuple", [])
    inner = ", ".join(map(self.text, expr.fields))
    return f"({inner},)" if len(expr.fields) == 1 else f"({inner})"


def _tuple_get_item(self: ExprPrinter, expr: nodes.TupleGetItem) -> str:
    text = self.text(expr.tuple_value)
    if isinstance(expr.tuple_value, nodes.Tuple):  # Python would take the field out itself
        return self.call("TupleGetItem", [text, str(expr.index)])
    return f"{text}[{expr.index}]"


def _call(self: ExprPrinter, expr: nodes.Call) -> str:
    name = getattr(expr.op, "name", None)
    special = _CALLS.get(name) if isinstance(name, str) else None
    if special is not None:
        return special(self, expr)
    spec = spec_named(name) if isinstance(name, str) else None
    if spec is not None:
        parts = ["None" if arg is None else self.text(arg) for arg in expr.args]
        parts += [f"{key}={self.attribute(key, value)}" for key, value in expr.attrs.items()]
        return self.call(spec.name, parts)
    args = [self.text(arg) for arg in expr.args]
    if isinstance(expr.op, nodes.ExternFunc):
        notes = [f"{key}={literal(value)}" for key, value in expr.attrs.items()]
        return self.call("call_packed", [_quoted(expr.op), *args, *_types(self, expr), *notes])
    return f"{self.text(expr.op)}({', '.join(args)})"


def _quoted(function: Any) -> str:
    return literal(function.global_symbol)


def _types(self: ExprPrinter, expr: nodes.Call) -> list[str]:
    """`sinfo_args=(...)` of a call of a registered function."""
    if not expr.type_args:
        return []
    inner = ", ".join(map(self.style.text, expr.type_args))
    group = f"({inner},)" if len(expr.type_args) == 1 else f"({inner})"
    return [f"{self.args_keyword}={group}"]


def _outputs(self: ExprPrinter, expr: nodes.Call) -> str:
    texts = [self.style.text(kind) for kind in expr.type_args]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f"{self.out_keyword}={joined}"


def _call_tir(self: ExprPrinter, expr: nodes.Call) -> str:
    parts = [self.text(expr.args[0]), self.text(expr.args[1]), _outputs(self, expr)]
    if "inplace_indices" in expr.attrs:
        parts.append(f"inplace_indices={attribute_text(expr.attrs['inplace_indices'])}")
    if len(expr.args) > 2:
        parts.append(f"tir_vars={self.text(expr.args[2])}")
    name = expr.op.name.removeprefix("relax.")
    infos = [types.tensor_info(kind) for kind in expr.type_args]
    spread = any(info is not None and info.place[:1] == ("mesh",) for info in infos)
    return self.call(f"dist.{name}" if spread else name, parts)


def _call_dps_packed(self: ExprPrinter, expr: nodes.Call) -> str:
    parts = [_quoted(expr.args[0]), self.text(expr.args[1]), _outputs(self, expr)]
    return self.call("call_dps_packed", parts)


def _call_pure_packed(self: ExprPrinter, expr: nodes.Call) -> str:
    parts = [_quoted(expr.args[0]), *map(self.text, expr.args[1:]), *_types(self, expr)]
    return self.call("call_pure_packed", parts)


def _memory_view(self: ExprPrinter, expr: nodes.Call) -> str:
    """By name, in TVM's order: what is not given need not be written."""
    shape, offset = [*expr.args[1:], None, None][:2]
    dtype = expr.attrs.get("dtype")
    parts = [self.text(expr.args[0])]
    if shape is not None:
        parts.append(f"shape={self.text(shape)}")
    if dtype is not None:
        parts.append(f"dtype={self.call('dtype', [literal(dtype)])}")
    if offset is not None:
        parts.append(f"relative_byte_offset={self.text(offset)}")
    return self.call("memory.view", parts)


def _call_form(self: ExprPrinter, expr: nodes.Call) -> str:
    name = expr.op.name
    form, callee = FORMS[name], expr.args[0]
    parts = [_quoted(callee) if form.callee == "string" else self.text(callee)]
    parts += map(self.text, expr.args[1:2] if form.sized else expr.args[1:])
    if form.outputs:
        parts.append(_outputs(self, expr))
    if form.sized and len(expr.args) > 2:
        parts.append(f"tir_vars={self.text(expr.args[2])}")
    parts += [f"{key}={attribute_text(expr.attrs[key])}" for key in form.attributes]
    if not form.outputs:
        parts += _types(self, expr)
    return self.call(name.removeprefix("relax."), parts)


_CALLS: dict[str, Callable[[ExprPrinter, nodes.Call], str]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir,
    "relax.call_dps_packed": _call_dps_packed,
    "relax.call_pure_packed": _call_pure_packed,
    "relax.memory.view": _memory_view,
    **dict.fromkeys(FORMS, _call_form),
}

_TEXTS: list[tuple[type[nodes.Expr], Callable[[ExprPrinter, Any], str]]] = [
    (nodes.Var, lambda self, expr: self.name(expr)),
    (nodes.Call, _call),
    (nodes.Constant, _constant),
    (AbsentConstant, lambda self, expr: self.metadata(expr)),
    (nodes.ShapeExpr, _shape),
    (nodes.PrimValue, _prim),
    (nodes.StringImm, lambda self, expr: self.call("str", [literal(expr.value)])),
    (nodes.DataTypeImm, lambda self, expr: self.call("dtype", [f'"{expr.value}"'])),
    (nodes.FunctionRef, lambda self, expr: self.global_name(expr.var.name_hint)),
    (nodes.ExternFunc, lambda self, expr: self.call("ExternFunc", [_quoted(expr)])),
    (nodes.Tuple, _tuple),
    (nodes.TupleGetItem, _tuple_get_item),
]
