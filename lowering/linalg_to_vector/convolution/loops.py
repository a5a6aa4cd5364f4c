"""Loops over output positions, with the taps of the window that each may read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import even_pieces
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution, Window
from relax_mlir.lowering.linalg_to_vector.loop_nest import Access

__all__ = ["Place", "RowTile", "Selected", "WindowLoops", "row_tiles", "tap_range"]

Selected = tuple[tuple[int, ...], ...] | None
"""For every tap along the row the positions of a tile that may read it; None if all may."""


# Fewer positions of a row are not divided, whatever is left of a length that run time knows: tiles
# of one would wait for their products, and each reads the whole weight.
_SMALLEST_PIECE = 4


@dataclass(frozen=True)
class RowTile:
    """`count` tiles of `size` positions, one after the other from `start` on.

    taps: for every tap of the window the positions of the tile that it may read for, None where
    all taps are good for all positions.
    """

    start: int
    size: int
    count: int
    taps: Selected


def row_tiles(length: int, largest: int, window: Window, taps: int) -> list[RowTile]:
    """A row of `length` positions in tiles of at most `largest`, alike ones together."""
    found: list[RowTile] = []
    start = 0
    for size in even_pieces(length, largest):
        selected = _selected(window, taps, start, size)
        last = found[-1] if found else None
        if last is not None and selected is None and last.taps is None and last.size == size:
            found[-1] = RowTile(last.start, size, last.count + 1, None)
        else:
            found.append(RowTile(start, size, 1, selected))
        start += size
    return found


def _selected(window: Window, taps: int, start: int, size: int) -> Selected:
    if not window.checked:
        return None
    assert window.size is not None
    found: list[tuple[int, ...]] = []
    for tap in range(taps):
        first = start * window.stride + tap * window.dilation - window.low
        inside = [0 <= first + i * window.stride < window.size for i in range(size)]
        found.append(tuple(i for i, good in enumerate(inside) if good))
    return None if all(len(positions) == size for positions in found) else tuple(found)


def tap_range(b: Builder, window: Window, taps: Index, position: Index) -> tuple[Index, Index]:
    """The first tap inside the data at an output position, and the one past the last."""
    if not window.checked:
        return 0, taps
    assert window.size is not None
    at = b.mul(position, window.stride)
    before = b.maximum(b.sub(window.low, at), 0)
    behind = b.maximum(b.sub(window.size + window.low, at), 0)
    low = b.ceildiv(before, window.dilation)
    high = b.minimum(b.ceildiv(behind, window.dilation), taps)
    return low, high


@dataclass(frozen=True)
class Place:
    """Where loops stand: the operands moved there, and for every window with taps, but the last,
    the range of those; `row` counts the rows of output positions along the first window."""

    accesses: list[Access]
    taps: tuple[tuple[Index, Index], ...] = ()
    row: Index = 0

    def at(self, b: Builder, dim: int | None, position: Index) -> Place:
        if dim is None:
            return self
        return replace(self, accesses=[a.advanced(b, dim, position) for a in self.accesses])


class WindowLoops:
    """Emits the loops of one convolution.  `part` restricts the first window to a range of its
    output positions."""

    def __init__(self, b: Builder, conv: Convolution, part: tuple[Index, Index] | None = None):
        self.b = b
        self.conv = conv
        self.part = part
        self.extents = [conv.nest.emit_extent(b, extent) for extent in conv.nest.extents]

    def over(self, dims: list[int], place: Place, body: Callable[[Place], None]) -> None:
        """Loops over dimensions that are no windows."""
        if not dims:
            body(place)
            return
        with self.b.loop(0, self.extents[dims[0]]) as position:
            self.over(dims[1:], place.at(self.b, dims[0], position), body)

    def rows(self, place: Place, body: Callable[[Place], None], level: int = 0) -> None:
        """Loops over the positions along all windows but the last."""
        b, windows = self.b, self.conv.windows
        if level >= len(windows) - 1:
            body(place)
            return
        window = windows[level]

        def at(position: Index) -> None:
            now = place.at(b, window.out, position)
            if level == 0:
                now = replace(now, row=b.sub(position, low))
            if window.tap is not None:
                bounds = tap_range(b, window, self.extents[window.tap], position)
                now = replace(now, taps=(*now.taps, bounds))
            self.rows(now, body, level + 1)

        whole = (0, 1 if window.out is None else self.extents[window.out])
        low, high = whole if self.part is None or level else self.part
        with b.loop(low, high) as position:
            at(position)

    def row(self, largest: int, body: Callable[[Index, int, Selected], None]) -> None:
        """`body(position, size, selected)` for the tiles of a row of output positions."""
        conv, b = self.conv, self.b
        if not conv.windows:
            body(0, 1, None)
            return
        window = conv.windows[-1]
        length: Index = 1 if window.out is None else self.extents[window.out]
        if not isinstance(length, int):
            self._row_of_unknown_length(length, largest, body)
            return
        for tile in row_tiles(length, largest, window, conv.row_taps or 1):
            end = tile.start + tile.count * tile.size
            with b.loop(tile.start, end, tile.size) as position:
                body(position, tile.size, tile.taps)

    def _row_of_unknown_length(
        self, length: Index, largest: int, body: Callable[[Index, int, Selected], None]
    ) -> None:
        """Tiles of `largest` positions, halves and quarters of that, and what is left as one."""
        b, size = self.b, largest
        begin: Index = 0
        while True:
            end = b.add(begin, b.round_down(b.sub(length, begin), size))
            with b.loop(begin, end, size) as position:
                body(position, size, None)
            begin = end
            if size <= _SMALLEST_PIECE:
                break
            size //= 2
        rest = {count: partial(body, begin, count, None) for count in range(1, size)}
        if rest:
            b.switch(b.sub(length, begin), rest)
