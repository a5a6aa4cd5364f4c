"""Which values are the same in all threads of a block."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.tir_to_gpu.memory_accesses import root_of
from relax_mlir.mlir import ir

__all__ = ["Uniformity"]

_DIFFERENT = ("gpu.thread_id", "gpu.lane_id", "gpu.shuffle", "gpu.subgroup_id")
_LOADS = ("memref.load", "vector.load")
_PURE = ("arith.", "affine.", "math.", "vector.", "index.", "memref.dim", "gpu.block_", "gpu.grid_")


class Uniformity:
    """Answers for one kernel; `is_thread_id` tells the values that are the threads' numbers."""

    def __init__(self, is_thread_id: Callable[[ir.Value], bool]) -> None:
        self._is_thread_id = is_thread_id
        self._known: dict[ir.Value, bool] = {}

    def enters_alike(self, op: ir.Operation) -> bool:
        """Whether all threads take the same way through an `scf.if` or loop."""
        if op.name == "scf.for":
            return all(self.is_uniform(v) for v in list(op.operands)[:3])
        if op.name == "scf.while":
            return False
        return all(self.is_uniform(v) for v in op.operands)

    def is_uniform(self, value: ir.Value) -> bool:
        """Whether all threads of a block have the same value."""
        if value not in self._known:
            self._known[value] = False  # a cycle through a loop is not known to be uniform
            self._known[value] = self._compute(value)
        return self._known[value]

    def _compute(self, value: ir.Value) -> bool:
        if self._is_thread_id(value):
            return False
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self._argument(value, owner)
        op = owner.operation
        if op.name in _DIFFERENT:
            return False
        if op.name in _LOADS:
            root = root_of(op.operands[0]).owner
            private = not isinstance(root, ir.Block) and root.operation.name == "memref.alloca"
            shared = ir.MemRefType(op.operands[0].type).memory_space is not None
            reachable = shared or not private
            return reachable and all(self.is_uniform(v) for v in list(op.operands)[1:])
        if not op.name.startswith(_PURE):
            return not op.regions and self._is_from_outside(op)
        return all(self.is_uniform(v) for v in op.operands)

    def _argument(self, value: ir.Value, block: ir.Block) -> bool:
        parent = block.owner.operation
        if parent.name in ("gpu.launch", "func.func", "gpu.func"):
            return True
        if parent.name != "scf.for" or ir.BlockArgument(value).arg_number:
            return False
        return all(self.is_uniform(v) for v in list(parent.operands)[:3])

    def _is_from_outside(self, op: ir.Operation) -> bool:
        """Whether an operation is host code: its results are what the launch was given."""
        outer = op.parent
        while outer is not None:
            if outer.operation.name in ("gpu.launch", "gpu.func"):
                return False
            outer = outer.operation.parent
        return True
