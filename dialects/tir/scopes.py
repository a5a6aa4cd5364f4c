"""Scopes with an attribute, and the reducers they name.

No `from __future__ import annotations`: the bindings evaluate the annotations.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.calls import VariadicOperation
from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.dialects.tir.pointers import is_pointer
from relax_mlir.mlir import ext, ir


class AttrOp(Tir.Operation, name="attr", traits=[ir.NoTerminatorTrait]):
    """`with T.attr(node, key, value):`: what holds for the statements inside.

    `node` and `value` are operands, or the discardable attributes of these names where they are
    constants (strings, numbers, dictionaries).
    """

    key: ir.StringAttr
    node: Sequence[ext.Operand[Any]]
    value: Sequence[ext.Operand[Any]]
    body: ext.Region

    def verify_invariants(self) -> bool:
        attributes = self.operation.attributes
        segments = list(ir.DenseI32ArrayAttr(attributes["operandSegmentSizes"]))
        for name, count in zip(("node", "value"), segments, strict=True):
            if count + (name in attributes) != 1:
                message = f"the {name} is one operand or the attribute '{name}'"
                self.location.emit_error(f"tir.attr '{self.key.value}': {message}")
                return False
        return True

    def verify_region_invariants(self) -> bool:
        # Text of an empty body has no block.
        blocks = list(self.body.blocks)
        if not blocks or (len(blocks) == 1 and not len(blocks[0].arguments)):
            return True
        self.location.emit_error(
            f"tir.attr '{self.key.value}': the body must be one block without arguments"
        )
        return False


class CommReducerOp(VariadicOperation, name="comm_reducer", traits=[ir.NoTerminatorTrait]):
    """`T.comm_reducer(lambda x, y: x + y, [identity])`: what an allreduce combines with.

    The body takes the left and the right values, one of each an identity, and ends with a
    `tir.yield` of the results.  The result, a handle, is the node of a `tir.attr`.
    """

    identities: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]
    body: ext.Region

    def verify_invariants(self) -> bool:
        if is_pointer(self.operation.results[0].type):
            return True
        return self._fail(f"gives an !llvm.ptr, not {self.operation.results[0].type}")

    def verify_region_invariants(self) -> bool:
        kinds = [value.type for value in self.operation.operands]
        block = self.body.blocks[0] if len(self.body.blocks) == 1 else None
        if block is None or [a.type for a in block.arguments] != [*kinds, *kinds]:
            return self._fail("the body takes two values for each identity")
        last = list(block.operations)[-1].operation if len(block.operations) else None
        if last is None or last.name != "tir.yield":
            return self._fail("the body ends with a tir.yield")
        if [value.type for value in last.operands] != kinds:
            return self._fail("the tir.yield gives one value for each identity")
        return True

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"tir.comm_reducer: {message}")
        return False


class YieldOp(VariadicOperation, name="yield"):
    """The results of a `tir.comm_reducer`."""

    values: Sequence[ext.Operand[Any]]

    def verify_invariants(self) -> bool:
        parent = self.operation.parent
        if parent is None or parent.name != "tir.comm_reducer":
            self.location.emit_error("tir.yield: must be directly inside a tir.comm_reducer")
            return False
        return True
