"""Blocks: the unit of computation and scheduling.

No `from __future__ import annotations`: the bindings evaluate the annotations.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.dialect import Tir
from relax_mlir.dialects.tir.plain import plain
from relax_mlir.mlir import ext, ir

ITER_KINDS = ("S", "R", "O", "D")
"""Iteration kinds as TVM abbreviates them: spatial, reduce, opaque, data-parallel scan ("D")."""


@lru_cache(maxsize=256)
def _strings(kinds: ir.Attribute) -> tuple[str, ...]:
    return tuple(ir.StringAttr(kind).value for kind in ir.ArrayAttr(kinds))


@plain
class BlockOp(Tir.Operation, name="block", traits=[ir.NoTerminatorTrait]):
    """`with T.sblock(name):` and its realization.

    The body's arguments are the block's iteration variables.  For each one `iter_kinds` holds its
    kind, `domains` its `[min, extent]` pair (flattened, dynamic entries as operands), and
    `bindings` the value it takes.  `predicate` is an optional i1.  The body starts with `tir.read`
    and `tir.write` operations that declare the accessed regions, then at most one `tir.init`.
    Discardable: `annotations` (a dictionary), `iter_dtype` (TVM dtype when not int32).
    """

    sym_name: ir.StringAttr
    iter_kinds: ir.ArrayAttr
    domains: Any
    bindings: Sequence[ext.Operand[Any]]
    dynamic_domains: Sequence[ext.Operand[Any]]
    predicate: Sequence[ext.Operand[Any]]
    body: ext.Region

    @property
    def block(self) -> ir.Block:
        return self.body.blocks[0]

    @property
    def iter_vars(self) -> list[ir.BlockArgument]:
        return list(self.block.arguments)

    @property
    def kinds(self) -> list[str]:
        return list(_strings(self.iter_kinds))

    @property
    def domain_pairs(self) -> list[tuple[int | ir.Value, int | ir.Value]]:
        """(min, extent) of each iteration variable."""
        flat = mixed.join(self.domains, list(self.dynamic_domains))
        return list(zip(flat[::2], flat[1::2], strict=True))

    def verify_invariants(self) -> bool:
        kinds = self.kinds
        unknown = [kind for kind in kinds if kind not in ITER_KINDS]
        if unknown:
            return self._fail(f"iteration kind '{unknown[0]}' is none of {', '.join(ITER_KINDS)}")
        if len(self.bindings) != len(kinds):
            return self._fail(f"{len(kinds)} iteration variables, {len(self.bindings)} bindings")
        if len(mixed.join(self.domains, list(self.dynamic_domains))) != 2 * len(kinds):
            return self._fail("domains must hold a [min, extent] pair for each variable")
        if len(self.predicate) > 1:
            return self._fail("at most one predicate")
        return True

    def verify_region_invariants(self) -> bool:
        if len(self.body.blocks) != 1:
            return self._fail("the body must be one block")
        arguments = [a.type for a in self.block.arguments]
        if len(arguments) != len(self.kinds):
            return self._fail(f"{len(self.kinds)} iteration kinds, {len(arguments)} arguments")
        inits = [op for op in self.block.operations if op.operation.name == "tir.init"]
        if len(inits) > 1:
            return self._fail("at most one tir.init")
        return True

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"tir.block @{self.sym_name.value}: {message}")
        return False


@plain
class InitOp(Tir.Operation, name="init", traits=[ir.NoTerminatorTrait]):
    """`with T.init():` runs when every reduce variable is at the start of its domain."""

    body: ext.Region

    def verify_invariants(self) -> bool:
        parent = self.operation.parent
        if parent is None or parent.name != "tir.block":
            self.location.emit_error("tir.init: must be directly inside a tir.block")
            return False
        return True


class AccessOp(Tir.Operation):
    """A region of a buffer: `offsets` and `sizes`, one of each a dimension."""

    offsets: Any
    sizes: Any
    buffer: ext.Operand[Any]
    dynamic_offsets: Sequence[ext.Operand[Any]]
    dynamic_sizes: Sequence[ext.Operand[Any]]

    @property
    def mixed_offsets(self) -> list[int | ir.Value]:
        return mixed.join(self.offsets, list(self.dynamic_offsets))

    @property
    def mixed_sizes(self) -> list[int | ir.Value]:
        return mixed.join(self.sizes, list(self.dynamic_sizes))

    def verify_invariants(self) -> bool:
        kind = self.buffer.type
        rank = kind.rank if isinstance(kind, ir.MemRefType) else -1
        if rank < 0 or len(self.mixed_offsets) != rank or len(self.mixed_sizes) != rank:
            self.location.emit_error(f"{self.operation.name}: one offset and size a dimension")
            return False
        return True


@plain
class ReadOp(AccessOp, name="read"):
    """One region of `T.reads(...)`."""


@plain
class WriteOp(AccessOp, name="write"):
    """One region of `T.writes(...)`."""
