"""The mark of loops that a schedule has shaped (`scheduled` on `tir.for`), in program text.

Such loops are compiled as they stand.  The text says which in the function's attribute
`tir.scheduled`: a block's name stands for the loops around it, "name/0,2" for the first and third
of them.  Loops that cannot be said that way carry the mark as an annotation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_mlir.mlir import ir

MARK = "scheduled"
KEY = f"tir.{MARK}"


def scheduled_loops(body: ir.Block) -> list[str] | None:
    """What the attribute says of a function's marked loops; None if it cannot say it."""
    marked = [op for op in _operations(body, "tir.for") if MARK in op.attributes]
    entries: list[str] = []
    for block in _operations(body, "tir.block"):
        around = _loops_around(block)
        positions = [i for i, loop in enumerate(around) if loop in marked]
        if not positions:
            continue
        entry = ir.StringAttr(block.attributes["sym_name"]).value
        if len(positions) < len(around):
            entry += f"/{','.join(map(str, positions))}"
        if entry not in entries:
            entries.append(entry)
    said = list(_said(body, entries))
    exact = all(loop in said for loop in marked) and all(loop in marked for loop in said)
    return entries if exact else None


def mark(loop: ir.Operation) -> None:
    """Mark one loop."""
    loop.attributes[MARK] = ir.UnitAttr.get()


def mark_loops(body: ir.Block, entries: Sequence[str]) -> None:
    """Mark the loops that the attribute names."""
    for loop in list(_said(body, entries)):
        mark(loop)


def _said(body: ir.Block, entries: Sequence[str]) -> Iterator[ir.Operation]:
    """The loops that entries of the attribute stand for."""
    wanted = [entry.partition("/") for entry in entries]
    for block in _operations(body, "tir.block"):
        around = _loops_around(block)
        for name, _, positions in wanted:
            if ir.StringAttr(block.attributes["sym_name"]).value != name:
                continue
            chosen = [int(p) for p in positions.split(",")] if positions else range(len(around))
            yield from (around[i] for i in chosen if i < len(around))


def _operations(block: ir.Block, name: str) -> Iterator[ir.Operation]:
    for view in block.operations:
        if view.operation.name == name:
            yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner, name)


def _loops_around(op: ir.Operation) -> list[ir.Operation]:
    """The loops around an operation, the outermost first."""
    found: list[ir.Operation] = []
    parent = op.parent
    while parent is not None:
        if parent.operation.name == "tir.for":
            found.append(parent.operation)
        parent = parent.operation.parent
    return found[::-1]
