"""Loops.  No `from __future__ import annotations`: the bindings evaluate the annotations."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.dialects.tir.plain import plain
from relax_mlir.mlir import ext, ir

KINDS = ("serial", "parallel", "vectorized", "unrolled", "thread_binding")


@plain
class ForOp(Tir.Operation, name="for", traits=[ir.NoTerminatorTrait]):
    """A loop over `[min, min + extent)` with step one; the body's argument is the index.

    `bounds` is `[min, extent]`, dynamic entries as operands.  `kind` is one of KINDS; a thread
    binding names its axis in the discardable attribute `thread` ("threadIdx.x").  Discardable:
    `annotations` (a dictionary) and `dtype` (the loop variable's TVM dtype when not int32).
    """

    kind: ir.StringAttr
    bounds: Any
    dynamic_bounds: Sequence[ext.Operand[Any]]
    body: ext.Region

    @property
    def _dynamic(self) -> list[ir.Value]:
        # Read without segment sizes, which text may leave out for a single group.
        return list(self.operation.operands)

    @property
    def min(self) -> int | ir.Value:
        return mixed.join(self.bounds, self._dynamic)[0]

    @property
    def extent(self) -> int | ir.Value:
        return mixed.join(self.bounds, self._dynamic)[1]

    @property
    def block(self) -> ir.Block:
        return self.body.blocks[0]

    @property
    def induction_variable(self) -> ir.BlockArgument:
        return self.block.arguments[0]

    def verify_invariants(self) -> bool:
        kind = self.kind.value
        if kind not in KINDS:
            return self._fail(f"kind '{kind}' is none of {', '.join(KINDS)}")
        if (kind == "thread_binding") != ("thread" in self.operation.attributes):
            return self._fail("a thread_binding loop, and only it, names its thread")
        if len(mixed.join(self.bounds, self._dynamic)) != 2:
            return self._fail("bounds must be [min, extent]")
        if any(not isinstance(v.type, ir.IndexType) for v in self._dynamic):
            return self._fail("bounds must be of index type")
        return True

    def verify_region_invariants(self) -> bool:
        arguments = [a.type for a in self.block.arguments] if len(self.body.blocks) == 1 else []
        if len(arguments) != 1 or not isinstance(arguments[0], ir.IndexType):
            return self._fail("the body must be one block with one index argument")
        return True

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"tir.for: {message}")
        return False
