"""Which values of a function need a name of their own to be printed.

A pure value is printed where it is used.  A value that reads memory may be printed there too, but
only if nothing that writes stands between: otherwise it is printed as a variable where it is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from relax_mlir.dialects.names import name_of
from relax_mlir.mlir import ir
from relax_mlir.tir.low_level import PURE

_READS = ("memref.load", "vector.load", "vector.maskedload", "vector.gather")
_HEADER = (
    "tir.read", "tir.write", "memref.dim", "tir.alloc_buffer", "tir.decl_buffer", "memref.subview",
    "tir.alloc_const", "tir.free_variable",
)  # fmt: skip


def needs_name(op: ir.Operation, statements: Collection[str]) -> bool:
    """True for a value that reads memory and is used after, or inside, another statement."""
    if not _reads_memory(op):
        return False
    home = op.block
    between = _statement_positions(home, statements)
    position = _position(home, op)
    for user in _consumers(op, statements):
        inside = _ancestor_in(home, user)
        if inside is None:
            return True
        end = _position(home, inside)
        if any(position < p < end for p in between):
            return True
        if inside != user and _loops(inside):
            return True
    return False


def _reads_memory(op: ir.Operation) -> bool:
    if op.name in _READS or _has_effects(op):
        return True
    return any(
        _reads_memory(child.operation)
        for region in op.regions
        for block in region.blocks
        for child in block.operations
    )


def _has_effects(op: ir.Operation) -> bool:
    """Whether an operation is a call of anything but a pure intrinsic."""
    if op.name != "tir.call":
        return False
    return ir.StringAttr(op.attributes["callee"]).value not in PURE


def _consumers(op: ir.Operation, statements: Collection[str]) -> Iterator[ir.Operation]:
    """The statements that use a value, through the expressions it is part of."""
    for result in op.results:
        for use in result.uses:
            user = use.owner.operation
            named = any(name_of(value) is not None for value in user.results)
            statement = user.name in statements and not (user.name == "scf.if" and user.results)
            if named or statement:
                yield user
            elif user.name in ("scf.yield", "scf.condition"):
                parent = user.parent.operation
                if len(parent.results):
                    yield from _consumers(parent, statements)
                else:
                    yield parent
            elif user.name == "tir.call" and (not len(user.results) or _has_effects(user)):
                yield user  # it gets a name of its own where it cannot stand in a statement
            else:
                yield from _consumers(user, statements)


def _ancestor_in(block: ir.Block, op: ir.Operation) -> ir.Operation | None:
    """The operation of `block` that is or contains `op`."""
    current: ir.Operation | None = op
    while current is not None and current.block != block:
        parent = current.parent
        current = None if parent is None else parent.operation
    return current


def _statement_positions(block: ir.Block, statements: Collection[str]) -> list[int]:
    found: list[int] = []
    for position, view in enumerate(block.operations):
        op = view.operation
        effect = op.name in statements and op.name not in _HEADER
        if op.name == "scf.if" and len(op.results):
            effect = False
        if effect or _has_effects(op):
            found.append(position)
    return found


def _position(block: ir.Block, op: ir.Operation) -> int:
    return next(i for i, view in enumerate(block.operations) if view.operation == op)


def _loops(op: ir.Operation) -> bool:
    return op.name in ("tir.for", "tir.block", "scf.while", "scf.if") and not len(op.results)
