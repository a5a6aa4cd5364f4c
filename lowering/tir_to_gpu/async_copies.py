"""`gpu-async-copies`: marked copies from global to shared memory that do not go through registers.

`cp.async` moves 4, 8 or 16 bytes.  A copy of another size, or one whose value has other uses, stays
a load and a store.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.buffers import is_workgroup
from relax_mlir.lowering.tir_to_gpu.inject_software_pipeline import ASYNC
from relax_mlir.mlir import ir, operations_named

__all__ = ["AsyncCopies"]

_SIZES = (4, 8, 16)
_CACHE_BYPASS = 16
"""Only copies of 16 bytes may pass by the first-level cache."""


@register_pass("gpu-async-copies")
@dataclass(frozen=True)
class AsyncCopies(Pass):
    """Turn marked loads and stores into nvgpu.device_async_copy."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            for op in operations_named(function, ["memref.store", "vector.store"]):
                if ASYNC in op.attributes:
                    del op.attributes[ASYNC]
                    _convert(op)


def _convert(store: ir.Operation) -> None:
    value, target, *indices = store.operands
    owner = value.owner
    load = None if isinstance(owner, ir.Block) else owner.operation
    if load is None or load.name not in ("memref.load", "vector.load"):
        return
    source, *source_indices = load.operands
    count = value.type.shape[-1] if isinstance(value.type, ir.VectorType) else 1
    element = ir.MemRefType(target.type).element_type
    size = count * element.width // 8
    uses = sum(1 for _ in value.uses)
    if not is_workgroup(target.type) or is_workgroup(source.type):
        return
    if uses != 1 or size not in _SIZES:
        return
    attributes: dict[str, ir.Attribute] = {
        "dstElements": ir.IntegerAttr.get(ir.IndexType.get(), count),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(
            [1, len(indices), 1, len(source_indices), 0]
        ),
    }
    if size == _CACHE_BYPASS:
        attributes["bypassL1"] = ir.UnitAttr.get()
    ir.Operation.create(
        "nvgpu.device_async_copy",
        results=[ir.Type.parse("!nvgpu.device.async.token")],
        operands=[target, *indices, source, *source_indices],
        attributes=attributes,
        loc=store.location,
        ip=ir.InsertionPoint(store),
    )
    store.erase()
    load.erase()
