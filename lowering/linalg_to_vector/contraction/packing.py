"""Copying a block of B into panels as wide as a register tile.

Panel p holds columns p * width ... of the block, one row of `width` elements for each position of
the reduction, the positions in the order of the reduction loops; columns that do not exist are
zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.tile_config import TileConfig
from relax_mlir.lowering.linalg_to_vector.register_transpose import emit_transpose_tile

__all__ = ["Packing", "column_panels", "packed_strides"]

# Rows of B copied at once, so that B is read in long runs.
_UNROLL = 4


def packed_strides(b: Builder, k_extents: list[Index], width: int) -> tuple[Index, ...]:
    """How far a step along each reduction dimension moves in a panel."""
    strides: list[Index] = [width]
    for extent in reversed(k_extents[1:]):
        strides.insert(0, b.mul(strides[0], extent))
    return tuple(strides)


def column_panels(
    b: Builder, columns: Index, width: int, panel: Callable[[Index, Index | None], None]
) -> None:
    """`panel(position, active)` for whole panels (active None), then for what remains."""
    whole = b.round_down(columns, width)
    if whole != 0:
        with b.loop(0, whole, width) as position:
            panel(position, None)
    rest = b.sub(columns, whole)
    b.when(b.at_least(rest, 1), lambda: panel(whole, rest))


@dataclass(frozen=True)
class Packing:
    """Copies blocks of B.

    view: B, flat; column_stride and k_strides: its strides; buffer: where the panels go.
    """

    b: Builder
    config: TileConfig
    view: FlatView
    column_stride: Index
    k_strides: tuple[Index, ...]
    buffer: FlatView

    def emit(self, start: Index, columns: Index, k_extents: list[Index], panel_size: Index) -> None:
        """Copy the block that begins at offset `start` of B."""
        b, width = self.b, self.config.columns
        strides = packed_strides(b, k_extents, width)

        def panel(position: Index, active: Index | None) -> None:
            target = b.mul(b.floordiv(position, width), panel_size)
            source = b.add(start, b.mul(position, self.column_stride))
            self._emit_k_loops(source, target, k_extents, strides, 0, active)

        column_panels(b, columns, width, panel)

    def _emit_k_loops(
        self,
        source: Index,
        target: Index,
        k_extents: list[Index],
        strides: tuple[Index, ...],
        depth: int,
        active: Index | None,
    ) -> None:
        b = self.b
        if depth + 1 == len(k_extents):
            copy = self._copy_rows if self.column_stride == 1 else self._copy_columns
            copy(source, target, k_extents[depth], active)
            return
        with b.loop(0, k_extents[depth]) as k:
            inner_source = b.add(source, b.mul(k, self.k_strides[depth]))
            inner_target = b.add(target, b.mul(k, strides[depth]))
            self._emit_k_loops(inner_source, inner_target, k_extents, strides, depth + 1, active)

    def _copy_rows(self, source: Index, target: Index, depth: Index, active: Index | None) -> None:
        b, lanes, width = self.b, self.config.lanes, self.config.columns
        masks = [
            None if active is None else b.mask(lanes, b.maximum(b.sub(active, v * lanes), 0))
            for v in range(self.config.vectors)
        ]

        def copy(k: Index, count: int) -> None:
            for row in range(count):
                at = b.add(k, row)
                for v in range(self.config.vectors):
                    read = b.add(b.add(source, b.mul(at, self.k_strides[-1])), v * lanes)
                    write = b.add(b.add(target, b.mul(at, width)), v * lanes)
                    b.store(b.load(self.view, read, lanes, masks[v]), self.buffer, write)

        main_end = b.round_down(depth, _UNROLL)
        with b.loop(0, main_end, _UNROLL) as k:
            copy(k, _UNROLL)
        if main_end != depth:
            with b.loop(main_end, depth) as k:
                copy(k, 1)

    def _copy_columns(
        self, source: Index, target: Index, depth: Index, active: Index | None
    ) -> None:
        """Columns that are not contiguous: square register tiles where K is contiguous, element by
        element in the rest."""
        b, lanes, width = self.b, self.config.lanes, self.config.columns
        tiled: Index = 0
        if active is None and self.k_strides[-1] == 1:
            tiled = b.round_down(depth, lanes)
            with b.loop(0, tiled, lanes) as k, b.loop(0, width, lanes) as n:
                read = b.add(b.add(source, k), b.mul(n, self.column_stride))
                write = b.add(b.add(target, b.mul(k, width)), n)
                emit_transpose_tile(
                    b, self.view, read, self.column_stride, self.buffer, write, width, lanes
                )
        if tiled == depth:
            return
        with b.loop(tiled, depth) as k, b.loop(0, width) as n:
            self._copy_element(source, target, k, n, active)

    def _copy_element(
        self, source: Index, target: Index, k: Index, n: Index, active: Index | None
    ) -> None:
        b = self.b
        write = b.add(b.add(target, b.mul(k, self.config.columns)), n)
        read = b.add(b.add(source, b.mul(k, self.k_strides[-1])), b.mul(n, self.column_stride))

        def copy() -> None:
            b.store(b.load(self.view, read, 1), self.buffer, write)

        if active is None:
            copy()
            return
        zero = b.zero(self.buffer.element_type)
        b.when(b.compare("slt", n, active), copy, lambda: b.store(zero, self.buffer, write))
