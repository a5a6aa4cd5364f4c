"""Contractions: recognising them and arranging them as matrix products.

A contraction is a nest of two inputs and one output in which every dimension is one of
  batch      parallel, in both inputs and the output
  row (M)    parallel, in the output and one input, called A
  column (N) parallel, in the output and the other input, called B
  K          a reduction, in both inputs.
The column dimension that is contiguous in the output is vectorized; that decides which input is
called B.  Everything else about the operands, transposition, batching and windows included, is in
their strides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from relax_mlir.lowering.linalg_to_vector.body import combiners, is_vectorizable, widest_bits
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.contraction.group_layout import find_groups
from relax_mlir.lowering.linalg_to_vector.contraction.packing import PanelBlock
from relax_mlir.lowering.linalg_to_vector.cpu_target import CHAINS
from relax_mlir.lowering.linalg_to_vector.loop_nest import (
    ONE,
    ZERO,
    Access,
    Extent,
    LoopNest,
    Stage,
)
from relax_mlir.mlir import ir

__all__ = ["Contraction", "Product", "for_each_matrix", "match_contraction", "with_epilogue"]


Product = Callable[[ir.Value, ir.Value, ir.Value], ir.Value]
"""An element of A in all lanes, elements of B, and accumulators to the next accumulators."""


@dataclass(frozen=True)
class Contraction:
    """A matrix product `C[m, n] (+)= A[m, k] * B[k, n]` inside outer loops.

    nest: the nest, its dimensions numbered as below.
    outer: batch dimensions and further row and column dimensions, looped over outside.
    row: the M dimension, or None for a single row; column: the N dimension, contiguous in C.
    k: the reduction dimensions, innermost last.
    a, b, c: operand numbers.
    epilogue: what happens to a finished element of C before it is stored, if anything.
    product: how elements of A and of B are multiplied and added, if not as the body says.
    chains: how many independent ones in flight keep the units busy.
    pack_b: copies a block of B into panels, where its elements are not to be taken as they lie.
    start: the number of an operand with what a block of the reduction adds to the columns of C
    beside its products, in whole vectors; known once the block of B is packed.
    """

    nest: LoopNest
    outer: tuple[int, ...]
    row: int | None
    column: int
    k: tuple[int, ...]
    a: int
    b: int
    c: int
    epilogue: Stage | None = None
    product: Product | None = None
    chains: int = CHAINS
    pack_b: Callable[[PanelBlock], None] | None = None
    start: int | None = None

    def operands(self) -> set[int]:
        """The operands that the contraction and its epilogue touch."""
        found = {self.a, self.b, self.c}
        if self.start is not None:
            found.add(self.start)
        if self.epilogue is not None:
            found.update(self.epilogue.arguments, self.epilogue.results)
        return found

    def extent(self, dim: int | None) -> Extent:
        return ONE if dim is None else self.nest.extents[dim]


def match_contraction(nest: LoopNest, epilogue: Stage | None = None) -> Contraction | None:
    """Read a simplified nest as a contraction; None if it is none, or a plain dot product."""
    body = nest.body
    if len(body.arguments) != 3 or len(body.results) != 1 or not any(nest.reduction):
        return None
    if ZERO in nest.extents or widest_bits(body.block) > 64:
        return None
    if not is_vectorizable(body.block) or any(i is not None for i in nest.index_dims):
        return None
    if combiners(body.block, [body.arguments.index(body.results[0])]) is None:
        return None
    c = body.results[0]
    inputs = [i for i in body.arguments if i != c]
    for a, b in (inputs, inputs[::-1]):
        found = _arrange(nest, a, b, c)
        if found is not None:
            return replace(found, epilogue=epilogue)
    return None


def _arrange(nest: LoopNest, a: int, b: int, c: int) -> Contraction | None:
    """The contraction with these roles of the operands, if the output's rows are contiguous."""
    if nest.operands[a].is_scalar or nest.operands[b].is_scalar:
        return None
    outer: list[int] = []
    rows: list[int] = []
    columns: list[int] = []
    k: list[int] = []
    for dim in range(nest.rank):
        in_a, in_b, in_c = (nest.stride(o, dim) != ZERO for o in (a, b, c))
        if nest.extents[dim] == ONE and not nest.reduction[dim]:
            outer.append(dim)
            continue
        if nest.reduction[dim]:
            if in_c or not (in_a and in_b):
                return None
            k.append(dim)
        elif not in_c or not (in_a or in_b):
            return None
        elif in_a and in_b:
            outer.append(dim)
        else:
            (rows if in_a else columns).append(dim)
    contiguous = [dim for dim in columns if nest.stride(c, dim) == ONE]
    if len(contiguous) != 1 or not k:
        return None
    column = contiguous[0]
    if len(k) > 1 and nest.stride(b, column) != ONE and find_groups(nest, a, b, column, k) is None:
        return None  # a window read with a stride, which packing does not arrange
    row = max(rows, key=lambda dim: _assumed_extent(nest, dim)) if rows else None
    outer += [dim for dim in rows + columns if dim not in (row, column)]
    k.sort(key=lambda dim: nest.stride(b, dim) == ONE)
    return Contraction(nest, tuple(outer), row, column, tuple(k), a, b, c)


