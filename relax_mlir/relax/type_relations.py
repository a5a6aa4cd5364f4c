"""Order among the types of Relax values: which says more, and what two have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.dialect import CallableType, ObjectType
from relax_mlir.mlir import ir

Info = TypeVar("Info")


def _both(
    read: Callable[[ir.Type], Info | None], a: ir.Type, b: ir.Type
) -> tuple[Info, Info] | None:
    """What `read` says of two types, when both are of its kind."""
    x, y = read(a), read(b)
    return None if x is None or y is None else (x, y)


def is_base_of(base: ir.Type, derived: ir.Type) -> bool:
    """True when every value of type `derived` provably has type `base`."""
    if base == derived or isinstance(base, ObjectType):
        return True
    if types.conflict(base, derived) is not None or isinstance(derived, ObjectType):
        return False
    tensors = _both(types.tensor_info, base, derived)
    if tensors is not None:
        return tensors[0].dtype in (None, tensors[1].dtype) and _dims_base(*tensors)
    shapes = _both(types.shape_info, base, derived)
    if shapes is not None:
        return _dims_base(*shapes)
    fields = _both(types.tuple_fields, base, derived)
    if fields is not None:
        return all(is_base_of(b, d) for b, d in zip(*fields, strict=True))
    prims = _both(types.prim_info, base, derived)
    if prims is not None:
        return prims[0][1] is None or prims[0][1] == prims[1][1]
    return isinstance(base, CallableType)


def _dims_base(
    base: types.TensorInfo | types.ShapeInfo, derived: types.TensorInfo | types.ShapeInfo
) -> bool:
    if base.dims is None:
        return base.ndim in (-1, derived.ndim)
    return derived.dims is not None and all(map(dim_algebra.equal, base.dims, derived.dims))


def join(a: ir.Type, b: ir.Type) -> ir.Type:
    """The most precise type that values of either type have (TVM: `type_lca`)."""
    if is_base_of(a, b):
        return a
    if is_base_of(b, a):
        return b
    tensors = _both(types.tensor_info, a, b)
    if tensors is not None:
        dtype = tensors[0].dtype if tensors[0].dtype == tensors[1].dtype else None
        dims, ndim = _common_dims(*tensors)
        return types.tensor_type(dims, dtype, ndim)
    shapes = _both(types.shape_info, a, b)
    if shapes is not None:
        dims, ndim = _common_dims(*shapes)
        return types.shape_type(dims, ndim)
    fields = _both(types.tuple_fields, a, b)
    if fields is not None and len(fields[0]) == len(fields[1]):
        return types.tuple_type([join(x, y) for x, y in zip(*fields, strict=True)])
    prims = _both(types.prim_info, a, b)
    if prims is not None and prims[0][0] == prims[1][0]:
        return types.prim_type(prims[0][0])
    functions = (ir.FunctionType, CallableType)
    if isinstance(a, functions) and isinstance(b, functions):
        return types.callable_type()
    return types.object_type()


def _common_dims(
    a: types.TensorInfo | types.ShapeInfo, b: types.TensorInfo | types.ShapeInfo
) -> tuple[tuple[Dim, ...] | None, int]:
    if a.ndim != b.ndim:
        return None, -1
    if a.dims is None or b.dims is None or not all(map(dim_algebra.equal, a.dims, b.dims)):
        return None, a.ndim
    return a.dims, a.ndim


def match_symbols(pattern: ir.Type, kind: ir.Type, values: dict[str, Dim]) -> None:
    """Bind the symbols that stand alone in `pattern` to what `kind` has in their place.

    The first occurrence of a symbol decides; `values` is filled in place.
    """
    fields = _both(types.tuple_fields, pattern, kind)
    if fields is not None:
        for p, k in zip(*fields, strict=False):
            match_symbols(p, k, values)
        return
    infos = [types.tensor_info(k) or types.shape_info(k) for k in (pattern, kind)]
    if infos[0] is not None and infos[1] is not None:
        for p, k in zip(infos[0].dims or (), infos[1].dims or (), strict=False):
            if dim_algebra.is_symbol(p):
                values.setdefault(str(p), k)


def forget_symbols(kind: ir.Type, known: set[str]) -> ir.Type:
    """`kind` without the dimensions that mention a symbol which is not in `known`."""
    fields = types.tuple_fields(kind)
    if fields is not None:
        return types.tuple_type([forget_symbols(field, known) for field in fields])
    if set(types.symbols_of(kind)) <= known:
        return kind
    tensor = types.tensor_info(kind)
    if tensor is not None:
        return types.tensor_type(None, tensor.dtype, tensor.ndim)
    shape = types.shape_info(kind)
    if shape is not None:
        return types.shape_type(None, shape.ndim)
    prim = types.prim_info(kind)
    return kind if prim is None else types.prim_type(prim[0])
