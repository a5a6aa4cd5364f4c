"""The transforms of a Winograd convolution, and the sums of products between them.

The tiles of the data are transformed a vector of channels at once.  Tiles that reach over the
border of the image read zeros there, and store only what the image has.  The products are
transformed back a vector of output channels at once, and the epilogue is applied before they are
stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.linear_map import LinearMap
from relax_mlir.lowering.linalg_to_vector.convolution.tile_pooling import PooledOutput
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_chain import (
    PartOfTile,
    WinogradAxis,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_output import (
    Piece,
    WinogradEmitter,
    below,
    conditions_between,
    inside,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, Stage
from relax_mlir.lowering.linalg_to_vector.summation import longest_of_transformed, summation_block
from relax_mlir.mlir import ir

__all__ = ["Chunk", "Factors", "Products", "WinogradTiles"]

_FEWEST_WHOLE = 5
"""Of fewer whole tiles than this none has code of its own: with it ResNet-18 takes 0.1 s more to
compile and as long to run."""


@dataclass(frozen=True)
class Place:
    """A tile: its row and column among those of the image, and its row among those of its chunk.

    last: whether it is in the last row and the last column, with matrices of their own.
    border: whether it may read beyond the image, or reach over the end of the output.
    """

    row: Index
    column: Index
    line: Index
    last: tuple[bool, bool] = (False, False)
    border: bool = False


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
        self.pooled: PooledOutput | None = None
        self.rows = rows
        self.data = b.flat_view(win.data)
        self.weight = b.flat_view(win.weight)
        # Of the data and of the output, rows and columns.
        self.sizes: list[Index] = [win.rows.size, win.columns.size]
        self.lengths: list[Index] = [win.rows.length, win.columns.length]

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

    # Tiles and products

    def tile_rows(self, chunk: Chunk, products: range) -> list[tuple[range, int]]:
        """Which of some rows of products how many rows of tiles of a chunk have.  Those that the
        last row does without are not computed for it, if it is known to be in the chunk."""
        axis = self.win.rows
        whole = chunk.rows if chunk.rows < axis.tiles else axis.whole
        return _with_tiles(products, axis.used_by_all, chunk.rows, whole)

    def tile_columns(self, products: range) -> list[tuple[range, int]]:
        """Which of some columns of products how many columns of tiles have."""
        axis = self.win.columns
        return _with_tiles(products, axis.used_by_all, axis.tiles, axis.whole)

    def each_product(
        self, chunk: Chunk, rows: tuple[Index, Index], body: Callable[[Index, int], None]
    ) -> None:
        """Loop over the products of some rows, in the order of the weight: `body` gets the number
        of a product, and how many tiles have it."""
        b, axis, every = self.b, self.win.rows, self.win.columns.products

        def in_row(row: Index, lines: int) -> None:
            for columns, across in self.tile_columns(range(every)):
                with b.loop(columns.start, columns.stop) as column:
                    body(b.add(b.mul(row, every), column), lines * across)

        (_, most), *fewer = self.tile_rows(chunk, range(axis.products))
        with b.loop(*rows) as row:
            if not fewer:
                in_row(row, most)
                return
            ((rest, least),) = fewer
            b.when(
                b.at_least(row, rest.start), lambda: in_row(row, least), lambda: in_row(row, most)
            )

    def _matrices(self, place: Place) -> list[PartOfTile | WinogradAxis]:
        """What has the matrices of a tile, for rows and columns."""
        return [
            axis.last if is_last and axis.last is not None else axis
            for axis, is_last in zip((self.win.rows, self.win.columns), place.last, strict=True)
        ]

    def _offsets(self, place: Place, size: int) -> list[Index]:
        """Where a tile is in each column of products, of `size` elements a tile: the tiles that
        have a product are together."""
        b, products = self.b, self.win.columns.products
        return [
            b.mul(b.add(b.mul(place.line, across), place.column), size)
            for columns, across in self.tile_columns(range(products))
            for _ in columns
        ]

    def _each_tile(
        self,
        chunk: Chunk,
        low: Index,
        high: Index,
        whole: tuple[tuple[int, int], tuple[int, int]],
        write: Callable[[Place], None],
    ) -> None:
        """Loop over the tiles of some rows of a chunk.  The rows and columns that are `whole` are
        written apart from those at the border, and from the last ones."""
        b, win = self.b, self.win
        axes = (win.rows, win.columns)
        within = [
            (first, min(end, axis.whole)) for (first, end), axis in zip(whole, axes, strict=True)
        ]
        # Whether tiles that are whole are written apart, and whether others are then that are none
        # of the last.
        none = prod(max(0, end - first) for first, end in within) < _FEWEST_WHOLE
        every = not none and all(
            found == (0, axis.whole) for found, axis in zip(within, axes, strict=True)
        )
        with b.loop(low, high) as line, b.loop(0, win.columns.tiles) as column:
            place = Place(b.add(chunk.row, line), column, line)
            inside = not none and b.all_of(
                [
                    *conditions_between(b, place.row, within[0], win.rows.tiles),
                    *conditions_between(b, column, within[1], win.columns.tiles),
                ]
            )
            border = replace(place, border=True)
            b.when(inside, lambda: write(place), lambda: self._at_border(border, write, every))

    def _at_border(self, place: Place, write: Callable[[Place], None], only_last: bool) -> None:
        """Write a tile as what it is: one of the last rows or columns, or not.  Those that are
        alone in being what they are have a place that is known.  only_last: whether there are no
        others."""
        b, rows, columns = self.b, self.win.rows, self.win.columns

        def as_one_of(row: Index, column: Index, last: tuple[bool, bool]) -> None:
            if any(last) or not only_last:
                write(replace(place, row=row, column=column, last=last))

        def in_row(row: Index, is_last: bool) -> None:
            if columns.last is None:
                as_one_of(row, place.column, (is_last, False))
                return
            b.when(
                b.at_least(place.column, columns.whole),
                lambda: as_one_of(row, columns.whole, (is_last, True)),
                lambda: as_one_of(row, _only(columns, place.column), (is_last, False)),
            )

        if rows.last is None:
            in_row(place.row, False)
            return
        b.when(
            b.at_least(place.row, rows.whole),
            lambda: in_row(rows.whole, True),
            lambda: in_row(_only(rows, place.row), False),
        )

    # The data

    def transform_data(self, chunk: Chunk, low: Index, high: Index) -> None:
        axes = (self.win.rows, self.win.columns)
        rows, columns = ((first, min(end, axis.whole)) for axis in axes
                         for first, end in [inside(axis)])  # fmt: skip
        self._each_tile(chunk, low, high, (rows, columns), partial(self._tile, chunk))

    def _tile(self, chunk: Chunk, place: Place) -> None:
        """Transform a tile, a vector of channels at a time."""
        b, win = self.b, self.win
        line = b.mul(self.sizes[1], win.channels)
        image = b.mul(chunk.image, b.mul(self.sizes[0], line))
        y, x = (
            b.sub(b.mul(tile, axis.step), axis.low)
            for tile, axis in ((place.row, win.rows), (place.column, win.columns))
        )
        if not place.border:
            corner = b.add(b.add(image, b.mul(y, line)), b.mul(x, win.channels))

            def whole_tile(channel: Index, mask: ir.Value | None) -> None:
                start = b.add(corner, channel)
                self._transform_tile(
                    chunk,
                    place,
                    lambda i, j: b.load(
                        self.data,
                        b.add(b.add(start, b.mul(line, i)), j * win.channels),
                        self.lanes,
                        mask,
                    ),
                    channel,
                    mask,
                )

            self.vectors(win.channels, whole_tile)
            return
        rows = self.elements(y, win.rows.b.shape[1], self.sizes[0], line)
        columns = self.elements(x, win.columns.b.shape[1], self.sizes[1], win.channels)

        def outside(channel: Index, mask: ir.Value | None) -> None:
            start = b.add(image, channel)
            lines = [b.add(start, offset) for offset, _ in rows]

            def element(i: int, j: int) -> ir.Value | None:
                there = b.all_of([rows[i][1], columns[j][1]])
                if there is False:
                    return None
                both = mask
                if not isinstance(there, bool):
                    every = b.broadcast(there, self.lanes)
                    both = every if mask is None else b.op("arith.andi", every.type, [every, mask])
                return b.load(self.data, b.add(lines[i], columns[j][0]), self.lanes, both)

            self._transform_tile(chunk, place, element, channel, mask)

        self.vectors(win.channels, outside)

    def _transform_tile(
        self,
        chunk: Chunk,
        place: Place,
        element: Callable[[int, int], ir.Value | None],
        channel: Index,
        mask: ir.Value | None,
    ) -> None:
        b, win = self.b, self.win
        own_rows, own_columns = self._matrices(place)
        rows, columns = LinearMap(own_rows.b), LinearMap(own_columns.b)
        height, width = own_rows.b.shape[1], own_columns.b.shape[1]
        starts = [
            b.add(offset, self._channel_offset(channel))
            for offset in self._offsets(place, self.data_block)
        ]
        lines = [rows.emit(b, [element(i, j) for i in range(height)]) for j in range(width)]
        for p in range(own_rows.products):
            for q, value in enumerate(columns.emit(b, [line[p] for line in lines])):
                plane = (p * win.columns.products + q) * self.data_plane
                stored = b.zero(self.vector) if value is None else value
                b.store(stored, chunk.data, b.add(starts[q], plane), mask)

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

    def divide(self, total: Index, cores: int, body: Callable[[Index, Index], None]) -> None:
        """`body(low, high)` for a part of `total`, which is not zero, on each of some cores."""
        b = self.b
        if cores == 1:
            body(0, total)
            return
        piece = b.ceildiv(total, cores)
        with b.parallel_loop(b.ceildiv(total, piece)) as number:
            low = b.mul(number, piece)
            body(low, b.minimum(b.add(low, piece), total))

    def each_panel(
        self,
        products: Products,
        ends: tuple[Index, Index],
        body: Callable[[Products, list[ir.Value | None]], None],
    ) -> None:
        """`body(panel, masks)` for the panels of output channels from one to another, each with
        `products` of its own.  masks: which channels of each vector exist, None for all."""
        b, width, outputs = self.b, products.width, self.win.outputs
        low, high = ends
        masks: list[ir.Value | None] = [None] * (width // self.lanes)
        whole, rest = divmod(outputs, width)
        with b.loop(low, b.minimum(high, whole)) as number:
            body(replace(products, first=b.mul(number, width)), masks)
        if rest:
            masks = [None] * -(-rest // self.lanes)
            if rest % self.lanes:
                masks[-1] = b.mask(self.lanes, rest % self.lanes)
            last = replace(products, first=whole * width, columns=rest)
            b.when(b.at_least(high, whole + 1), lambda: body(last, masks))

    def factors_at(self, column: Index, number: Index) -> Index:
        """Where the factors of a product begin, for output channels from `column` on."""
        b, win = self.b, self.win
        if win.panel is None:
            return b.add(b.mul(number, win.channels * win.outputs), column)
        panel = b.mul(column, self.win.count * win.channels)
        return b.add(panel, b.mul(number, win.channels * win.panel))

    def fetched_ahead(self, piece: Index, pieces: int, vectors: int) -> list[Index]:
        """What a piece of the tiles fetches of the factors that follow at every step, if the weight
        is more than the first-level cache holds (a network has evicted it since it was last read):
        all pieces together each of its vectors once."""
        b, win = self.b, self.win
        size = self.win.count * win.channels * win.outputs * 4
        if win.panel is None or size <= self.target.l1_bytes:
            return []
        each = -(-vectors // pieces)
        lines = [b.minimum(b.add(b.mul(piece, each), i), vectors - 1) for i in range(each)]
        return [b.add(win.panel * win.channels, b.mul(line, self.lanes)) for line in lines]

    # The output

    def transform_products(self, chunk: Chunk, products: Products, low: Index, high: Index) -> None:
        """The output of some rows of tiles, in the channels of `products`."""
        rows, columns = (
            (0, axis.length // axis.output) for axis in (self.win.rows, self.win.columns)
        )
        write = partial(self._output_tile, chunk, products)
        self._each_tile(chunk, low, high, (rows, columns), write)

    def _output_tile(self, chunk: Chunk, products: Products, place: Place) -> None:
        b, win = self.b, self.win
        own_rows, own_columns = self._matrices(place)
        a_rows, a_columns = LinearMap(own_rows.a), LinearMap(own_columns.a)
        top, left = b.mul(place.row, win.rows.output), b.mul(place.column, win.columns.output)
        starts = self._offsets(place, products.width)

        def vector(channel: Index, mask: ir.Value | None) -> None:
            lines: list[list[ir.Value | None]] = []
            for q in range(own_columns.products):
                start = b.add(starts[q], channel)
                numbers = [p * win.columns.products + q for p in range(own_rows.products)]
                values = [
                    b.load(products.view, b.add(start, number * products.plane), self.lanes)
                    for number in numbers
                ]
                lines.append(a_rows.emit(b, values))
            first = b.add(products.first, channel)
            positions: dict[tuple[int, int], ir.Value] = {}
            for i in range(own_rows.a.shape[0]):
                row_values = a_columns.emit(b, [line[i] for line in lines])
                for j, value in enumerate(row_values):
                    assert value is not None
                    positions[i, j] = value
                    at = (chunk.image, b.add(top, i), b.add(left, j), first)
                    if self.pooled is None:
                        self._finish_inside(place, value, at, mask)
                    else:
                        self._pool_window(place, positions, (i, j), at, mask)

        self.vectors(products.columns, vector)

    def _pool_window(
        self,
        place: Place,
        values: dict[tuple[int, int], ir.Value],
        last: tuple[int, int],
        at: tuple[Index, ...],
        mask: ir.Value | None,
    ) -> None:
        """Finish and pool the window that ends with position `last` of a tile, which is `at` in the
        image, if one does; `values` has what the tile's positions are by now."""
        b, pooled = self.b, self.pooled
        assert pooled is not None
        sizes = (pooled.rows.size, pooled.columns.size)
        if any((end + 1) % size for end, size in zip(last, sizes, strict=True)):
            return
        image, row, column, channel = at

        def write() -> None:
            finished: list[ir.Value] = []
            for i, j in product(*map(range, sizes)):
                back = (sizes[0] - 1 - i, sizes[1] - 1 - j)
                value = values[last[0] - back[0], last[1] - back[1]]
                where = (image, b.sub(row, back[0]), b.sub(column, back[1]), channel)
                ((operand, result),) = self.finished(value, where, mask)
                finished.append(result)
                if pooled.keeps_image:
                    self._store(result, operand, where, mask)
            to = (image, b.floordiv(row, sizes[0]), b.floordiv(column, sizes[1]), channel)
            pooled.store(pooled.join(finished), to, mask)

        b.when(self._exists(place, at), write)

    def _finish_inside(
        self, place: Place, value: ir.Value, at: tuple[Index, ...], mask: ir.Value | None
    ) -> None:
        """Finish a vector of the output if there is such a position."""
        self.b.when(self._exists(place, at), lambda: self.finish(value, at, mask))

    def _exists(self, place: Place, at: tuple[Index, ...]) -> ir.Value | bool:
        """Whether the output has a position of a tile, which may reach over the end along an axis
        whose last tile is as long as the others."""
        return self.b.all_of(
            [
                below(self.b, at[1 + i], self.lengths[i])
                for i, axis in enumerate((self.win.rows, self.win.columns))
                if place.border and axis.last is None
            ]
        )


def _only(axis: WinogradAxis, place: Index) -> Index:
    """Where a tile is that is not the last: known, if it is the only one."""
    return 0 if axis.whole == 1 else place


def _with_tiles(products: range, used: int, tiles: int, whole: int) -> list[tuple[range, int]]:
    """Of some products those that all `tiles` have, the first `used`, and those that only `whole`
    have."""
    if tiles == whole:
        return [(products, tiles)]
    end = max(products.start, min(used, products.stop))
    parts = ((range(products.start, end), tiles), (range(end, products.stop), whole))
    return [(part, count) for part, count in parts if part]
