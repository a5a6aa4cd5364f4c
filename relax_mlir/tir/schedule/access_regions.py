"""What a block declares that it accesses, changed by the user's word: annotate_buffer_access,
unsafe_hide_buffer_access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.errors import Error
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.accesses import EXPLICIT, set_accesses
from relax_mlir.tir.schedule.analysis import Access, reads_of, require_block, writes_of
from relax_mlir.tir.schedule.annotate import annotate, annotations_of
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import Index, leaf, proves_nonnegative
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.tir.schedule.state import ScheduleState


def unsafe_hide_buffer_access(
    state: ScheduleState, block: ir.OpView, buf_type: str, buf_index_array: Sequence[int]
) -> None:
    """Leave out some of the regions that a block declares."""
    block = require_block(block)
    regions = {"read": [*reads_of(block)], "write": [*writes_of(block)]}
    _require_kind(block, buf_type)
    for number in buf_index_array:
        if not 0 <= number < len(regions[buf_type]):
            raise Refusal(f"{label(block)} has {len(regions[buf_type])} {buf_type} regions, no "
                          f"number {number}", block)  # fmt: skip
    kept = [a for n, a in enumerate(regions[buf_type]) if n not in buf_index_array]
    regions[buf_type] = kept
    set_accesses(block, regions["read"], regions["write"])


def annotate_buffer_access(
    state: ScheduleState, block: ir.OpView, buffer_index: int, buf_type: str, gen_new_ranges: Any
) -> None:
    """Declare another region: begin and end of each dimension by the block's variables.

    The region is kept by later primitives.  One that is certainly wrong is refused.
    """
    block = require_block(block)
    _require_kind(block, buf_type)
    regions = {"read": [*reads_of(block)], "write": [*writes_of(block)]}
    if not 0 <= buffer_index < len(regions[buf_type]):
        raise Refusal(f"{label(block)} has {len(regions[buf_type])} {buf_type} regions, no number "
                      f"{buffer_index}", block)  # fmt: skip
    old = regions[buf_type][buffer_index]
    variables = nest.iter_vars(block)
    try:
        mapping = IndexMap.of(gen_new_ranges, len(variables))
        ends = mapping.apply([leaf(v) for v in variables])
    except Error as error:
        raise Refusal(str(error), block) from None
    if len(ends) != 2 * len(old.region):
        raise Refusal(f"{nest.value_name(old.buffer)} has {len(old.region)} dimensions, the "
                      f"function gives {len(ends) / 2:g} ranges", block)  # fmt: skip
    region = [(low, high - low) for low, high in zip(ends[::2], ends[1::2], strict=True)]
    _require_possible(block, old, region)
    regions[buf_type][buffer_index] = Access(old.buffer, region)
    set_accesses(block, regions["read"], regions["write"])
    key = EXPLICIT[buf_type]
    earlier = [int(n) for n in annotations_of(block).get(key, [])]
    annotate(state, block, key, sorted({*earlier, buffer_index}))


def _require_kind(block: BlockOp, buf_type: str) -> None:
    if buf_type not in ("read", "write"):
        raise Refusal(f'"{buf_type}" is neither "read" nor "write"', block)


def _require_possible(block: BlockOp, old: Access, region: list[tuple[Index, Index]]) -> None:
    """Refuse a region that leaves out an element that is always accessed."""
    for (low, size), (first, count) in zip(region, old.region, strict=True):
        if count != Index({}, 1):
            continue
        below = proves_nonnegative(low - first - 1)
        above = proves_nonnegative(first - low - size)
        if below or above:
            name = nest.value_name(old.buffer)
            raise Refusal(f"{label(block)} accesses {name} at {first}, which is outside of "
                          f"[{low}, {low + size})", block)  # fmt: skip
