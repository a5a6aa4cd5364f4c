"""Chains of operations that can run on a few rows at a time, as those of attention.

A contraction whose result is only read, row by row, by elementwise operations and reductions along
the row, and at last by another contraction, needs no whole matrix in memory: all operations of the
chain can be done for a block of rows before the next one.  `softmax(Q K^T) V` is such a chain, with
or without a scale, a mask or a bias, in whatever layout and whichever front end it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_mlir.lowering.linalg_to_vector.buffers import BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.contraction.matching import match_contraction
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, parse
from relax_mlir.mlir import ir

__all__ = ["Link", "RowChain", "match_row_chain"]

_TRANSPARENT = ("arith.constant", "memref.alloc", "memref.dim", "affine.apply", "tir.alloc_buffer")


@dataclass(frozen=True)
class Link:
    """One operation of a chain.

    shared: its dimensions that are the rows' coordinates, batch dimensions first and the row last
    (None where a batch dimension of size one has no dimension here); column: its dimension along
    the row.
    """

    op: ir.Operation
    nest: LoopNest
    shared: tuple[int | None, ...]
    column: int

    @property
    def row(self) -> int:
        row = self.shared[-1]
        assert row is not None
        return row


@dataclass
class RowChain:
    """links: the operations in order, a contraction first and last.  temporaries: the buffers
    between them, and whether they have the column dimension.  fills: what buffers are filled with
    on the way."""

    links: list[Link]
    temporaries: dict[ir.Value, bool]
    fills: dict[ir.Value, ir.Operation] = field(default_factory=dict)

    @property
    def written(self) -> list[ir.Value]:
        """The buffers that the links write."""
        return [outputs_of(link.op)[0] for link in self.links]


def match_row_chain(
    op: ir.Operation, following: list[ir.Operation], uses: BufferUses
) -> RowChain | None:
    """The chain that starts with `op`, None if there is none."""
    first = _first_link(op, uses)
    if first is None:
        return None
    out = first.nest.operands[first.nest.body.results[0]]
    chain = RowChain([first], {out.value: True})
    for other in following:
        if other.name in _TRANSPARENT:
            continue
        if other.name == "linalg.fill":
            if not uses.is_private(other.operands[1]):
                return None
            chain.fills[other.operands[1]] = other
            continue
        link = _next_link(other, chain)
        if link is None:
            return None
        chain.links.append(link)
        target = outputs_of(other)[0]
        if uses.is_temporary(target) and not _is_product_along_row(link):
            has_column = _row_coordinates(link, target)
            if has_column is None:
                return None
            chain.temporaries[target] = has_column
        else:
            if not _is_closed(chain, uses):
                return None
            written = chain.written
            chain.fills = {b: fill for b, fill in chain.fills.items() if b in written}
            return chain
    return None


def _first_link(op: ir.Operation, uses: BufferUses) -> Link | None:
    nest = parse(op)
    if nest is None or len(nest.body.results) != 1 or nest.index_dims:
        return None
    out = nest.operands[nest.body.results[0]]
    order = out.dim_order
    if order is None or len(order) < 2 or not uses.is_temporary(out.value):
        return None
    if match_contraction(nest.simplify()) is None:
        return None
    rows = nest.extents[order[-2]].static
    if rows is not None and rows < 16:
        return None
    return Link(op, nest, tuple(order[:-1]), order[-1])


def _next_link(op: ir.Operation, chain: RowChain) -> Link | None:
    """`op` as a link: it reads temporaries of the chain at its own row only."""
    nest = parse(op) if op.name == "linalg.generic" else None
    if nest is None or len(nest.body.results) != 1:
        return None
    rank = len(chain.links[0].shared)
    shared: tuple[int | None, ...] | None = None
    column: int | None = None
    for operand in nest.operands:
        if operand.value not in chain.temporaries:
            continue
        has_column = chain.temporaries[operand.value]
        order = operand.coordinates
        if order is None or len(order) != rank + has_column or None in order[rank - 1 :]:
            return None
        named = [dim for dim in order if dim is not None]
        if len(set(named)) != len(named):
            return None
        if shared not in (None, order[:rank]) or (has_column and column not in (None, order[-1])):
            return None
        shared = order[:rank]
        column = order[-1] if has_column else column
    if shared is None or column is None:
        return None
    if any(dim is not None and nest.reduction[dim] for dim in shared):
        return None
    return Link(op, nest, shared, column)


def _row_coordinates(link: Link, target: ir.Value) -> bool | None:
    """Whether an intermediate result has the column dimension; None if it is not stored by rows."""
    nest = link.nest
    order = nest.operands[nest.body.results[0]].coordinates
    if nest.rank != sum(dim is not None for dim in link.shared) + 1:
        return None
    if order == link.shared:
        return False
    return True if order == (*link.shared, link.column) else None


def _is_product_along_row(link: Link) -> bool:
    return link.nest.reduction[link.column] and match_contraction(link.nest.simplify()) is not None


def _is_closed(chain: RowChain, uses: BufferUses) -> bool:
    """Whether the last link is a contraction along the row, and nothing else touches what the
    chain writes."""
    last = chain.links[-1]
    nest = last.nest
    if not _is_product_along_row(last):
        return False
    out = nest.operands[nest.body.results[0]]
    if out.coordinates is None or not set(last.shared) - {None} <= set(out.coordinates):
        return False
    members = [link.op for link in chain.links]
    for temporary in chain.temporaries:
        users = uses.remaining_users(temporary, members[0])
        if any(user not in members and user.name != "linalg.fill" for user in users):
            return False
    read = {
        link.nest.operands[i].value
        for link in chain.links
        for i in link.nest.inputs()
        if not link.nest.operands[i].is_scalar
    }
    return not any(uses.may_overlap(out.value, value) for value in read)
