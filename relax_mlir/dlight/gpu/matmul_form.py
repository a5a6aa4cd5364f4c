"""Matrix products in any disguise: C[S, I, J] += A[S, I, K] * B[S, J, K], where each letter stands
for several variables.  Batches, transposed operands, convolutions and einsums are of this form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dlight.analysis.access import detect_dominant_read, is_element, variables_used
from relax_mlir.dlight.analysis.common_analysis import get_root_block
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule import BlockRV, IndexMap, Schedule, nest
from relax_mlir.tir.schedule.analysis import Access, init_of, reads_of, writes_of
from relax_mlir.tir.schedule.index import Index, as_index

SPATIAL, ROW, COLUMN, REDUCED, TRIVIAL = "S", "I", "J", "K", "T"
"""What a variable is: of all buffers, of A and C, of B and C, of A and B, of extent one."""


@dataclass(frozen=True)
class Traits:
    """The kind and extent (an int, or an expression of the function's symbols) of each variable of
    a block, and which of them each buffer has."""

    kinds: list[str]
    extents: list[Any]
    a: list[int]
    b: list[int]
    c: list[int]


def reduction_block(sch: Schedule) -> BlockRV | None:
    """The only reduction of a function whose other blocks are spatial, else None."""
    found = reduction_blocks(sch)
    return found[0] if found is not None and len(found) == 1 else None


def reduction_blocks(sch: Schedule) -> list[BlockRV] | None:
    """The reductions of a function whose other blocks are spatial, else None."""
    found: list[BlockRV] = []
    for block in sch.get_child_blocks(get_root_block(sch)):
        with mlir.scope():
            kinds = set(sch.get(block).kinds)
            reduces = init_of(sch.get(block)) is not None
        if kinds == {"S", "R"} and reduces:
            found.append(block)
        elif kinds != {"S"}:
            return None
    return found


def detect_iter_traits(block: BlockOp) -> Traits | None:
    """What the variables of a block are in a matrix product, None when it is none."""
    reads, writes = reads_of(block), writes_of(block)
    if len(reads) != 2 or len(writes) != 1:
        return None
    if not all(is_element(access.region) for access in [*reads, *writes]):
        return None
    a, b, c = (variables_used(block, access.region) for access in [*reads, *writes])
    extents = [_extent(as_index(extent)) for _, extent in block.domain_pairs]
    kinds: list[str] = []
    for number, (kind, extent) in enumerate(zip(block.kinds, extents, strict=True)):
        found = (
            TRIVIAL
            if isinstance(extent, int) and extent == 1
            else _trait(kind, (number in a, number in b, number in c))
        )
        if found is None:
            return None
        kinds.append(found)
    if not {ROW, COLUMN, REDUCED} <= set(kinds):
        return None
    order = range(len(kinds))
    return Traits(kinds, extents, *([n for n in order if n in used] for used in (a, b, c)))


def _extent(index: Index) -> Any:
    """An extent as an int or, of symbols, as an expression that index maps take."""
    constant = index.as_constant()
    if constant is not None:
        return constant
    return IndexMap.parse(f"lambda: ({index},)").final_indices[0]


_TRAITS = {
    ("S", (True, True, True)): SPATIAL,
    ("S", (True, False, True)): ROW,
    ("S", (False, True, True)): COLUMN,
    ("R", (True, True, False)): REDUCED,
}


def _trait(kind: str, used: tuple[bool, bool, bool]) -> str | None:
    return _TRAITS.get((kind, used))


def fusion_map(
    traits: Traits, variables: Sequence[int], order: Sequence[str]
) -> Callable[..., list[Any]]:
    """The index map that fuses variables of a kind, the kinds in the given order."""

    def fuse(*indices: Any) -> list[Any]:
        fused: dict[str, Any] = {}
        for number, index in zip(variables, indices, strict=True):
            kind = traits.kinds[number]
            if kind in fused:
                fused[kind] = fused[kind] * traits.extents[number] + index
            else:
                fused[kind] = index
        return [fused.get(kind, 0) for kind in order]

    return fuse


def normalize_matmul(sch: Schedule, block: BlockRV) -> Traits | None:
    """Rewrite a matrix product so that its variables and buffers are those of the form above.

    Adds blocks that copy the operands and the result into it; they are to be inlined.  None, with
    the schedule unchanged, for a block that is no matrix product.
    """
    with mlir.scope():
        if detect_iter_traits(sch.get(block)) is None:
            return None
    copies = [sch.reindex(block, place) for place in (("read", 0), ("read", 1), ("write", 0))]
    with mlir.scope():
        traits = detect_iter_traits(sch.get(block))
    if traits is None:
        raise ScheduleError("the copied operands are no longer those of a matrix product")
    orders = (
        (traits.a, (SPATIAL, ROW, REDUCED)),
        (traits.b, (SPATIAL, COLUMN, REDUCED)),
        (traits.c, (SPATIAL, ROW, COLUMN)),
    )
    places = (("write", 0), ("write", 0), ("read", 0))
    for copy, place, (variables, order) in zip(copies, places, orders, strict=True):
        mapping = fusion_map(traits, variables, order)
        sch.transform_layout(copy, place, mapping)
        sch.transform_block_layout(copy, mapping)
    every = range(len(traits.kinds))
    sch.transform_block_layout(block, fusion_map(traits, every, (SPATIAL, ROW, COLUMN, REDUCED)))
    return traits


def operand_dtypes(sch: Schedule, block: BlockRV) -> tuple[str, str, str] | None:
    """The dtypes of A, B and C; None for a block that is no matrix product."""
    with mlir.scope():
        op = sch.get(block)
        if detect_iter_traits(op) is None:
            return None
        first, second = reads_of(op)
        return _dtype(first), _dtype(second), _dtype(writes_of(op)[0])


def _dtype(access: Access) -> str:
    from relax_mlir.dialects.dtypes import from_mlir
    from relax_mlir.mlir import ir

    return from_mlir(ir.MemRefType(access.buffer.type).element_type)


def extent_of(traits: Traits, kind: str) -> Any:
    """The extent of all variables of a kind together: an int, or an expression."""
    total: Any = 1
    for own, extent in zip(traits.kinds, traits.extents, strict=True):
        total = total * extent if own == kind else total
    return total


def walks_rows_fastest(sch: Schedule, fetch: BlockRV) -> bool:
    """Whether the elements of a tile's column lie beside each other in memory, as those of B do
    that is no transpose; `fetch` copies [S, rows, K]."""
    with mlir.scope():
        op = sch.get(fetch)
        read = detect_dominant_read(op)
        last = None if read is None or not read.region else read.region[-1][0]
        rows = nest.iter_vars(op)[-2]
        return last is not None and last.uses(rows)


def inline_producers(sch: Schedule, block: BlockRV) -> None:
    """Inline whatever a block reads and can be."""
    while any(_inlined(sch.compute_inline, p) for p in _producers(sch, block)):
        pass


def inline_consumers(sch: Schedule, block: BlockRV) -> None:
    """Inline into a block all that follows it.  Raises ScheduleError when something remains."""
    _inline_consumers(sch, block)
    for consumer in sch.get_consumers(block):
        # Another producer of the consumer may be in the way.
        for producer in sch.get_producers(consumer):
            if sch.get(producer) != sch.get(block):
                inline_producers(sch, producer)
                sch.compute_inline(producer)
    _inline_consumers(sch, block)
    if sch.get_consumers(block):
        raise ScheduleError("a consumer of the product cannot be inlined into its last stage")


def _inline_consumers(sch: Schedule, block: BlockRV) -> None:
    while True:
        count = sum(_inlined(sch.compute_inline, c) for c in _consumers(sch, block))
        count += sum(_inlined(sch.reverse_compute_inline, c) for c in _consumers(sch, block))
        if not count:
            return


def _inlined(primitive: Callable[[BlockRV], None], block: BlockRV) -> bool:
    try:
        primitive(block)
    except ScheduleError:
        return False
    return True


def _producers(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    found: list[BlockRV] = []
    for producer in sch.get_producers(block):
        found += [producer, *_producers(sch, producer)]
    return found


def _consumers(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    found: list[BlockRV] = []
    for consumer in sch.get_consumers(block):
        found += [consumer, *_consumers(sch, consumer)]
    return found
