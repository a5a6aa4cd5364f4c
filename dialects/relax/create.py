"""Operators that make tensors from shapes and scalars: full, zeros, arange, eye, tril ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[Any]
Attributes = Mapping[str, Any]


def _required_dtype(attributes: Attributes) -> str:
    dtype = infer.dtype_attribute(attributes)
    if dtype is None:
        raise InferError("attribute 'dtype' is missing")
    return dtype


def _filled(kinds: Kinds, attributes: Attributes) -> ir.Type:
    shape = infer.shape_dims(kinds[0])
    return TensorInfo(shape.dims, _required_dtype(attributes), shape.ndim).to_type()


def _fill_value(kind: ir.Type) -> TensorInfo:
    info = infer.tensor_or_scalar(kind, "fill_value")
    infer.require_rank(info, 0, kind, "fill_value")
    return info


def _full(kinds: Kinds, attributes: Attributes) -> ir.Type:
    shape, value = infer.shape_dims(kinds[0]), _fill_value(kinds[1])
    dtype = infer.dtype_attribute(attributes) or value.dtype
    return TensorInfo(shape.dims, dtype, shape.ndim).to_type()


def _full_like(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "x")
    _fill_value(kinds[1])
    return info.with_dtype(infer.dtype_attribute(attributes) or info.dtype).to_type()


def _like(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "x")
    return info.with_dtype(infer.dtype_attribute(attributes) or info.dtype).to_type()


def _eye(kinds: Kinds, attributes: Attributes) -> ir.Type:
    rows = infer.scalar_int(kinds[0], "n")
    columns = rows if kinds[1] is None else infer.scalar_int(kinds[1], "m")
    if kinds[2] is not None:
        infer.scalar_int(kinds[2], "k")
    return TensorInfo((rows, columns), _required_dtype(attributes)).to_type()


def _eye_like(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infer.require_rank(infer.tensor(kinds[0], "x"), 2, kinds[0], "x")
    return _like(kinds, attributes)


def _arange(kinds: Kinds, attributes: Attributes) -> ir.Type:
    prims = [None if kind is None else types.prim_info(kind) for kind in kinds]
    if prims[0] is None or any(p is None for p, k in zip(prims, kinds, strict=True) if k):
        raise InferError("start, end and step must be scalars")
    dtype = infer.dtype_attribute(attributes) or _arange_dtype([p for p in prims if p])
    values = [None if prim is None else prim[1] for prim in prims]
    start, end, step = values
    if kinds[1] is None:
        start, end = 0, start
    if kinds[2] is None:
        step = 1
    if start is None or end is None or step is None:
        return TensorInfo(None, dtype, 1).to_type()
    return TensorInfo((arange_length(start, end, step),), dtype).to_type()


def _arange_dtype(prims: Sequence[tuple[str, Any]]) -> str:
    floats = [dtype for dtype, _ in prims if dtype.startswith("float")]
    return "float32" if floats else "int64"


def arange_length(start: Dim, end: Dim, step: Dim) -> Dim:
    """The number of values in [start, end) with a step."""
    if step == 0:
        raise InferError("step must not be zero")
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return len(range(start, end, step))
    if isinstance(step, int) and step < 0:
        return dim_algebra.ceildiv(dim_algebra.subtract(start, end), -step)
    return dim_algebra.ceildiv(dim_algebra.subtract(end, start), step)


def _triangle(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0], "x")
    if info.ndim in (0, 1):
        raise InferError(f"needs a tensor of rank two or more, got {types.describe(kinds[0])}")
    if kinds[1] is not None:
        infer.scalar_int(kinds[1], "k")
    return info.to_type()


def _hamming_window(kinds: Kinds, attributes: Attributes) -> ir.Type:
    size = infer.scalar_int(kinds[0], "window_size")
    dtype = _required_dtype(attributes)
    infer.require_float(TensorInfo((), dtype), types.tensor_type((), dtype))
    return TensorInfo((size,), dtype).to_type()


_SHAPE = {"shape": "shape"}

define(
    "full",
    ["shape", "fill_value"],
    _full,
    {"dtype": None},
    kinds=_SHAPE,
    doc="A tensor with every element fill_value, a scalar tensor.",
)
define("full_like", ["x", "fill_value"], _full_like, {"dtype": None}, doc="full with x's shape.")
for _name, _value in (("zeros", "zero"), ("ones", "one")):
    define(
        _name,
        ["shape"],
        _filled,
        {"dtype": REQUIRED},
        kinds=_SHAPE,
        doc=f"A tensor with every element {_value}.",
    )
    define(f"{_name}_like", ["x"], _like, {"dtype": None}, doc=f"{_name} with x's shape.")
define(
    "eye",
    ["n", "m?", "k?"],
    _eye,
    {"dtype": "float32"},
    kinds={"n": "prim", "m": "prim", "k": "prim"},
    doc="Ones on diagonal k of an n by m matrix, zeros elsewhere.",
)
define(
    "eye_like",
    ["x", "k?"],
    _eye_like,
    {"dtype": None},
    kinds={"k": "prim"},
    doc="eye with x's shape.",
)
define(
    "arange",
    ["start", "end?", "step?"],
    _arange,
    {"dtype": None},
    kinds={"start": "prim", "end": "prim", "step": "prim"},
    doc="The values start, start + step ... below end; arange(end) starts at zero.",
)
for _name, _kept in (("tril", "below"), ("triu", "above")):
    define(
        _name,
        ["x", "k?"],
        _triangle,
        kinds={"k": "prim"},
        doc=f"Keeps what is on or {_kept} diagonal k of the last two dimensions.",
    )
define(
    "hamming_window",
    ["window_size", "periodic", "alpha", "beta"],
    _hamming_window,
    {"dtype": "float32"},
    kinds=dict.fromkeys(("window_size", "periodic", "alpha", "beta"), "prim"),
    doc="alpha - beta cos(2 pi i / (N - 1)); N is one more when periodic.",
)
