"""Operators of programs for several devices: collectives, and tensors spread over device meshes.

They are checked, printed and parsed; code for several processes is not generated
(`relax-remove-vdevice` says so).

No `from __future__ import annotations` here: the bindings evaluate the field annotations.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import infer, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.dialects.relax.structure import VariadicOperation
from relax_mlir.mlir import ext, ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]

REDUCTIONS = ("sum", "prod", "min", "max", "avg")


def _same(kinds: Kinds, attributes: Attributes) -> ir.Type:
    return infer.tensor(kinds[0]).to_type()


def _allreduce(kinds: Kinds, attributes: Attributes) -> ir.Type:
    if attributes["op_type"] not in REDUCTIONS:
        raise InferError(f"op_type is one of {', '.join(REDUCTIONS)}, not {attributes['op_type']}")
    return _same(kinds, attributes)


def _workers(attributes: Attributes) -> int:
    count = attributes["num_workers"]
    if not isinstance(count, int) or count < 1:
        raise InferError(f"num_workers must be a positive integer, got {count}")
    return count


def _allgather(kinds: Kinds, attributes: Attributes) -> ir.Type:
    """The workers' tensors behind one another along the first axis."""
    info, count = infer.tensor(kinds[0]), _workers(attributes)
    if info.ndim == 0:
        raise InferError("a scalar cannot be gathered: it has no axis")
    if info.dims is None:
        return info.to_type()
    first, *rest = info.dims
    return info.with_dims([dim_algebra.multiply(first, count), *rest]).to_type()


def _parts(kinds: Kinds, attributes: Attributes) -> ir.Type:
    """A part of the tensor along an axis."""
    info, count = infer.tensor(kinds[0]), _workers(attributes)
    if info.dims is None:
        return info.to_type()
    axis = infer.normalize_axis(attributes["axis"], info.ndim)
    sizes, whole = list(info.dims), info.dims[axis]
    if isinstance(whole, int) and whole % count:
        raise InferError(f"dimension {axis} is {whole}, which {count} workers cannot share")
    sizes[axis] = dim_algebra.exact_divide(whole, count)
    return info.with_dims(sizes).to_type()


def _redistribute(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = infer.tensor(kinds[0])
    place = ("mesh", str(attributes["device_mesh"]), str(attributes["placement"]))
    try:
        return types.tensor_type(info.dims, info.dtype, info.ndim, place)
    except ValueError as error:
        raise InferError(str(error)) from None


class CallTIRLocalViewOp(VariadicOperation, name="dist_call_tir_local_view", traits=[ext.Pure]):
    """`R.dist.call_tir_local_view`: as call_tir, each worker with its parts of the tensors.
    A shape at the end of the arguments is `tir_vars`."""

    callee: ir.FlatSymbolRefAttr
    arguments: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]


_MESH = {"device_mesh": REQUIRED, "placement": REQUIRED}

define(
    "ccl.allreduce",
    ["x"],
    _allreduce,
    {"op_type": "sum", "in_group": True},
    doc="The workers' tensors reduced to one, which every worker gets.",
)
define(
    "ccl.allgather",
    ["x"],
    _allgather,
    {"num_workers": REQUIRED, "in_group": True},
    doc="The workers' tensors behind one another, which every worker gets.",
)
define("ccl.broadcast_from_worker0", ["x"], _same, doc="The tensor of the first worker.")
define(
    "ccl.scatter_from_worker0",
    ["x"],
    _parts,
    {"num_workers": REQUIRED, "axis": 0},
    doc="The worker's part of the first worker's tensor.",
)
define(
    "dist.annotate_sharding",
    ["input"],
    _same,
    _MESH,
    doc="The tensor, with how it shall be spread over a device mesh.",
)
define(
    "dist.redistribute",
    ["input"],
    _redistribute,
    _MESH,
    doc="The tensor spread over a device mesh in another way.",
)
define(
    "dist.redistribute_replica_to_shard",
    ["input"],
    _parts,
    {"num_workers": REQUIRED, "axis": REQUIRED},
    doc="The worker's part of a tensor that every worker has.",
)
