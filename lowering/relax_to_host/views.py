"""Tensors that are the memory of another one under another shape, dtype or start.

Inside a function a view costs nothing.  What leaves the function is a tensor of its own: the memory
itself where this function made it and nothing else of it leaves, else a copy.
"""

from __future__ import annotations

from relax_mlir.dialects import dims, dtypes
from relax_mlir.dialects.relax import types
from relax_mlir.lowering.relax_to_host.host_function import HostFunction, operation
from relax_mlir.lowering.relax_to_host.objects import as_tensor
from relax_mlir.lowering.relax_to_host.shapes import size_error
from relax_mlir.lowering.relax_to_host.values import PrimValue, ShapeValue, TensorValue
from relax_mlir.lowering.to_llvm.ffi_arguments import TensorValue as Tensor
from relax_mlir.mlir import ir

__all__: list[str] = []


def _source(host: HostFunction, op: ir.Operation) -> Tensor:
    info = types.tensor_info(op.operands[0].type)
    value = host.env[op.operands[0]]
    rank = info.ndim if info is not None else -1
    if not isinstance(value, TensorValue) and rank < 0:
        raise host.error(op, "the rank of the tensor is not known; use match_cast first")
    where = f"{host.name}: {op.name.removeprefix('relax.')}: "
    return as_tensor(host, value, op.operands[0].type, where, rank)


def _bind_view(
    host: HostFunction,
    op: ir.Operation,
    source: Tensor,
    data: str,
    shape: tuple[dims.Dim, ...],
    dtype: str,
) -> None:
    """The result: memory at `data`, in a tensor object if it leaves the function."""
    result = op.results[0]
    if not host.liveness.escapes(result):
        host.env[result] = Tensor(data, host.sizes(shape), dtype, shape)
        return
    slot = host.owned_slot(result)
    if source.any_slot is not None and host.liveness.is_shared(op):
        host.env[result] = host.new_view(source.any_slot, data, shape, dtype, slot)
        return
    made = host.new_tensor(shape, dtype, slot)
    size = host.values.value(types.size_in_bytes(shape, dtype))
    host.copy_memory(made.data, data, size)
    host.env[result] = made


@operation("relax.reshape")
def write_reshape(host: HostFunction, op: ir.Operation) -> None:
    source, shape = _source(host, op), host.env[op.operands[1]]
    if not isinstance(shape, ShapeValue):
        raise host.error(op, "the rank of the new shape is not known; use match_cast first")
    info = types.tensor_info(op.results[0].type)
    wanted = info.dims if info is not None and info.dims is not None else shape.dims
    _require_elements(host, op, source, wanted)
    _bind_view(host, op, source, source.data, wanted, source.dtype)


def _require_elements(
    host: HostFunction, op: ir.Operation, source: Tensor, wanted: tuple[dims.Dim, ...]
) -> None:
    """A reshaped tensor has as many elements as before."""
    given, asked = dims.product(source.dims), dims.product(wanted)
    if dims.equal(given, asked):
        return
    if dims.differ(given, asked):
        raise host.error(op, f"{given} elements cannot be reshaped to {asked}")
    text, values = host.text, host.values
    have, want = values.value(given), values.value(asked)
    where = f"{op.name.removeprefix('relax.')}: number of elements"
    bad = size_error(host, where, have, f" (= {given})", want)
    text.require(text.compare("eq", have, want), bad)


@operation("relax.memory_view")
def write_view(host: HostFunction, op: ir.Operation) -> None:
    text, source = host.text, _source(host, op)
    info = types.tensor_info(op.results[0].type)
    if info is None or info.dims is None or info.dtype is None:
        raise host.error(op, "the shape or dtype of the view is not known")
    offset, data = text.constant(0), source.data
    for value in list(op.operands)[1:]:
        start = host.env[value]
        if isinstance(start, PrimValue):
            offset = start.value
            data = text.offset(data, offset)
    have = host.values.value(types.size_in_bytes(source.dims, source.dtype))
    want = host.values.value(types.size_in_bytes(info.dims, info.dtype))
    end = text.binary("addi", offset, want)
    positive = text.compare("sge", offset, text.constant(0))
    inside = text.binary("andi", positive, text.compare("sle", end, have), "i1")
    text.require(inside, size_error(host, "memory.view: the view must end by byte", have, "", end))
    if dtypes.bits(info.dtype) % 8:
        raise host.error(op, "elements of less than a byte have no address")
    _bind_view(host, op, source, data, info.dims, info.dtype)
