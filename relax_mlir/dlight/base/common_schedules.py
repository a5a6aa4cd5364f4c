"""Steps that many rules begin with: inlining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dlight.analysis.common_analysis import SBlockInfo
from relax_mlir.errors import ScheduleError
from relax_mlir.tir.schedule import Schedule


def try_inline(sch: Schedule, blocks: Sequence[SBlockInfo]) -> list[SBlockInfo]:
    """Inline as many of some blocks as possible; those that remain."""
    remaining = list(blocks)
    while True:
        number = _first_inlined(sch.compute_inline, remaining)
        if number is None:
            number = _first_inlined(sch.reverse_compute_inline, remaining)
        if number is None:
            return remaining
        remaining.pop(number)


def try_inline_contiguous_spatial(
    sch: Schedule, block_infos: Sequence[SBlockInfo] | None
) -> list[SBlockInfo] | None:
    """Inline as many as possible of the spatial blocks between reductions; what remains.

    None stands for a function without a normal form, and stays None.
    """
    if block_infos is None:
        return None
    results: list[SBlockInfo] = []
    spatial: list[SBlockInfo] = []
    for block in block_infos:
        if block.is_injective():
            spatial.append(block)
            continue
        results += [*try_inline(sch, spatial), block]
        spatial = []
    return results + try_inline(sch, spatial)


def _first_inlined(primitive: Callable[[Any], None], blocks: Sequence[SBlockInfo]) -> int | None:
    for number, block in enumerate(blocks):
        try:
            primitive(block.block_rv)
        except ScheduleError:
            continue
        return number
    return None
