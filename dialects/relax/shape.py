"""Between tensors and shape values: shape_of, shape_to_tensor, tensor_to_shape, size; and
broadcast_shapes, which decides at run time what types leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import InferError, define
from relax_mlir.mlir import ir


def _shape_of(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    return types.shape_type(info.dims, info.ndim)


def _shape_to_tensor(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    shape = infer.shape_dims(kinds[0])
    return types.tensor_type(None if shape.ndim < 0 else (shape.ndim,), "int64", 1)


def _tensor_to_shape(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info = infer.tensor(kinds[0])
    infer.require_rank(info, 1, kinds[0])
    if info.dtype not in (None, "int64"):
        raise InferError(f"needs an int64 vector, got {types.describe(kinds[0])}")
    ndim = info.dims[0] if info.dims and isinstance(info.dims[0], int) else -1
    return types.shape_type(None, ndim)


def broadcast_shape(shapes: Sequence[Sequence[Dim]]) -> list[Dim | None]:
    """The shape that several broadcast to; None where only run time tells."""
    result: list[Dim | None] = []
    for back in range(max(map(len, shapes), default=0), 0, -1):
        sizes = [shape[-back] for shape in shapes if len(shape) >= back]
        wide = list(dict.fromkeys(dim_algebra.canonical(s) for s in sizes if s != 1)) or [1]
        fixed = [size for size in wide if isinstance(size, int)]
        if len(fixed) > 1:
            raise InferError(f"sizes {fixed[0]} and {fixed[1]} do not broadcast")
        result.append(wide[0] if len(wide) == 1 else None)
    return result


def _broadcast_shapes(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    shapes = [infer.shape_dims(kind) for kind in kinds]
    known = [shape.dims for shape in shapes if shape.dims is not None]
    if len(known) < len(shapes):
        ranks = [shape.ndim for shape in shapes]
        return types.shape_type(None, -1 if -1 in ranks else max(ranks))
    dims = broadcast_shape(known)
    plain = [dim for dim in dims if dim is not None]
    return types.shape_type(plain if len(plain) == len(dims) else None, len(dims))


def _size(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    infer.tensor(kinds[0])
    return types.tensor_type((), "int64")


define("shape_of", ["x"], _shape_of, doc="The shape of a tensor, as a shape value.")
define(
    "shape_to_tensor",
    ["shape"],
    _shape_to_tensor,
    kinds={"shape": "shape"},
    doc="A shape as an int64 vector.",
)
define("tensor_to_shape", ["x"], _tensor_to_shape, doc="An int64 vector as a shape.")
define("size", ["x"], _size, doc="The number of elements, an int64 scalar tensor.")
define(
    "broadcast_shapes",
    ["*shapes"],
    _broadcast_shapes,
    doc="The shape that shapes broadcast to; sizes that do not fit are an error at run time.",
)
