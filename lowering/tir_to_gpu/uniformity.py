"""Which values are the same in all threads of a block."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.tir_to_gpu.memory_accesses import root_of
from relax_mlir.mlir import ir

__all__ = ["Uniformity"]

_DIFFERENT = ("gpu.thread_id", "gpu.lane_id", "gpu.shuffle", "gpu.subgroup_id")
_LOADS = ("memref.load", "vector.load")
_STORES = ("memref.store", "vector.store")
_PURE = ("arith.", "affine.", "math.", "vector.", "index.", "memref.dim", "gpu.block_", "gpu.grid_")


class Uniformity:
    """Answers for one kernel; `is_thread_id` tells the values that are the threads' numbers."""

    def __init__(self, is_thread_id: Callable[[ir.Value], bool]) -> None:
        self._is_thread_id = is_thread_id
        self._known: dict[ir.Value, bool] = {}
        self._private: dict[ir.Value, bool] = {}

    def enters_alike(self, op: ir.Operation) -> bool:
        """Whether all threads take the same way through an `scf.if` or loop."""
        if op.name == "scf.for":
            return all(self.is_uniform(v) for v in list(op.operands)[:3])
        if op.name == "scf.while":
            body = op.regions[0].blocks[0].operations
            return self.is_uniform(body[len(body) - 1].operation.operands[0])
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
            root = root_of(op.operands[0])
            if _is_private(root) and not self._holds_the_same(root):
                return False
            return all(self.is_uniform(v) for v in list(op.operands)[1:])
        if not op.name.startswith(_PURE):
            return not op.regions and self._is_from_outside(op)
        return all(self.is_uniform(v) for v in op.operands)

    def _holds_the_same(self, buffer: ir.Value) -> bool:
        """Whether a buffer that each thread has to itself is the same in all of them: all do the
        same with it.  That it was so before is taken for granted meanwhile: each of its values
        follows from those before."""
        if buffer not in self._private:
            # What is being asked, and so not known yet, may follow from this in turn.
            known, self._known = self._known, {}
            self._private[buffer] = True
            uses = [use.owner.operation for use in buffer.uses]
            if all(self._does_the_same(op) for op in uses):
                known.update(self._known)
            else:  # nothing that followed from the assumption is known
                self._private = {b: same for b, same in self._private.items() if not same}
                self._private[buffer] = False
            self._known = known
        return self._private[buffer]

    def _does_the_same(self, op: ir.Operation) -> bool:
        """Whether all threads run an operation on a buffer alike, and store the same."""
        if op.name in _LOADS:
            return True
        if op.name not in _STORES or not all(self.is_uniform(v) for v in _stored(op)):
            return False
        outer = op.parent
        while outer is not None and outer.operation.name not in ("gpu.launch", "gpu.func"):
            if not self.enters_alike(outer.operation):
                return False
            outer = outer.operation.parent
        return True

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


def _is_private(root: ir.Value) -> bool:
    """Whether each thread has a buffer to itself."""
    owner = root.owner
    made = not isinstance(owner, ir.Block) and owner.operation.name == "memref.alloca"
    return made and ir.MemRefType(root.type).memory_space is None


def _stored(op: ir.Operation) -> list[ir.Value]:
    """The value that a store writes, and the indices."""
    return [operand for operand in op.operands if not isinstance(operand.type, ir.MemRefType)]
