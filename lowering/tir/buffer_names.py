"""Whether a buffer has other names: views of it, or its address."""

from __future__ import annotations

from relax_mlir.mlir import ir

__all__ = ["ALLOCATIONS", "has_one_name", "is_allocated"]

_LOADS = ("memref.load", "vector.load", "vector.maskedload", "vector.gather", "memref.dim")

ALLOCATIONS = ("tir.alloc_buffer", "memref.alloc", "memref.alloca", "gpu.alloc")
"""Operations that make a buffer which nothing else can reach."""


def is_allocated(buffer: ir.Value) -> bool:
    """Whether a buffer is the result of an allocation."""
    owner = buffer.owner
    return not isinstance(owner, ir.Block) and owner.operation.name in ALLOCATIONS


def has_one_name(buffer: ir.Value) -> bool:
    """Whether nothing makes a view of a buffer or takes its address."""
    users = [use.owner.operation for use in buffer.uses]
    others = [user for user in users if user.name not in _LOADS]
    return not any(_names_memory(result.type) for user in others for result in user.results)


def _names_memory(kind: ir.Type) -> bool:
    return isinstance(kind, ir.MemRefType) or str(kind).startswith("!llvm.ptr")