def _assumed_extent(nest: LoopNest, dim: int) -> int:
    static = nest.extents[dim].static
    return 1 << 20 if static is None else static


def with_epilogue(nest: LoopNest, following: LoopNest) -> tuple[LoopNest, Stage] | None:
    """Join a reduction and the elementwise nest that consumes its only output.

    Both nests are unsimplified.  `following` must walk the output element by element; its operands
    become operands of the joined nest, in which the output of the first nest stays operand
    `nest.body.results[0]`.  None if the two do not fit.
    """
    out = nest.body.results[0]
    buffer = nest.operands[out].value
    readers = [
        i
        for i, operand in enumerate(following.operands)
        if not operand.is_scalar and operand.value == buffer
    ]
    if any(following.reduction) or following.index_dims or nest.index_dims:
        return None
    if not is_vectorizable(following.body.block):
        return None
    if len(readers) != 1 or readers[0] in following.body.results:
        return None
    dims = _matching_dims(nest, following, out, readers[0])
    if dims is None:
        return None
    count = len(nest.operands)
    symbols = list(nest.symbols)
    offset = len(symbols)
    symbols += following.symbols

    own = {
        extent.symbols[0]: nest.extents[dim]
        for extent, dim in zip(following.extents, dims, strict=True)
        if extent.symbols
    }

    def moved(extent: Extent) -> Extent:
        result = Extent(extent.factor)
        for symbol in extent.symbols:
            result = result * own.get(symbol, Extent(1, (symbol + offset,)))
        return result

    operands = list(nest.operands)
    for operand in following.operands:
        strides = [ZERO] * nest.rank
        for position, dim in enumerate(dims):
            strides[dim] = moved(operand.strides[position])
        base = tuple(moved(term) for term in operand.base)
        operands.append(replace(operand, strides=tuple(strides), base=base))
    arguments = tuple(-1 if i == readers[0] else i + count for i in following.body.arguments)
    results = tuple(i + count for i in following.body.results)
    stage = Stage(following.body.block, arguments, results)
    return replace(nest, operands=tuple(operands), symbols=symbols), stage


def _matching_dims(nest: LoopNest, following: LoopNest, out: int, reader: int) -> list[int] | None:
    """For every dimension of the consumer, the dimension of the producer it stands for."""
    parallel = [d for d in range(nest.rank) if not nest.reduction[d]]
    if len(parallel) != following.rank:
        return None
    dims: list[int] = []
    taken: set[int] = set()
    order = _order(nest, out, parallel)
    theirs = _order(following, reader, list(range(following.rank)))
    if order is None or theirs is None:
        return None
    pairs = dict(zip(theirs, order, strict=True))
    for position in range(following.rank):
        dim = pairs[position]
        first, second = nest.extents[dim], following.extents[position]
        statics_differ = None not in (first.static, second.static) and first != second
        if dim in taken or statics_differ:
            return None
        taken.add(dim)
        dims.append(dim)
    return dims


def _order(nest: LoopNest, operand: int, dims: list[int]) -> list[int] | None:
    """The dimensions from outermost to innermost, as the indexing map of an operand lists them."""
    order = nest.operands[operand].dim_order
    if order is None or sorted(order) != sorted(dims):
        return None
    return list(order)


def for_each_matrix(
    b: Builder,
    contraction: Contraction,
    body: Callable[[list[Access], list[Index]], None],
) -> None:
    """Loops over the outer dimensions; `body(accesses, extents)` emits one matrix product."""
    nest = contraction.nest
    accesses = nest.emit_accesses(b, contraction.operands())
    extents = [nest.emit_extent(b, extent) for extent in nest.extents]

    def outer(dims: tuple[int, ...], at: list[Access]) -> None:
        if not dims:
            body(at, extents)
            return
        with b.loop(0, extents[dims[0]]) as position:
            outer(dims[1:], [access.advanced(b, dims[0], position) for access in at])

    outer(contraction.outer, accesses)
