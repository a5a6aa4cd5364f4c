"""The transforms of a Winograd convolution, and the sums of products between them.

The tiles of the data are transformed a vector of channels at once.  Tiles that reach over the
border of the image read zeros there, and store only what the image has.  The products are
transformed back a vector of output channels at once, and the epilogue is applied before they are
stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.linear_map import LinearMap
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
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
from relax_mlir.lowering.linalg_to_vector.summation import longest_of_transformed, summation_block
from relax_mlir.mlir import ir

__all__ = ["Chunk", "Factors", "Products", "WinogradTiles"]


@dataclass(frozen=True)
class Products:
    """Sums of products [products][tiles][width] of `columns` output channels from `first` on;
    `plane` elements are those of one product."""

    view: FlatView
    width: int
    plane: int
    columns: int
    first: Index = 0


@dataclass(frozen=True)
class Chunk:
    """Rows of tiles of one image that go through all steps together; `data` are the transformed
    tiles."""

    image: Index
    row: Index
    rows: int
    data: FlatView


@dataclass(frozen=True)
class Factors:
    """The part of a transformed weight that a register tile reads: for each of `channels`, from
    `first` on, a row of `row` elements, of which some vectors from `start` on.

    masks: which elements of each vector exist, None for all.  ahead: distances of what to prefetch
    at every channel.
    """

    view: FlatView
    start: Index
    row: int
    first: Index
    channels: Index
    masks: list[ir.Value | None]
    ahead: list[Index] = field(default_factory=list[Index])


class WinogradTiles(WinogradEmitter):
    """Emits the steps of a Winograd convolution for chunks of at most `rows` rows of tiles."""

    def __init__(
        self,
        b: Builder,
        win: Winograd,
        nest: LoopNest,
        epilogue: Stage | None,
        target: CPUTarget,
        rows: int,
    ):
        super().__init__(b, nest, epilogue, target)
        self.win = win
        self.rows = rows
        self.data = b.flat_view(win.data)
        self.weight = b.flat_view(win.weight)

    @property
    def data_block(self) -> int:
        """Input channels whose transformed data lie together."""
        return self.win.channels

    @property
    def data_plane(self) -> int:
        """Transformed data of one product and a block of channels.  A vector more keeps them off
        each other's cache sets."""
        return self.rows * self.win.columns.tiles * self.data_block + self.lanes

    def data_buffer(self) -> FlatView:
        """A buffer for the transformed data of a chunk: [blocks][products][tiles][channels]."""
        blocks = -(-self.win.channels // self.data_block)
        return self.b.scratch(blocks * self.win.count * self.data_plane, self.element)

    def _channel_offset(self, channel: Index) -> Index:
        """Where the transformed data of a channel begin."""
        b, block = self.b, self.data_block
        if block == self.win.channels:
            return channel
        start = b.mul(b.floordiv(channel, block), self.win.count * self.data_plane)
        return b.add(start, b.mod(channel, block))

    # The data

    def transform_data(self, chunk: Chunk, low: Index, high: Index) -> None:
        whole = (inside(self.win.rows), inside(self.win.columns))
        self._each_tile(chunk, low, high, whole, self.data_block, partial(self._tile, chunk))

    def _each_tile(
        self,
        chunk: Chunk,
        low: Index,
        high: Index,
        whole: tuple[tuple[int, int], tuple[int, int]],
        size: int | Index,
        write: Callable[[Index, Index, Index, bool], None],
    ) -> None:
        """Loop over the tiles of some rows of a chunk: `write(row, column, place, border)` gets
        where a tile is in the image, and its place among those of the chunk, `size` elements each.
        The rows and columns that are `whole` are written apart from those at the border."""
        b, win = self.b, self.win
        with b.loop(low, high) as row, b.loop(0, win.columns.tiles) as column:
            at_row = b.add(chunk.row, row)
            inside = b.all_of(
                [
                    *conditions_between(b, at_row, whole[0], win.rows.tiles),
                    *conditions_between(b, column, whole[1], win.columns.tiles),
                ]
            )
            place = b.mul(b.add(b.mul(row, win.columns.tiles), column), size)
            arguments = (at_row, column, place)
            b.when(inside, lambda: write(*arguments, False), lambda: write(*arguments, True))

    def _tile(self, chunk: Chunk, row: Index, column: Index, to: Index, border: bool) -> None:
        """Transform a tile, a vector of channels at a time."""
        b, win = self.b, self.win
        line = win.columns.size * win.channels
        image = b.mul(chunk.image, win.rows.size * line)
        y, x = (
            b.sub(b.mul(tile, axis.step), axis.low)
            for tile, axis in ((row, win.rows), (column, win.columns))
        )
        if not border:
            corner = b.add(b.add(image, b.mul(y, line)), b.mul(x, win.channels))

            def whole_tile(channel: Index, mask: ir.Value | None) -> None:
                start = b.add(corner, channel)
                self._transform_tile(
                    chunk,
                    lambda i, j: b.load(
                        self.data, b.add(start, i * line + j * win.channels), self.lanes, mask
                    ),
                    b.add(to, self._channel_offset(channel)),
                    mask,
                )

            self.vectors(win.channels, whole_tile)
            return
        rows = self.elements(y, win.rows, line)
        columns = self.elements(x, win.columns, win.channels)

        def outside(channel: Index, mask: ir.Value | None) -> None:
            start = b.add(image, channel)
            lines = [b.add(start, offset) for offset, _ in rows]

            def element(i: int, j: int) -> ir.Value:
                there = b.broadcast(value_of(b, [rows[i][1], columns[j][1]]), self.lanes)
                both = there if mask is None else b.op("arith.andi", there.type, [there, mask])
                return b.load(self.data, b.add(lines[i], columns[j][0]), self.lanes, both)

            self._transform_tile(chunk, element, b.add(to, self._channel_offset(channel)), mask)

        self.vectors(win.channels, outside)

    def _transform_tile(
        self,
        chunk: Chunk,
        element: Callable[[int, int], ir.Value],
        to: Index,
        mask: ir.Value | None,
    ) -> None:
        b, win = self.b, self.win
        rows, columns = LinearMap(win.rows.b), LinearMap(win.columns.b)
        height, width = win.rows.b.shape[1], win.columns.b.shape[1]
        lines = [rows.emit(b, [element(i, j) for i in range(height)]) for j in range(width)]
        for p in range(win.rows.products):
            for q, value in enumerate(columns.emit(b, [line[p] for line in lines])):
                plane = (p * win.columns.products + q) * self.data_plane
                stored = b.zero(self.vector) if value is None else value
                b.store(stored, chunk.data, b.add(to, plane), mask)

    # The products

    def sum_block(self) -> int:
        """How many channels to sum before adding to the rest."""
        channels = self.win.channels
        return summation_block(channels, longest_of_transformed(channels))

    def add_products(
        self,
        chunk: Chunk,
        products: Products,
        piece: Piece,
        factors: Factors,
        later: ir.Value | None,
    ) -> None:
        """The products of some tiles and factors.

        The sums begin from zero, and are added to what is there only in the end, where `later` is
        true: the rounding errors of one long sum would be several times larger.
        """
        b, lanes = self.b, self.lanes
        vectors = len(factors.masks)
        source = b.add(b.mul(piece.product, self.data_plane), b.mul(piece.tile, self.data_block))
        source = b.add(source, self._channel_offset(factors.first))
        to = b.mul(piece.product, products.plane)
        places = [
            b.add(to, b.add(b.mul(b.add(piece.tile, i), products.width), v * lanes))
            for i in range(piece.size)
            for v in range(vectors)
        ]

        def step(channel: Index, values: list[ir.Value]) -> list[ir.Value]:
            at = b.add(factors.start, b.mul(channel, factors.row))
            row = [
                b.load(factors.view, b.add(at, v * lanes), lanes, mask)
                for v, mask in enumerate(factors.masks)
            ]
            for distance in factors.ahead:
                b.prefetch(factors.view, b.add(at, distance))
            first = b.add(source, channel)
            results: list[ir.Value] = []
            for i in range(piece.size):
                datum = b.broadcast(b.load(chunk.data, b.add(first, i * self.data_block), 1), lanes)
                for v, factor in enumerate(row):
                    results.append(b.fma(datum, factor, values[i * vectors + v]))
            return results

        zeros = [b.zero(self.vector)] * len(places)
        sums = b.carried_loop(0, factors.channels, 1, zeros, step)
        if later is not None:
            mask = b.broadcast(later, lanes)
            sums = [
                b.op("arith.addf", self.vector, [b.load(products.view, at, lanes, mask), sum_])
                for at, sum_ in zip(places, sums, strict=True)
            ]
        for at, sum_ in zip(places, sums, strict=True):
            b.store(sum_, products.view, at)

    # The output

    def transform_products(self, chunk: Chunk, products: Products, low: Index, high: Index) -> None:
        """The output of some rows of tiles, in the channels of `products`."""
        rows, columns = (
            (0, axis.length // axis.output) for axis in (self.win.rows, self.win.columns)
        )
        write = partial(self._output_tile, chunk, products)
        self._each_tile(chunk, low, high, (rows, columns), products.width, write)

    def _output_tile(
        self,
        chunk: Chunk,
        products: Products,
        row: Index,
        column: Index,
        source: Index,
        border: bool,
    ) -> None:
        b, win = self.b, self.win
        a_rows, a_columns = LinearMap(win.rows.a), LinearMap(win.columns.a)
        top, left = b.mul(row, win.rows.output), b.mul(column, win.columns.output)

        def vector(channel: Index, mask: ir.Value | None) -> None:
            start = b.add(source, channel)
            lines: list[list[ir.Value | None]] = []
            for q in range(win.columns.products):
                numbers = [p * win.columns.products + q for p in range(win.rows.products)]
                values = [
                    b.load(products.view, b.add(start, number * products.plane), self.lanes)
                    for number in numbers
                ]
                lines.append(a_rows.emit(b, values))
            for i in range(win.rows.output):
                row_values = a_columns.emit(b, [line[i] for line in lines])
                for j, value in enumerate(row_values):
                    assert value is not None
                    at = b.add(products.first, channel)
                    place = (chunk.image, b.add(top, i), b.add(left, j), at)
                    if not border:
                        self.finish(value, place, mask)
                        continue
                    exists = b.all_of(
                        [
                            below(b, place[1], win.rows.length),
                            below(b, place[2], win.columns.length),
                        ]
                    )
                    b.when(
                        exists,
                        lambda value=value, place=place: self.finish(value, place, mask),
                    )

        self.vectors(products.columns, vector)
