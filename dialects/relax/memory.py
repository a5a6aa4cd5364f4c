"""Operators of programs whose memory was planned by hand: storage, tensors in it, their end.

Host functions plan memory of their own: storage here is a name, and a tensor in it is a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]

_DEVICE = {"runtime_device_index": 0, "storage_scope": "global"}


def _storage(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infer.shape_dims(kinds[0], "size")
    infer.dtype_attribute(attributes)
    return types.object_type()


def _tensor_of(kind: ir.Type, attributes: Attributes) -> ir.Type:
    shape = infer.shape_dims(kind)
    return types.tensor_type(shape.dims, infer.dtype_attribute(attributes), shape.ndim)


def _tensor(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return _tensor_of(kinds[0], attributes)


def _tensor_in_storage(kinds: Kinds, attributes: Attributes) -> ir.Type:
    if types.tensor_info(kinds[0]) is not None:
        raise InferError(f"needs storage, got {types.describe(kinds[0])}")
    return _tensor_of(kinds[2], attributes)


def _nothing(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return types.tuple_type([])


def _view(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    dtype = infer.dtype_attribute(attributes) or info.dtype
    shape = None if kinds[1] is None else infer.shape_dims(kinds[1])
    dims, ndim = (info.dims, info.ndim) if shape is None else (shape.dims, shape.ndim)
    unchanged = kinds[2] is None and dtype == info.dtype
    if unchanged and info.dims is not None and dims is not None:
        given, wanted = dim_algebra.product(info.dims), dim_algebra.product(dims)
        if isinstance(given, int) and isinstance(wanted, int) and wanted > given:
            raise InferError(f"a view of {given} elements cannot have {wanted}")
    return types.tensor_type(dims, dtype, ndim)


def _same(kinds: Kinds, attributes: Attributes) -> ir.Type:
    infer.tensor(kinds[0])
    return kinds[0]


define(
    "builtin.alloc_tensor",
    ["shape"],
    _tensor,
    {"dtype": REQUIRED, **_DEVICE},
    pure=False,
    doc="A new tensor.",
)
_STORAGE: dict[str, dict[str, Any]] = {
    "memory": {"virtual_device_index": 0, "storage_scope": "global", "dtype": "uint8"},
    "vm": {"runtime_device_index": 0, "dtype": "uint8", "storage_scope": "global"},
}
for _space, _where in _STORAGE.items():
    _index = next(name for name in _where if name.endswith("index"))
    define(
        f"{_space}.alloc_storage",
        ["size"],
        _storage,
        _where,
        pure=False,
        kinds={"size": "shape"},
        doc="Memory for tensors.",
    )
    define(
        f"{_space}.alloc_tensor",
        ["storage", "offset", "shape"],
        _tensor_in_storage,
        {"dtype": REQUIRED, _index: 0},
        pure=False,
        kinds={"offset": "prim"},
        doc="A tensor in storage.",
    )
for _name in ("memory.kill_storage", "memory.kill_tensor", "vm.kill_object"):
    define(_name, ["value"], _nothing, pure=False, doc="The value is not used from here on.")
define(
    "memory.view",
    ["data", "shape?", "relative_byte_offset?"],
    _view,
    {"dtype": None},
    kinds={"relative_byte_offset": "prim"},
    doc="The memory of a tensor under another shape or dtype, or from a byte on.",
)
define("memory.ensure_zero_offset", ["data"], _same, doc="The tensor, starting at its memory.")
