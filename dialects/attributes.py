"""Python values as MLIR attributes and back: one mapping for operator attributes, function
attributes and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir.mlir import ir


class Reference(str):
    """The name of a parameter or buffer that an attribute refers to; in MLIR a symbol (`@A`)."""


def integers(value: Any) -> list[int]:
    """The integers of an attribute that is one of them or a list."""
    return [value] if isinstance(value, int) else list(value)


def to_attribute(value: Any) -> ir.Attribute:
    """An attribute holding `value`.

    Integers become `i64`, floats `f64`, lists of integers `array<i64: ...>`, other lists and
    dictionaries nest.  Raises TypeError for anything else.
    """
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, ir.Type):
        return ir.TypeAttr.get(value)
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, Reference):
        return ir.FlatSymbolRefAttr.get(value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, Mapping):
        return ir.DictAttr.get({str(k): to_attribute(v) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        if all(isinstance(v, int) and not isinstance(v, bool) for v in value):
            return ir.DenseI64ArrayAttr.get(list(value))
        return ir.ArrayAttr.get([to_attribute(v) for v in value])
    if hasattr(value, "item"):  # numpy scalars
        return to_attribute(value.item())
    raise TypeError(f"a {type(value).__name__} cannot be kept as an attribute: {value!r}")


def from_attribute(attr: ir.Attribute) -> Any:
    """The Python value `to_attribute` would make `attr` from; unknown kinds come back as is."""
    if isinstance(attr, ir.UnitAttr):
        return None
    if isinstance(attr, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr, ir.TypeAttr)):
        return attr.value
    if isinstance(attr, ir.FlatSymbolRefAttr):
        return Reference(attr.value)
    if isinstance(attr, ir.DenseI64ArrayAttr):
        return list(attr)
    if isinstance(attr, ir.ArrayAttr):
        return [from_attribute(a) for a in attr]
    if isinstance(attr, ir.DictAttr):
        return {named.name: from_attribute(named.attr) for named in attr}
    return attr
