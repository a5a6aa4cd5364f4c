"""Emitting Winograd convolutions along one axis.

The data of a chunk are transformed along the axis, a vector of channels of a tile at a time, and
kept by positions of the other axis: those of one parity (of as many kinds as its stride has) lie
together, so that the tiles of all output positions follow each other for every tap.  For each panel
of output channels and each piece of tiles, as many as a register tile has, come the sums over taps
and channels, one for each product of the algorithm, which stay in the first-level cache until they
are transformed to the output right after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    choose_register_tile,
    winograd_1d_chunk,
)
from relax_mlir.lowering.linalg_to_vector.convolution.linear_map import LinearMap
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_1d_matching import Winograd1D
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_output import (
    Piece,
    WinogradEmitter,
    below,
    conditions_between,
    inside,
    value_of,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, Stage
from relax_mlir.lowering.linalg_to_vector.parallel import MIN_WORK
from relax_mlir.lowering.linalg_to_vector.summation import blocked_sum, longest_of_transformed
from relax_mlir.mlir import ir

__all__ = ["emit_winograd_1d"]

# Sums over so few channels are written out.
_UNROLLED_CHANNELS = 4


def emit_winograd_1d(
    b: Builder, win: Winograd1D, nest: LoopNest, epilogue: Stage | None, target: CPUTarget
) -> None:
    """Emit a convolution.  The nest has the dimensions n, h, w, o of the output (n, w, o for one
    without rows) and, besides `out` itself, the operands of the epilogue."""
    _Emitter(b, win, nest, epilogue, target).emit()


@dataclass(frozen=True)
class _Chunk:
    """`rows` output positions of the summed axis from `row` on, times `tiles` tiles from `tile` on,
    of an image; `data` are their transformed data."""

    image: Index
    row: Index
    rows: int
    tile: Index
    tiles: int
    data: FlatView


@dataclass(frozen=True)
class _Panel:
    """`columns` output channels from `first` on; `masks` say which elements of each vector exist,
    `sums` is where their products wait for the transform, `width` elements a tile."""

    first: Index
    columns: int
    masks: list[ir.Value | None]
    width: int
    sums: FlatView


class _Emitter(WinogradEmitter):
    def __init__(
        self,
        b: Builder,
        win: Winograd1D,
        nest: LoopNest,
        epilogue: Stage | None,
        target: CPUTarget,
    ):
        super().__init__(b, nest, epilogue, target)
        self.win = win
        self.data = b.flat_view(win.data)
        self.weight = b.flat_view(win.weight)
        axis, summed = win.axis, win.summed
        self.products = axis.products
        depth = summed.taps * win.channels
        work = 2 * self.products * axis.tiles * summed.length * depth * win.outputs
        self.cores = target.num_cores if work >= MIN_WORK else 1
        self.by_tiles = summed.length == 1
        self.size = winograd_1d_chunk(
            (summed.length, axis.tiles),
            self.products * win.channels,
            self.products * depth * win.outputs,
            summed.stride,
            target,
            self.cores,
        )
        self.rows, self.tiles = (1, self.size) if self.by_tiles else (self.size, axis.tiles)
        counts = (1, 2, 3, 4) if win.panel is None else (win.panel // self.lanes,)
        self.tile = choose_register_tile(
            self.rows * self.tiles, win.panel or win.outputs, self.lanes, target, counts
        )

    # Chunks

    def emit(self) -> None:
        total = self.win.axis.tiles if self.by_tiles else self.win.summed.length
        cores = self.cores if total > self.size else 1
        self.chunks(total, self.size, cores, self._buffers, self._chunk)

    def _buffers(self) -> tuple[FlatView, FlatView]:
        """Transformed data of a chunk, and the products of a piece in a panel."""
        data = self.b.scratch(self.products * self.data_plane, self.element)
        return data, self.b.scratch(self.products * self.sum_plane, self.element)

    def _chunk(
        self, buffers: tuple[FlatView, FlatView], image: Index, first: Index, count: int
    ) -> None:
        data, sums = buffers
        if self.by_tiles:
            chunk = _Chunk(image, 0, 1, first, count, data)
        else:
            chunk = _Chunk(image, first, count, 0, self.tiles, data)
        self._transform_data(chunk)
        self._panels(chunk, sums)

    @property
    def data_row(self) -> int:
        """Transformed data of a product at one position of the summed axis."""
        return self.tiles * self.win.channels

    @property
    def phase_plane(self) -> int:
        """Those of the positions of one remainder of the stride."""
        summed = self.win.summed
        return (self.rows - 1 + -(-summed.taps // summed.stride)) * self.data_row

    @property
    def data_plane(self) -> int:
        """Those of a product.  A vector more keeps them off each other's cache sets."""
        phases = min(self.win.summed.taps, self.win.summed.stride)
        return phases * self.phase_plane + self.lanes

    @property
    def sum_plane(self) -> int:
        """Sums of a product: those of a register tile."""
        return (self.tile.pixels + 1) * self.tile.vectors * self.lanes

    def _taps(self, phase: int) -> int:
        """Taps of the summed axis that read positions of a remainder of the stride."""
        summed = self.win.summed
        return -(-(summed.taps - phase) // summed.stride)

    # The data

    def _transform_data(self, chunk: _Chunk) -> None:
        b, summed = self.b, self.win.summed
        for phase in range(min(summed.taps, summed.stride)):
            with b.loop(0, chunk.rows - 1 + self._taps(phase)) as position:
                row = b.add(b.mul(b.add(chunk.row, position), summed.stride), phase - summed.low)
                to = b.add(b.mul(position, self.data_row), phase * self.phase_plane)
                with b.loop(0, chunk.tiles) as tile:
                    place = b.add(to, b.mul(tile, self.win.channels))
                    self._transform_tile(chunk, row, b.add(chunk.tile, tile), place)

    def _strides(self) -> tuple[int, int]:
        """Elements of the data from one to the next along the axis and along the summed one."""
        width = (self.win.axis if self.win.direction else self.win.summed).size
        line, element = width * self.win.channels, self.win.channels
        return (element, line) if self.win.direction else (line, element)

    def _row_exists(self, row: Index) -> ir.Value | bool:
        summed = self.win.summed
        last = (summed.length - 1) * summed.stride + summed.taps - 1 - summed.low
        if summed.low == 0 and last < summed.size:
            return True
        return self.b.compare("ult", self.b.index(row), summed.size)

    def _transform_tile(self, chunk: _Chunk, row: Index, tile: Index, to: Index) -> None:
        b, win = self.b, self.win
        along, across = self._strides()
        image = b.mul(chunk.image, win.axis.size * win.summed.size * win.channels)
        exists = self._row_exists(row)
        first = b.sub(b.mul(tile, win.axis.step), win.axis.low)

        def whole() -> None:
            corner = b.add(b.add(image, b.mul(row, across)), b.mul(first, along))

            def element(channel: Index, mask: ir.Value | None, j: int) -> ir.Value:
                at = b.add(b.add(corner, channel), j * along)
                return b.load(self.data, at, self.lanes, mask)

            self._transform(chunk, element, to)

        def border() -> None:
            near = b.minimum(b.maximum(row, 0), win.summed.size - 1)
            start = b.add(image, b.mul(near, across))
            places = self.elements(first, win.axis.b.shape[1], win.axis.size, along)

            def element(channel: Index, mask: ir.Value | None, j: int) -> ir.Value:
                offset, there = places[j]
                lanes = b.broadcast(value_of(b, [there, exists]), self.lanes)
                if mask is not None:
                    lanes = b.op("arith.andi", lanes.type, [lanes, mask])
                return b.load(self.data, b.add(b.add(start, channel), offset), self.lanes, lanes)

            self._transform(chunk, element, to)

        conditions = conditions_between(b, tile, inside(win.axis), win.axis.tiles)
        b.when(b.all_of([exists, *conditions]), whole, border)

    def _transform(
        self,
        chunk: _Chunk,
        element: Callable[[Index, ir.Value | None, int], ir.Value],
        to: Index,
    ) -> None:
        b, matrix = self.b, LinearMap(self.win.axis.b)

        def vector(channel: Index, mask: ir.Value | None) -> None:
            values = [element(channel, mask, j) for j in range(self.win.axis.b.shape[1])]
            at = b.add(to, channel)
            for q, value in enumerate(matrix.emit(b, values)):
                stored = b.zero(self.vector) if value is None else value
                b.store(stored, chunk.data, b.add(at, q * self.data_plane), mask)

        self.vectors(self.win.channels, vector)

    # The products

    def _panels(self, chunk: _Chunk, sums: FlatView) -> None:
        b, outputs, vectors = self.b, self.win.outputs, self.tile.vectors
        width = vectors * self.lanes
        whole, rest = divmod(outputs, width)
        with b.loop(0, whole * width, width) as first:
            self._panel(chunk, _Panel(first, width, [None] * vectors, width, sums))
        if rest:
            masks: list[ir.Value | None] = [None] * -(-rest // self.lanes)
            if rest % self.lanes:
                masks[-1] = b.mask(self.lanes, rest % self.lanes)
            self._panel(chunk, _Panel(whole * width, rest, masks, width, sums))

    def _panel(self, chunk: _Chunk, panel: _Panel) -> None:
        b = self.b
        for piece in self.pieces(0, chunk.rows * chunk.tiles, self.tile.pixels):
            with b.loop(0, self.products) as product:
                self._sum(chunk, panel, piece, product)
            with b.loop(0, piece.size) as number:
                self._output_tile(chunk, panel, b.add(piece.tile, number), number)

    def _sum(self, chunk: _Chunk, panel: _Panel, piece: Piece, product: Index) -> None:
        """The sums of one product for a piece of the tiles."""
        b, summed, channels = self.b, self.win.summed, self.win.channels
        tap = channels * (self.win.panel or self.win.outputs)
        factors = b.mul(product, summed.taps * tap)
        if self.win.panel is None:
            factors = b.add(factors, panel.first)
        else:
            factors = b.add(factors, b.mul(panel.first, self.products * summed.taps * channels))
        data = b.add(b.mul(product, self.data_plane), b.mul(piece.tile, channels))
        sums = [b.zero(self.vector)] * (piece.size * len(panel.masks))
        for phase in range(min(summed.taps, summed.stride)):

            def taps(i: Index, values: list[ir.Value], phase: int = phase) -> list[ir.Value]:
                at = b.add(b.add(data, phase * self.phase_plane), b.mul(i, self.data_row))
                row = b.add(b.mul(i, summed.stride), phase)
                return self._channels(
                    chunk, panel, piece, at, b.add(factors, b.mul(row, tap)), values
                )

            sums = b.carried_loop(0, self._taps(phase), 1, sums, taps)
        to = b.mul(product, self.sum_plane)
        for i in range(piece.size):
            for v in range(len(panel.masks)):
                at = b.add(to, i * panel.width + v * self.lanes)
                b.store(sums[i * len(panel.masks) + v], panel.sums, at)

    def _channels(
        self,
        chunk: _Chunk,
        panel: _Panel,
        piece: Piece,
        data: Index,
        factors: Index,
        values: list[ir.Value],
    ) -> list[ir.Value]:
        """Sums with the products of all channels at one tap added."""
        b, channels = self.b, self.win.channels
        row = self.win.panel or self.win.outputs

        def step(channel: Index, sums: list[ir.Value]) -> list[ir.Value]:
            at = b.add(factors, b.mul(channel, row))
            loaded = [
                b.load(self.weight, b.add(at, v * self.lanes), self.lanes, mask)
                for v, mask in enumerate(panel.masks)
            ]
            results: list[ir.Value] = []
            for i in range(piece.size):
                place = b.add(b.add(data, channel), i * channels)
                datum = b.broadcast(b.load(chunk.data, place, 1), self.lanes)
                for v, factor in enumerate(loaded):
                    results.append(b.fma(datum, factor, sums[i * len(loaded) + v]))
            return results

        if channels <= _UNROLLED_CHANNELS:
            for channel in range(channels):
                values = step(channel, values)
            return values
        longest = longest_of_transformed(channels)
        if self.win.summed.taps * channels <= 2 * longest:
            return b.carried_loop(0, channels, 1, values, step)
        add = partial(_sum_of, b, self.vector)
        return blocked_sum(b, channels, values, b.zero(self.vector), step, add, longest)

    # The output

    def _output_tile(self, chunk: _Chunk, panel: _Panel, position: Index, number: Index) -> None:
        """Transform and finish the outputs of a tile, the tile `number` of the products."""
        b, axis = self.b, self.win.axis
        row = b.add(chunk.row, b.floordiv(position, chunk.tiles))
        tile = b.add(chunk.tile, b.mod(position, chunk.tiles))
        source, matrix = b.mul(number, panel.width), LinearMap(axis.a)
        start = b.mul(tile, axis.output)

        def vector(channel: Index, mask: ir.Value | None) -> None:
            at = b.add(source, channel)
            values = [
                b.load(panel.sums, b.add(at, q * self.sum_plane), self.lanes)
                for q in range(self.products)
            ]
            first = b.add(panel.first, channel)
            for j, value in enumerate(matrix.emit(b, values)):
                assert value is not None
                along = b.add(start, j)
                place = (chunk.image, row, along, first)
                if self.win.is_line:
                    place = (chunk.image, along, first)
                elif not self.win.direction:
                    place = (chunk.image, along, row, first)
                store = partial(self.finish, value, place, mask)
                exists = axis.length % axis.output == 0 or below(b, along, axis.length)
                b.when(exists, store)

        self.vectors(panel.columns, vector)


def _sum_of(b: Builder, kind: ir.Type, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    return b.op("arith.addf", kind, [lhs, rhs])
