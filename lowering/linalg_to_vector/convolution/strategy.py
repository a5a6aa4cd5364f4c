"""Which form a convolution is emitted in, and what part of it each core computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    positions,
    weight_is_larger,
)
from relax_mlir.lowering.linalg_to_vector.convolution.depthwise import emit_depthwise
from relax_mlir.lowering.linalg_to_vector.convolution.direct import emit_direct
from relax_mlir.lowering.linalg_to_vector.convolution.grouped import (
    emit_grouped_direct,
    suits_groups,
)
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution
from relax_mlir.lowering.linalg_to_vector.convolution.narrow_groups import (
    emit_narrow_groups,
    narrow_groups,
)
from relax_mlir.lowering.linalg_to_vector.convolution.pooling import emit_pooling
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ZERO
from relax_mlir.lowering.linalg_to_vector.parallel import emit_split, is_worth_dividing
from relax_mlir.mlir import ir

__all__ = ["emit_convolution"]

# Pieces of output channels are multiples of this.
_CHANNEL_PIECE = 64


def emit_convolution(
    b: Builder, conv: Convolution, target: CPUTarget, initial: ir.Value | None
) -> None:
    """Emit a convolution, divided among the target's cores if it is worth it.

    initial: the scalar that the output is filled with before; None if its contents count.
    """
    kind = suits_groups(conv, target, initial, positions(conv))
    emit = emit_depthwise if conv.depthwise else emit_direct
    narrow = narrow_groups(conv, target)
    if kind is not None:
        emit = partial(emit_grouped_direct, kind=kind)
    elif narrow is not None:
        emit = partial(emit_narrow_groups, groups=narrow)
    if conv.combiner is not None:
        emit = emit_pooling

    def whole(part: tuple[Index, Index] | None = None) -> None:
        emit(b, conv, target, initial, part)

    if target.num_cores < 2 or not is_worth_dividing(conv.nest):
        whole()
        return
    known = [extent.static or 0 for extent in conv.nest.extents]
    cores = target.num_cores

    def piece_of(dim: int, multiple: int) -> Callable[[], None]:
        return lambda: emit_split(
            b,
            conv.nest,
            dim,
            multiple,
            cores,
            lambda nest: emit(b, replace(conv, nest=nest), target, initial, None),
        )

    images = [
        piece_of(dim, 1)
        for dim in conv.outer
        if conv.nest.stride(conv.data, dim) != ZERO and known[dim] >= cores
    ]
    channels = [
        piece_of(dim, 1)
        for dim in conv.outer
        if conv.nest.stride(conv.data, dim) == ZERO and known[dim] >= cores
    ]
    if known[conv.column] >= cores * _CHANNEL_PIECE:
        channels.append(piece_of(conv.column, _CHANNEL_PIECE))
    rows = _rows(b, conv, cores, whole)
    ways = [*images, *channels, *rows] if weight_is_larger(conv) else [*images, *rows, *channels]
    (ways or [whole])[0]()


def _rows(
    b: Builder,
    conv: Convolution,
    cores: int,
    emit: Callable[[tuple[Index, Index]], None],
) -> list[Callable[[], None]]:
    """Dividing the output positions along the first window, if there are enough."""
    out = conv.windows[0].out if len(conv.windows) > 1 else None
    length = conv.extent(out).static
    if out is None or length is None or length < 2 * cores:
        return []

    def divided() -> None:
        piece = -(-length // cores)
        with b.parallel_loop(-(-length // piece)) as number:
            start = b.mul(number, piece)
            emit((start, b.minimum(b.add(start, piece), length)))

    return [divided]
