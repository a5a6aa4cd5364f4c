"""Python functions from the rows of the operator table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax.spec import REQUIRED, OpSpec
from relax_mlir.relax import symbols
from relax_mlir.relax.expr import (
    Call,
    DataTypeImm,
    Expr,
    Op,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    as_expr,
    const,
)
from relax_mlir.relax.struct_info import device_text

_EMPTY = inspect.Parameter.empty


@cache
def _signature(spec_name: str, operands: tuple[str, ...], attributes: tuple[Any, ...]) -> Any:
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(name.strip("*?"), positional, default=None if name[-1] == "?" else _EMPTY)
        for name in operands
    ]
    optional = any(p.default is not _EMPTY for p in parameters)
    for name, default in attributes:
        required = default is REQUIRED and not optional
        optional = optional or not required
        parameters.append(
            inspect.Parameter(name, positional, default=_EMPTY if required else default)
        )
    return inspect.Signature(parameters)


def signature_of(spec: OpSpec) -> inspect.Signature:
    """The Python signature of an operator: its operands, then its attributes."""
    attributes = tuple((n, _hashable(v)) for n, v in spec.attributes.items())
    return _signature(spec.name, spec.operands, attributes)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def operator_function(spec: OpSpec) -> Callable[..., Call]:
    """The function that makes a call of the operator."""
    signature = signature_of(spec)
    op = Op.get(f"relax.{spec.name}")

    def function(*args: Any, **keywords: Any) -> Call:
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError as error:
            raise TypeError(f"R.{spec.name}{signature}: {error}") from None
        return make_call(spec, op, bound.arguments)

    function.__name__ = function.__qualname__ = spec.name.rpartition(".")[2]
    function.__doc__ = spec.doc or f"The operator `relax.{spec.name}`."
    function.__signature__ = signature
    return function


def make_call(spec: OpSpec, op: Op, arguments: Mapping[str, Any]) -> Call:
    """A call from values by name: operands become expressions, attributes plain values."""
    values = [arguments.get(name) for name in spec.operand_names]
    like = next((v for v in values if isinstance(v, Expr) and _is_tensor(v)), None)
    operands = [
        _operand(spec, declared, value, like)
        for declared, value in zip(spec.operands, values, strict=True)
    ]
    while operands and operands[-1] is None:
        operands.pop()
    attributes = {
        name: _attribute(name, arguments[name], spec.attributes[name])
        for name in spec.attributes
        if name in arguments and arguments[name] is not REQUIRED
    }
    listed = _LISTS.get(spec.name)
    if listed is not None and isinstance(attributes.get(listed), int):
        attributes[listed] = [attributes[listed]]
    return Call(op, operands, attributes)


def _is_tensor(value: Expr) -> bool:
    from relax_mlir.dialects.relax import types

    return types.is_tensor(value.mlir_type)


def _operand(spec: OpSpec, declared: str, value: Any, like: Expr | None) -> Expr | None:
    if value is None:
        return None
    if declared.startswith("*"):
        return _operand_tuple(value, like)
    name = declared.rstrip("?")
    kind = spec.kinds.get(name, "shape" if name == "shape" else "tensor")
    return _CONVERT[kind](value, like)


def _shape(value: Any, like: Expr | None) -> Expr:
    """A shape from dimensions in any form: a list, a tuple of scalars, one dimension."""
    if isinstance(value, Tuple) and all(isinstance(item, PrimValue) for item in value.fields):
        value = value.fields
    if isinstance(value, Expr) and not isinstance(value, PrimValue):
        return value
    return ShapeExpr(value if isinstance(value, (tuple, list)) else [value])


def _scalar(value: Any, like: Expr | None) -> Expr:
    return value if isinstance(value, Expr) else PrimValue(value)


def _tensor(value: Any, like: Expr | None) -> Expr:
    if isinstance(value, (tuple, list)) and not any(isinstance(item, Expr) for item in value):
        return const(value, like.dtype if like is not None else None)
    return as_expr(value, like)


_CONVERT: dict[str, Callable[[Any, Expr | None], Expr]] = {
    "shape": _shape,
    "prim": _scalar,
    "tensor": _tensor,
}


def _operand_tuple(value: Any, like: Expr | None) -> Expr:
    if isinstance(value, Expr) and not isinstance(value, Tuple) and _is_tensor(value):
        return Tuple([value])
    if isinstance(value, Expr):
        return value
    if not isinstance(value, (tuple, list)):
        value = [value]
    return Tuple([as_expr(item, like) for item in value])


# Attributes that TVM keeps as lists, also where one integer is given.
_LISTS: dict[str, str] = {
    **dict.fromkeys("max mean min prod std sum variance median".split(), "axis"),
    **dict.fromkeys("expand_dims squeeze".split(), "axis"),
    **dict.fromkeys("nn.layer_norm nn.rms_norm nn.group_norm nn.instance_norm".split(), "axes"),
}


def _attribute(name: str, value: Any, default: Any) -> Any:
    """A plain Python value; dtypes by name, symbolic integers as text."""
    if isinstance(value, PrimValue):
        value = value.number if value.dim is None else value.dim
    if isinstance(value, (StringImm, DataTypeImm)):
        value = value.value
    if isinstance(value, Expr):
        raise TypeError(f"'{name}' is an attribute: it takes a plain value, not an expression")
    if "dtype" in name:
        return _dtype(value, default)
    if name.endswith("vdevice") and not isinstance(value, str):
        return device_text(value)
    if isinstance(value, symbols.tir.FloatImm):
        return float(value.value)
    if isinstance(value, symbols.tir.PrimExpr):
        return symbols.to_dim(value)
    if isinstance(value, (tuple, list)):
        return [_attribute("", item, None) for item in value]
    if hasattr(value, "item") and not isinstance(value, (int, float, str)):
        return value.item()
    return value


def _dtype(value: Any, default: Any) -> Any:
    if value is None or (isinstance(value, str) and value in ("", "void")):
        return "void" if default == "void" else None
    return dtypes.canonical(value)
