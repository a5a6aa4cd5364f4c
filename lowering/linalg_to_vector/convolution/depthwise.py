"""Depthwise convolution: a row of output positions times one vector of channels.

Each vector of data that the tile's windows reach is loaded once and multiplied for all positions
that it counts for; the weights of a row of taps stay in registers.  Channels are innermost, so that
the data are read as they lie in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import MicroKernel, Tile
from relax_mlir.lowering.linalg_to_vector.convolution.cost import depthwise_pixels
from relax_mlir.lowering.linalg_to_vector.convolution.loops import Place, Selected, WindowLoops
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution, Window
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.mlir import ir

__all__ = ["DepthwiseKernel", "emit_depthwise", "row_tile"]

# Of the first-level cache for the rows that a window reaches.
_ROWS_IN_CACHE = 0.75
# Rows of more taps become a loop.
_UNROLLED_TAPS = 15


def emit_depthwise(
    b: Builder,
    conv: Convolution,
    target: CPUTarget,
    initial: ir.Value | None,
    rows: tuple[Index, Index] | None = None,
) -> None:
    """Emit a convolution whose column is a group.  `rows` restricts the first window to a range of
    its output positions."""
    taps = [w.tap for w in conv.windows if w.tap is not None]
    contraction = Contraction(
        conv.nest, (), conv.row, conv.column, tuple(taps),
        conv.data, conv.weight, conv.out, conv.epilogue,
    )  # fmt: skip
    loops = WindowLoops(b, conv, rows)
    bits = max(32, *(argument.type.width for argument in conv.nest.body.block.arguments))
    lanes = target.lanes(bits)
    channels = loops.extents[conv.column]
    pixels = depthwise_pixels(conv, target)

    def part(image: Place, low: Index, high: Index) -> None:
        """The channels from `low` to before `high`, of which only the last may fill no vector."""

        def tile(place: Place, position: Index, size: int, selected: Selected) -> None:
            window = conv.windows[-1] if conv.windows else None
            kernel = DepthwiseKernel(
                b, contraction, place.accesses, lanes, initial, place.taps, window, selected
            )

            def vector(column: Index, active: Index | None) -> None:
                kernel.emit(row_tile(conv, place, loops, position, size, column, active))

            whole = b.add(low, b.round_down(b.sub(high, low), lanes))
            with b.loop(low, whole, lanes) as column:
                vector(column, None)
            rest = b.sub(high, whole)
            b.when(b.at_least(rest, 1), lambda: vector(whole, rest))

        loops.rows(image, lambda row: loops.row(pixels, lambda *at: tile(row, *at)))

    def image(place: Place) -> None:
        block = _channel_block(conv, target, lanes)
        if block is None or not isinstance(channels, int):
            part(place, 0, channels)
            return
        whole = channels // block * block
        with b.loop(0, whole, block) as low:
            part(place, low, b.add(low, block))
        if whole < channels:
            part(place, whole, channels)

    place = Place(conv.nest.emit_accesses(b, contraction.operands()))
    loops.over(list(conv.outer), place, image)


def _channel_block(conv: Convolution, target: CPUTarget, lanes: int) -> int | None:
    """Channels that are computed for a whole image before the next ones, so that the rows that a
    window reaches are read from the first-level cache by all but the first of its rows of taps;
    None for all of them.

    Only of images that the second-level cache has: elsewhere pieces of pixels are read slowly,
    112x112x96 by 2 took a quarter longer.  14x14x384 takes 0.8 of the time so, 7x7x960 0.7, and
    28x28x240 with 5x5 taps 0.87; MobileNetV2 takes 0.97.
    """
    if len(conv.windows) != 2:
        return None
    rows = max(conv.windows, key=lambda w: _stride_of(conv, w.tap))
    columns = conv.windows[0] if rows is conv.windows[1] else conv.windows[1]
    taps, channels = conv.extent(rows.tap).static, conv.extent(conv.column).static
    if taps is None or channels is None or rows.size is None or columns.size is None:
        return None
    width = conv.nest.operands[conv.data].element_type.width // 8
    reached = ((taps - 1) * rows.dilation + 1) * columns.size * width
    if rows.size * columns.size * channels * width > target.l2_bytes:
        return None
    block = int(_ROWS_IN_CACHE * target.l1_bytes / reached) // lanes * lanes
    return block if lanes <= block < channels and taps > 1 else None


def _stride_of(conv: Convolution, tap: int | None) -> int:
    return 0 if tap is None else conv.nest.stride(conv.data, tap).factor


def row_tile(
    conv: Convolution,
    place: Place,
    loops: WindowLoops,
    position: Index,
    size: int,
    column: Index,
    active: Index | None,
) -> Tile:
    """`size` output positions of a row times a vector of channels."""
    weight = place.accesses[conv.weight]
    assert weight.view is not None
    taps = [w.tap for w in conv.windows if w.tap is not None]
    return Tile(
        row=position,
        column=column,
        rows=size,
        vectors=1,
        active=active,
        b_view=weight.view,
        b_base=loops.b.add(weight.base, column),
        b_k_strides=tuple(weight.strides[tap] for tap in taps),
        k_start=0,
        k_extents=tuple(loops.extents[tap] for tap in taps),
        first=True,
        last=True,
    )


@dataclass
class DepthwiseKernel(MicroKernel):
    """Tiles of output positions times one vector of channels.

    ranges: the bounds of the loops over taps of all axes but the row's; window: that of the row;
    selected: the positions of the tile that each of its taps counts for.
    """

    ranges: tuple[tuple[Index, Index], ...] = ()
    window: Window | None = None
    selected: Selected = None

    def _accumulate(self, tile: Tile) -> list[ir.Value]:
        b, con = self.b, self.contraction
        masks = self._masks(tile)
        start = self._start_row(tile, self.empty()) * tile.rows
        a = self.accesses[con.a]
        stride = 0 if con.row is None else a.strides[con.row]
        first = b.add(b.add(a.base, b.mul(tile.row, stride)), self._first_channel(tile))
        return self._tap_loops(tile, 0, first, tile.b_base, start, masks[0])

    def _tap_loops(
        self,
        tile: Tile,
        level: int,
        a_at: Index,
        b_at: Index,
        values: list[ir.Value],
        mask: ir.Value | None,
    ) -> list[ir.Value]:
        b = self.b
        if level == len(self.ranges):
            return self._row_of_taps(tile, level, a_at, b_at, values, mask)
        a_stride = self.accesses[self.contraction.a].strides[self.contraction.k[level]]
        b_stride = tile.b_k_strides[level]

        def step(tap: Index, carried: list[ir.Value]) -> list[ir.Value]:
            at = b.add(a_at, b.mul(tap, a_stride)), b.add(b_at, b.mul(tap, b_stride))
            return self._tap_loops(tile, level + 1, *at, carried, mask)

        return b.carried_loop(*self.ranges[level], 1, values, step)

    def _row_of_taps(
        self,
        tile: Tile,
        level: int,
        a_at: Index,
        b_at: Index,
        values: list[ir.Value],
        mask: ir.Value | None,
    ) -> list[ir.Value]:
        b, con = self.b, self.contraction
        a = self.accesses[con.a]
        window = self.window
        has_taps = window is not None and window.tap is not None
        taps = tile.k_extents[level] if has_taps else 1
        assert isinstance(taps, int) and a.view is not None
        view = a.view
        a_tap, b_tap = (a.strides[con.k[level]], tile.b_k_strides[level]) if has_taps else (0, 0)
        a_row: Index = 0 if con.row is None else a.strides[con.row]

        def data(row: int, tap: Index) -> list[ir.Value]:
            at = b.add(b.add(a_at, b.mul(row, a_row)), b.mul(tap, a_tap))
            return self._data(view, at, mask)

        def factors(tap: Index) -> list[ir.Value]:
            return self._factors(tile.b_view, b.add(b_at, b.mul(tap, b_tap)), mask)

        if taps > _UNROLLED_TAPS and self.selected is None:

            def step(tap: Index, carried: list[ir.Value]) -> list[ir.Value]:
                found = factors(tap)
                return [
                    self._products(data(row, tap), found, value)
                    for row, value in enumerate(carried)
                ]

            return b.carried_loop(0, taps, 1, values, step)
        weights: dict[int, list[ir.Value]] = {}
        results = list(values)
        for pairs in self._by_datum(tile.rows, taps).values():
            found = data(*pairs[0])
            for row, tap in pairs:
                if tap not in weights:
                    weights[tap] = factors(tap)
                results[row] = self._products(found, weights[tap], results[row])
        return results

    def _first_channel(self, tile: Tile) -> Index:
        """Where the data of a tile begin in a position's channels."""
        return tile.column

    def _data(self, view: FlatView, at: Index, mask: ir.Value | None) -> list[ir.Value]:
        """What the weights of a position are multiplied by: a vector for each channel of a
        group."""
        return [self._promote(self.b.load(view, at, self.lanes, mask))]

    def _factors(self, view: FlatView, at: Index, mask: ir.Value | None) -> list[ir.Value]:
        """The weights of a tap: a vector for each channel of a group."""
        return [self._promote(self.b.load(view, at, self.lanes, mask))]

    def _products(self, data: list[ir.Value], factors: list[ir.Value], value: ir.Value) -> ir.Value:
        for left, right in zip(data, factors, strict=True):
            value = self.multiply(left, right, value)
        return value

    def _by_datum(self, rows: int, taps: int) -> dict[int, list[tuple[int, int]]]:
        """The rows and taps that meet at each element of the data, in memory order."""
        window = self.window
        stride, dilation = (1, 1) if window is None else (window.stride, window.dilation)
        found: dict[int, list[tuple[int, int]]] = {}
        for row in range(rows):
            for tap in range(taps):
                if self.selected is None or row in self.selected[tap]:
                    found.setdefault(row * stride + tap * dilation, []).append((row, tap))
        return dict(sorted(found.items()))
