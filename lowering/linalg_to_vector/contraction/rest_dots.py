"""The last columns of a matrix product that are far fewer than a vector holds, as dot products.

A tile of one or two columns multiplies a whole vector for every element of A, at a rate that few
accumulators allow: 65 columns then take the time of 80 and more.  Where A is contiguous along K,
dot products of its rows with the last columns, copied so that they are contiguous too, take a
fraction of that.
"""

from __future__ import annotations

from relax_mlir.lowering.linalg_to_vector.body import body_cost
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index, next_power_of_two
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction
from relax_mlir.lowering.linalg_to_vector.contraction.row_dots import emit_matrix_dots, turned
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, Access
from relax_mlir.lowering.linalg_to_vector.register_transpose import emit_transpose_tile
from relax_mlir.mlir import ir

__all__ = ["emit_rest_dots", "rest_for_dots"]

# Fewer rows do not make up for the copy of the columns.
_MIN_ROWS = 8
# Columns at once, where their number is not known.
_GROUP = 4
# Bytes of a column that are copied to the stack, if its length is not known.
_MAX_COPY = 8128
# Cycles to add up the lanes of a dot product.
_ADD_UP = 8


def rest_for_dots(
    b: Builder, contraction: Contraction, target: CPUTarget, extents: list[Index]
) -> Index:
    """How many of the last columns to compute by `emit_rest_dots`: all that do not fill a vector,
    or none.

    For each row a tile takes half a cycle or more an element of K, a dot product as much a vector,
    the time to add up its lanes and that of the epilogue, on one element.  A is read once more, so
    it has to be in the second-level cache.
    """
    con = contraction
    if con.row is None or len(con.k) != 1 or con.product is not None or con.start is not None:
        return 0
    nest = con.nest
    element = nest.operands[con.a].element_type
    if nest.stride(con.a, con.k[0]) != ONE or element.width < 32:
        return 0
    lanes = target.lanes(element.width)
    if lanes < 4:
        return 0
    rows, columns, k = extents[con.row], extents[con.column], extents[con.k[0]]
    if isinstance(columns, int) and columns % lanes == 0:
        return 0
    rest = b.mod(columns, lanes)
    finish = _ADD_UP + (0 if con.epilogue is None else body_cost(con.epilogue.block))
    dots = b.mul(rest, b.add(k, 2 * finish * lanes))
    cheaper = b.at_least(b.sub(b.mul(k, lanes), dots), 0)
    fits = b.at_most(b.mul(rows, k), target.l2_bytes // (element.width // 8))
    short = isinstance(k, int) or b.at_most(k, _longest(con))
    suits = b.all_of([cheaper, fits, short, b.at_least(rows, _MIN_ROWS)])
    if isinstance(suits, bool):
        return rest if suits else 0
    return b.select(suits, rest, 0)


def emit_rest_dots(
    b: Builder,
    contraction: Contraction,
    accesses: list[Access],
    extents: list[Index],
    rest: Index,
    target: CPUTarget,
    initial: ir.Value | None,
) -> None:
    """Emit the last `rest` columns of a product for which `rest_for_dots` is not zero: together if
    their number is known, else by fours, two and one."""
    con = contraction
    first, end = b.sub(extents[con.column], rest), extents[con.column]

    def group(column: Index, count: int) -> None:
        at = [access.advanced(b, con.column, column) for access in accesses]
        if con.nest.stride(con.b, con.k[0]) != ONE:
            at[con.b] = _contiguous(b, con, at[con.b], count, extents[con.k[0]])
        sizes = list(extents)
        sizes[con.column] = count
        emit_matrix_dots(b, turned(con), at, sizes, target, initial)

    if isinstance(rest, int):
        group(first, rest)
        return
    count = _GROUP
    while count:
        done = b.add(first, b.round_down(b.sub(end, first), count))
        with b.loop(first, done, count) as column:
            group(column, count)
        first, count = done, count // 2


def _contiguous(b: Builder, con: Contraction, access: Access, columns: int, k: Index) -> Access:
    """A copy of columns of B, one after the other, by square tiles where rows are contiguous."""
    assert access.view is not None
    element = con.nest.operands[con.b].element_type
    longest = k if isinstance(k, int) else _longest(con)
    # A cache line more keeps the columns from falling on the same cache sets.
    distance = longest + 512 // element.width
    size = next_power_of_two(columns)
    buffer = b.scratch(size * distance, element)
    strides = list(access.strides)
    strides[con.column], strides[con.k[0]] = distance, 1
    copy = Access(buffer, tuple(strides), 0, access.value)
    tiled: Index = 0
    if con.nest.stride(con.b, con.column) == ONE:
        tiled = b.round_down(k, size)
        mask = None if size == columns else b.mask(size, columns)
        step = access.strides[con.k[0]]
        with b.loop(0, tiled, size) as position:
            read = access.advanced(b, con.k[0], position).base
            emit_transpose_tile(b, access.view, read, step, buffer, position, distance, size, mask)
    with b.loop(tiled, k) as position, b.loop(0, columns) as column:
        source, target = (
            x.advanced(b, con.k[0], position).advanced(b, con.column, column)
            for x in (access, copy)
        )
        b.store(b.load(access.view, source.base, 1), buffer, target.base)
    return copy


def _longest(contraction: Contraction) -> int:
    """The most elements of a column of unknown length that are copied."""
    return _MAX_COPY // (contraction.nest.operands[contraction.b].element_type.width // 8)
