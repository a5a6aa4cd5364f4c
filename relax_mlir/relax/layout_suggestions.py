"""Layouts for blocks and buffers that follow from those of a function's outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from relax_mlir import mlir
from relax_mlir.dialects.names import name_of
from relax_mlir.errors import Error
from relax_mlir.lowering.relax.functions import walk
from relax_mlir.mlir import ir
from relax_mlir.tir import expr as tir_expr
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import Schedule, ScheduleError
from relax_mlir.tir.schedule.index import read
from relax_mlir.tir.schedule.index_map import IndexMap

__all__ = ["suggest_layout_transforms"]

_Layout = tuple[int | None, ...]
"""The number of the iteration variable that each index of an access depends on, None for none."""


def suggest_layout_transforms(
    func: PrimFunc, write_buffer_transforms: Sequence[IndexMap | Callable[..., object]]
) -> dict[str, dict[str, IndexMap]]:
    """Index maps that keep accesses in order when the last buffers of `func` are laid out anew.

    For each block that can follow, by name: the map of the block under its own name, and those of
    the buffers it is the first to say, as `Schedule.transform_block_layout` and `transform_layout`
    take them.  A block that writes one buffer can, when its accesses depend on one variable in each
    dimension, in the order of the block's variables.

    Raises Error when there are more maps than buffers, or one has another number of indices.
    """
    with mlir.scope():
        return _Suggestions(func, write_buffer_transforms).found


class _Suggestions:
    def __init__(
        self, func: PrimFunc, transforms: Sequence[IndexMap | Callable[..., object]]
    ) -> None:
        self.found: dict[str, dict[str, IndexMap]] = {}
        self._func = func
        self._said: set[ir.Value] = set()
        arguments = list(func.body.arguments)
        if len(transforms) > len(arguments):
            raise Error(f"{len(transforms)} index maps for a function of {len(arguments)} buffers")
        self._maps: dict[ir.Value, IndexMap] = {}
        outputs = arguments[len(arguments) - len(transforms) :]
        for buffer, given in zip(outputs, transforms, strict=True):
            rank = ir.MemRefType(buffer.type).rank
            self._maps[buffer] = IndexMap.of(given, rank)
        blocks = [op for op in walk(func.operation) if op.name == "tir.block"]
        for block in reversed(blocks):
            if any(op.name == "tir.block" for op in walk(block)):
                continue
            self._visit(block)

    def _visit(self, block: ir.Operation) -> None:
        accesses = _layouts(block)
        written = {op.operands[0] for op in walk(block) if op.name == "tir.write"}
        target = written.pop() if len(written) == 1 else None
        if target is None or target not in self._maps or accesses.get(target) is None:
            return
        variables: _Layout = tuple(range(len(block.opview.iter_vars)))
        layout, given = accesses[target], self._maps[target]
        if layout is None or None in layout or not _in_order(layout):
            return
        own = _infer(layout, given, variables)
        name = ir.StringAttr(block.attributes["sym_name"]).value
        if own is None or not self._applies(name, own):
            return
        suggested = self.found[name] = {name: own}
        if target not in self._said:
            suggested[_name(target)] = given
        for buffer, other in accesses.items():
            if buffer in self._maps or other is None or not _in_order(other):
                continue
            inferred = _infer(layout, given, other)
            if inferred is not None:
                self._maps[buffer] = suggested[_name(buffer)] = inferred
                self._said.add(buffer)

    def _applies(self, name: str, own: IndexMap) -> bool:
        """Whether the block's variables can be mapped: one to one, onto whole ranges."""
        try:
            Schedule(self._func.clone()).transform_block_layout(name, own)
        except ScheduleError:
            return False
        return True


def _name(buffer: ir.Value) -> str:
    return name_of(buffer) or "buffer"


def _layouts(block: ir.Operation) -> dict[ir.Value, _Layout | None]:
    """The layout of the accesses to each buffer; None where it has none, or several."""
    variables = {variable: number for number, variable in enumerate(block.opview.iter_vars)}
    found: dict[ir.Value, _Layout | None] = {}
    for op in walk(block):
        if op.name not in ("memref.load", "memref.store"):
            continue
        buffer, *indices = list(op.operands)[op.name == "memref.store" :]
        layout: list[int | None] = []
        for index in indices:
            used = [variables[leaf] for leaf in read(index).leaves() if leaf in variables]
            layout.append(used[0] if len(used) == 1 else None)
            if len(used) > 1:
                found[buffer] = None
        if found.setdefault(buffer, tuple(layout)) != tuple(layout):
            found[buffer] = None
    return found


def _in_order(layout: _Layout) -> bool:
    places = [place for place in layout if place is not None]
    return all(a < b for a, b in pairwise(places))


def _infer(source: _Layout, given: IndexMap, target: _Layout) -> IndexMap | None:
    """The map of an access with the target's layout, from that of one with the source's.

    What the target has not is left out of the map, and its own dimensions keep their places.  None
    when a new index mixes what the target has with what it has not.
    """
    named = dict(zip(source, given.initial_indices, strict=True))
    kept = {named[value] for value in source if value in target}
    initial = [variable for variable in given.initial_indices if variable in kept]
    final: list[tir_expr.PrimExpr] = []
    for index in given.final_indices:
        used = {e for e in tir_expr.post_order(index) if isinstance(e, tir_expr.Var)}
        if used <= kept:
            final.append(index)
        elif used & kept:
            return None
    for place, value in enumerate(target):
        if value is None or value not in source:
            dimension = tir_expr.Var(f"d{place}", "int32")
            initial.insert(place, dimension)
            final.insert(min(place, len(final)), dimension)
    return IndexMap(initial, final)
