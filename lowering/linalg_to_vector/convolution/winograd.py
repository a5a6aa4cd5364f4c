"""Emitting Winograd convolutions, some rows of tiles at a time.

For as many rows of tiles as the cache holds: the tiles of the data are transformed, a vector of
channels at once; then come the matrix products, one for each element of a transformed tile, by
register tiles of tiles times output channels; then the products are transformed back, and the
epilogue is applied to the vectors of the output before they are stored.  Tiles that reach over the
border of the image read zeros there, and store only what the image has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from relax_mlir.lowering.linalg_to_vector.body import emit_body
from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    choose_register_tile,
    even_pieces,
    winograd_tile_rows,
)
from relax_mlir.lowering.linalg_to_vector.convolution.linear_map import LinearMap
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import (
    Winograd,
    WinogradAxis,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ZERO, Access, LoopNest, Stage
from relax_mlir.lowering.linalg_to_vector.parallel import MIN_WORK
from relax_mlir.lowering.linalg_to_vector.summation import summation_block
from relax_mlir.mlir import ir

__all__ = ["emit_winograd"]

# The transform of the output enlarges the errors of the products, so these are summed in shorter
# blocks than others.  Blocks of this length cost 6 % of the time of a network, and take two fifths
# off its error.
_SHORTEST_SUM = 16


def emit_winograd(
    b: Builder, win: Winograd, nest: LoopNest, epilogue: Stage | None, target: CPUTarget
) -> None:
    """Emit a convolution.  The nest has the dimensions n, h, w, o of the output and, besides `out`
    itself, the operands of the epilogue."""
    _Emitter(b, win, nest, epilogue, target).emit()


@dataclass(frozen=True)
class _Chunk:
    """Rows of tiles of one image that go through all steps together, and their buffers:
    transformed data [products][tiles][channels] and products [products][tiles][outputs]."""

    image: Index
    row: Index
    rows: int
    data: FlatView
    products: FlatView


class _Emitter:
    def __init__(
        self,
        b: Builder,
        win: Winograd,
        nest: LoopNest,
        epilogue: Stage | None,
        target: CPUTarget,
    ):
        self.b = b
        self.win = win
        self.nest = nest
        self.epilogue = epilogue
        self.target = target
        self.element = ir.F32Type.get()
        self.lanes = target.lanes(32)
        self.vector = b.vector_type(self.lanes, self.element)
        self.count = win.rows.products * win.columns.products
        self.width = -(-win.outputs // self.lanes) * self.lanes
        self.rows = winograd_tile_rows(win, target, target.num_cores if self._is_divided() else 1)
        self.data = b.flat_view(win.data)
        self.weight = b.flat_view(win.weight)
        self.accesses = nest.emit_accesses(b, self._needed())
        # A vector more keeps the planes of the products off each other's cache sets.
        tiles = self.rows * win.columns.tiles
        self.data_plane = tiles * win.channels + self.lanes
        self.product_plane = tiles * self.width + self.lanes

    def _needed(self) -> set[int]:
        if self.epilogue is None:
            return {self.nest.body.results[0]}
        return {i for i in (*self.epilogue.arguments, *self.epilogue.results) if i >= 0}

    def emit(self) -> None:
        b, nest = self.b, self.nest
        images = nest.emit_extent(b, nest.extents[0])
        whole = self.win.rows.tiles // self.rows
        rest = self.win.rows.tiles % self.rows
        chunks = whole + (1 if rest else 0)
        if self._is_divided() and chunks >= self.target.num_cores:
            with b.loop(0, images) as image, b.parallel_loop(self.target.num_cores) as core:
                piece = -(-chunks // self.target.num_cores)
                start = b.mul(core, piece)
                self._chunks(image, start, b.minimum(b.add(start, piece), chunks))
            return
        with b.loop(0, images) as image:
            self._chunks(image, 0, chunks)

    def _is_divided(self) -> bool:
        win = self.win
        tiles = win.rows.tiles * win.columns.tiles
        work = 2 * self.count * tiles * win.channels * win.outputs
        return self.target.num_cores > 1 and work >= MIN_WORK

    def _chunks(self, image: Index, start: Index, end: Index) -> None:
        b, tiles = self.b, self.win.rows.tiles
        data = b.scratch(self.count * self.data_plane, self.element)
        products = b.scratch(self.count * self.product_plane, self.element)
        whole = tiles // self.rows
        last = whole if tiles % self.rows else None
        with b.loop(start, end if last is None else b.minimum(end, whole)) as chunk:
            row = b.mul(chunk, self.rows)
            self._chunk(_Chunk(image, row, self.rows, data, products))
        if last is not None:
            rest = _Chunk(image, whole * self.rows, tiles % self.rows, data, products)
            b.when(b.at_least(end, last + 1), lambda: self._chunk(rest))

    def _chunk(self, chunk: _Chunk) -> None:
        rows = chunk.rows
        if not self._is_divided() or self.win.rows.tiles > self.rows:
            self._transform_data(chunk, 0, rows)
            self._multiply(chunk, 0, self.count)
            self._transform_products(chunk, 0, rows)
            return
        # All tiles at once: the cores share each step, and each reads its part of the weight.
        self._shared(rows, lambda low, high: self._transform_data(chunk, low, high))
        self._shared(self.count, lambda low, high: self._multiply(chunk, low, high))
        self._shared(rows, lambda low, high: self._transform_products(chunk, low, high))

    def _shared(self, total: int, body: Callable[[Index, Index], None]) -> None:
        """`body(low, high)` for a part of `total` on every core."""
        b = self.b
        piece = -(-total // self.target.num_cores)
        with b.parallel_loop(-(-total // piece)) as number:
            low = b.mul(number, piece)
            body(low, b.minimum(b.add(low, piece), total))

    # The data

    def _transform_data(self, chunk: _Chunk, low: Index, high: Index) -> None:
        b, win = self.b, self.win
        inside_rows, inside_columns = _inside(win.rows), _inside(win.columns)
        with b.loop(low, high) as row, b.loop(0, win.columns.tiles) as column:
            at_row = b.add(chunk.row, row)
            inside = b.all_of(
                [
                    *_between(b, at_row, inside_rows, win.rows.tiles),
                    *_between(b, column, inside_columns, win.columns.tiles),
                ]
            )
            to = b.mul(b.add(b.mul(row, win.columns.tiles), column), win.channels)
            b.when(
                inside,
                lambda at_row=at_row, column=column, to=to: self._tile(
                    chunk, at_row, column, to, False
                ),
                lambda at_row=at_row, column=column, to=to: self._tile(
                    chunk, at_row, column, to, True
                ),
            )

    def _tile(self, chunk: _Chunk, row: Index, column: Index, to: Index, border: bool) -> None:
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

            def inside(channel: Index, mask: ir.Value | None) -> None:
                start = b.add(corner, channel)
                self._transform_tile(
                    chunk,
                    lambda i, j: b.load(
                        self.data, b.add(start, i * line + j * win.channels), self.lanes, mask
                    ),
                    b.add(to, channel),
                    mask,
                )

            self._vectors(win.channels, inside)
            return
        rows = self._elements(y, win.rows, line)
        columns = self._elements(x, win.columns, win.channels)

        def outside(channel: Index, mask: ir.Value | None) -> None:
            start = b.add(image, channel)
            lines = [b.add(start, offset) for offset, _ in rows]

            def element(i: int, j: int) -> ir.Value:
                there = b.broadcast(_all(b, [rows[i][1], columns[j][1]]), self.lanes)
                both = there if mask is None else b.op("arith.andi", there.type, [there, mask])
                return b.load(self.data, b.add(lines[i], columns[j][0]), self.lanes, both)

            self._transform_tile(chunk, element, b.add(to, channel), mask)

        self._vectors(win.channels, outside)

    def _elements(
        self, first: Index, axis: WinogradAxis, stride: int
    ) -> list[tuple[Index, ir.Value]]:
        """Offsets of the elements that a tile reads along an axis, and whether they exist; the
        offset of one that does not is that of the nearest."""
        b = self.b
        found: list[tuple[Index, ir.Value]] = []
        for i in range(axis.b.shape[1]):
            place = b.add(first, i)
            near = b.minimum(b.maximum(place, 0), axis.size - 1)
            exists = b.compare("ult", b.index(place), axis.size)
            found.append((b.mul(near, stride), exists))
        return found

    def _transform_tile(
        self,
        chunk: _Chunk,
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

    def _vectors(self, extent: int, body: Callable[[Index, ir.Value | None], None]) -> None:
        """`body(position, mask)` for every vector along an axis."""
        b = self.b
        whole = extent // self.lanes * self.lanes
        if whole:
            with b.loop(0, whole, self.lanes) as position:
                body(position, None)
        if whole < extent:
            body(whole, b.mask(self.lanes, extent - whole))

    # The products

    def _multiply(self, chunk: _Chunk, low: Index, high: Index) -> None:
        b, win = self.b, self.win
        tiles = chunk.rows * win.columns.tiles
        panel = win.panel or self.width
        tile = choose_register_tile(tiles, panel, self.lanes, self.target)
        size = tile.vectors * self.lanes
        with b.loop(low, high) as number:
            weights = b.mul(number, win.channels * win.outputs)
            with b.loop(0, win.outputs if win.panel else panel, panel) as outer:
                at = b.add(weights, b.mul(outer, win.channels if win.panel else 1))
                whole = panel // size * size
                if whole:
                    with b.loop(0, whole, size) as inner:
                        self._panel(chunk, number, at, outer, inner, tile.pixels, tile.vectors)
                if whole < panel:
                    vectors = -(-(panel - whole) // self.lanes)
                    self._panel(chunk, number, at, outer, whole, tile.pixels, vectors)

    def _panel(
        self,
        chunk: _Chunk,
        number: Index,
        weights: Index,
        outer: Index,
        inner: Index,
        largest: int,
        vectors: int,
    ) -> None:
        """The products of all tiles with some vectors of output channels."""
        b, win = self.b, self.win
        row = win.panel or win.outputs
        start = b.add(weights, inner)
        masks = self._masks(inner, vectors)
        to = b.add(b.mul(number, self.product_plane), b.add(outer, inner))
        begin = 0
        sizes = even_pieces(chunk.rows * win.columns.tiles, largest)
        done = 0
        for size in sorted(set(sizes), reverse=True):
            count = sizes.count(size)
            with b.loop(begin, begin + size * count, size) as tile:
                source = b.add(b.mul(number, self.data_plane), b.mul(tile, win.channels))
                piece = b.add(b.floordiv(b.sub(tile, begin), size), done)
                ahead = self._ahead(piece, len(sizes), vectors)
                places = [
                    b.add(to, b.add(b.mul(b.add(tile, i), self.width), v * self.lanes))
                    for i in range(size)
                    for v in range(vectors)
                ]
                self._register_tile(chunk, source, start, row, places, masks, ahead)
            begin += size * count
            done += count

    def _ahead(self, piece: Index, pieces: int, vectors: int) -> list[Index]:
        """What a piece of the tiles fetches of the next panel at every step, if the weight does not
        fit into the cache: all pieces together each of its vectors once."""
        b, win = self.b, self.win
        size = self.count * win.channels * win.outputs * 4
        if win.panel is None or size <= self.target.l2_bytes:
            return []
        if win.panel != vectors * self.lanes:
            return []
        each = -(-vectors // pieces)
        lines = [b.minimum(b.add(b.mul(piece, each), i), vectors - 1) for i in range(each)]
        return [b.add(win.panel * win.channels, b.mul(line, self.lanes)) for line in lines]

    def _masks(self, inner: Index, vectors: int) -> list[ir.Value | None]:
        """Which output channels exist, where the weight is not in panels."""
        win = self.win
        if win.panel or win.outputs % self.lanes == 0:
            return [None] * vectors
        b = self.b
        left = b.sub(win.outputs, inner)
        return [b.mask(self.lanes, b.sub(left, v * self.lanes)) for v in range(vectors)]

    def _register_tile(
        self,
        chunk: _Chunk,
        source: Index,
        weights: Index,
        row: int,
        places: list[Index],
        masks: list[ir.Value | None],
        ahead: list[Index],
    ) -> None:
        """Sums over all channels, stored at `places`.  Those of some channels are added to the sum
        of the ones before in memory: the rounding errors of one long sum would be several times
        larger."""
        b, win, lanes = self.b, self.win, self.lanes
        vectors = len(masks)
        size = len(places) // vectors

        def step(channel: Index, values: list[ir.Value]) -> list[ir.Value]:
            at = b.add(weights, b.mul(channel, row))
            factors = [
                b.load(self.weight, b.add(at, v * lanes), lanes, masks[v]) for v in range(vectors)
            ]
            for distance in ahead:
                b.prefetch(self.weight, b.add(at, distance))
            first = b.add(source, channel)
            results: list[ir.Value] = []
            for i in range(size):
                datum = b.broadcast(b.load(chunk.data, b.add(first, i * win.channels), 1), lanes)
                for v, factor in enumerate(factors):
                    results.append(b.fma(datum, factor, values[i * vectors + v]))
            return results

        zeros = [b.zero(self.vector)] * len(places)
        block = summation_block(win.channels, max(_SHORTEST_SUM, isqrt(win.channels)))
        with b.loop(0, win.channels, block) as low:
            high = b.minimum(b.add(low, block), win.channels)
            sums = b.carried_loop(low, high, 1, zeros, step)
            if block < win.channels:
                # Nothing is read for the first block.
                later = b.broadcast(b.compare("ugt", b.index(low), 0), lanes)
                sums = [
                    b.op(
                        "arith.addf", self.vector, [b.load(chunk.products, at, lanes, later), sum_]
                    )
                    for at, sum_ in zip(places, sums, strict=True)
                ]
            for at, sum_ in zip(places, sums, strict=True):
                b.store(sum_, chunk.products, at)

    # The output

    def _transform_products(self, chunk: _Chunk, low: Index, high: Index) -> None:
        b, win = self.b, self.win
        full_rows = win.rows.length // win.rows.output
        full_columns = win.columns.length // win.columns.output
        with b.loop(low, high) as row, b.loop(0, win.columns.tiles) as column:
            at_row = b.add(chunk.row, row)
            inside = b.all_of(
                [
                    *_between(b, at_row, (0, full_rows), win.rows.tiles),
                    *_between(b, column, (0, full_columns), win.columns.tiles),
                ]
            )
            source = b.mul(b.add(b.mul(row, win.columns.tiles), column), self.width)
            b.when(
                inside,
                lambda at_row=at_row, column=column, source=source: self._output_tile(
                    chunk, at_row, column, source, False
                ),
                lambda at_row=at_row, column=column, source=source: self._output_tile(
                    chunk, at_row, column, source, True
                ),
            )

    def _output_tile(
        self, chunk: _Chunk, row: Index, column: Index, source: Index, border: bool
    ) -> None:
        b, win = self.b, self.win
        a_rows, a_columns = LinearMap(win.rows.a), LinearMap(win.columns.a)
        top, left = b.mul(row, win.rows.output), b.mul(column, win.columns.output)

        def vector(channel: Index, mask: ir.Value | None) -> None:
            lines: list[list[ir.Value | None]] = []
            for q in range(win.columns.products):
                values = [
                    b.load(
                        chunk.products,
                        b.add(
                            b.add(source, channel),
                            (p * win.columns.products + q) * self.product_plane,
                        ),
                        self.lanes,
                    )
                    for p in range(win.rows.products)
                ]
                lines.append(a_rows.emit(b, values))
            for i in range(win.rows.output):
                row_values = a_columns.emit(b, [line[i] for line in lines])
                for j, value in enumerate(row_values):
                    assert value is not None
                    place = (chunk.image, b.add(top, i), b.add(left, j), channel)
                    if not border:
                        self._finish(value, place, mask)
                        continue
                    exists = b.all_of(
                        [
                            _below(b, place[1], win.rows.length),
                            _below(b, place[2], win.columns.length),
                        ]
                    )
                    b.when(
                        exists,
                        lambda value=value, place=place: self._finish(value, place, mask),
                    )

        self._vectors(win.outputs, vector)

    def _finish(self, value: ir.Value, place: tuple[Index, ...], mask: ir.Value | None) -> None:
        """Apply the epilogue to a vector of the output and store it."""
        b, epilogue = self.b, self.epilogue
        if epilogue is None:
            self._store(value, self.nest.body.results[0], place, mask)
            return
        arguments: list[ir.Value] = []
        for argument, operand in zip(epilogue.block.arguments, epilogue.arguments, strict=True):
            access = self.accesses[operand]
            if operand < 0 or not list(argument.uses):
                arguments.append(value)
            elif access.view is None:
                arguments.append(access.value)
            else:
                uniform = self.nest.stride(operand, 3) == ZERO
                lanes, own = (1, None) if uniform else (self.lanes, mask)
                arguments.append(b.load(access.view, self._offset(access, place), lanes, own))
        for operand, result in zip(
            epilogue.results, emit_body(b, epilogue.block, arguments, self.lanes), strict=True
        ):
            self._store(b.broadcast(result, self.lanes), operand, place, mask)

    def _store(
        self, value: ir.Value, operand: int, place: tuple[Index, ...], mask: ir.Value | None
    ) -> None:
        access = self.accesses[operand]
        assert access.view is not None
        self.b.store(value, access.view, self._offset(access, place), mask)

    def _offset(self, access: Access, place: tuple[Index, ...]) -> Index:
        offset = access.base
        for position, stride in zip(place, access.strides, strict=True):
            offset = self.b.add(offset, self.b.mul(position, stride))
        return offset


def _inside(axis: WinogradAxis) -> tuple[int, int]:
    """The tiles that read no border: from the first on, up to the second."""
    first = -(-axis.low // axis.step)
    room = axis.size + axis.low - axis.b.shape[1]
    return first, (room // axis.step + 1 if room >= 0 else 0)


def _between(b: Builder, tile: Index, bounds: tuple[int, int], tiles: int) -> list[ir.Value | bool]:
    """The conditions for a tile to lie between bounds, of `tiles` in all."""
    low, high = bounds
    conditions: list[ir.Value | bool] = []
    if low > 0:
        conditions.append(b.at_least(tile, low))
    if high < tiles:
        conditions.append(_below(b, tile, high))
    return conditions


def _below(b: Builder, value: Index, bound: int) -> ir.Value | bool:
    return value < bound if isinstance(value, int) else b.compare("slt", value, bound)


def _all(b: Builder, conditions: list[ir.Value]) -> ir.Value:
    found = b.all_of(conditions)
    assert not isinstance(found, bool)
    return found
