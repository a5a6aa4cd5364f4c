"""Operators with effects, and those that say where a value lives: print, assert_op, null_value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]


def _print(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return types.tuple_type([])


def _assert(kinds: Kinds, attributes: Attributes) -> ir.Type:
    prim = types.prim_info(kinds[0])
    info = types.tensor_info(kinds[0])
    if prim is not None and prim[0] != "bool":
        raise InferError(f"the condition must be bool, got {types.describe(kinds[0])}")
    if prim is None and (info is None or info.ndim > 0 or info.dtype not in (None, "bool")):
        raise InferError(f"the condition must be a bool scalar, got {types.describe(kinds[0])}")
    return types.tuple_type([])


def _null(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return types.object_type()


def _same(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infer.tensor(kinds[0])
    return kinds[0]


def _moved(kinds: Kinds, attributes: Attributes) -> ir.Type:
    """The tensor on the other device; where its rank or dtype is not known, neither is that."""
    info = infer.tensor(kinds[0])
    if info.dtype is None or info.ndim < 0:
        return kinds[0]
    place = ("vdevice", str(attributes["dst_vdevice"]))
    return types.tensor_type(info.dims, info.dtype, info.ndim, place)


define("print", ["*values"], _print, {"format": ""}, pure=False, doc="Print values, by a format.")
define(
    "assert_op",
    ["condition", "*values"],
    _assert,
    {"format": ""},
    pure=False,
    doc="An AssertionError with the formatted values unless the condition holds.",
)
define("null_value", [], _null, doc="No object.")
define(
    "to_vdevice",
    ["data"],
    _moved,
    {"dst_vdevice": "llvm"},
    doc="A tensor on another device; on one device the tensor itself.",
)
define(
    "hint_on_device",
    ["data"],
    _same,
    {"dst_vdevice": "llvm", "memory_scope": "global"},
    doc="Says where a tensor should be computed; the tensor itself.",
)
