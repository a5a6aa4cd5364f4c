"""Winograd convolutions of images whose size only run time knows.

The tiles of an image are numbered row by row, and so many as the cache holds go through all steps
together: their number is all that the products need to know.  How many of them a register tile has
is chosen when that number is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    tile_heights,
    tiles_at_once,
    winograd_panel_width,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_output import Piece
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_tiles import (
    Chunk,
    Factors,
    Place,
    Products,
    WinogradTiles,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, Stage
from relax_mlir.mlir import ir

__all__ = ["WinogradOfAnySize"]

# Axes of the data and of the output.
_ROWS, _COLUMNS = 1, 2


class WinogradOfAnySize(WinogradTiles):
    """Emits chunks of tiles, and panels of output channels in each."""

    def __init__(
        self,
        b: Builder,
        win: Winograd,
        nest: LoopNest,
        epilogue: Stage | None,
        target: CPUTarget,
    ):
        # All tiles are treated alike, also along an axis of known size.
        rows, columns = (replace(axis, last=None) for axis in (win.rows, win.columns))
        win = replace(win, rows=rows, columns=columns)
        super().__init__(b, win, nest, epilogue, target, rows=0)
        self.most = tiles_at_once(win.count * win.channels, win.outputs, target)
        self.sizes = [b.memref_dim(win.data, axis) for axis in (_ROWS, _COLUMNS)]
        self.lengths = [nest.emit_extent(b, nest.extents[axis]) for axis in (_ROWS, _COLUMNS)]
        self.across = b.ceildiv(self.lengths[1], win.columns.output)
        self.panel = winograd_panel_width(win, self.most, target)

    @property
    def data_plane(self) -> int:
        return self.most * self.data_block + self.lanes

    def emit(self) -> None:
        b, win = self.b, self.win
        tiles = b.mul(b.ceildiv(self.lengths[0], win.rows.output), self.across)
        # Chunks of about one size, of which there is none in an empty image.
        chunks = b.maximum(b.ceildiv(tiles, self.most), 1)
        size = b.maximum(b.ceildiv(tiles, chunks), 1)
        data = self.data_buffer()
        with (
            b.loop(0, self.nest.emit_extent(b, self.nest.extents[0])) as image,
            b.loop(0, tiles, size) as first,
        ):
            count = b.minimum(b.sub(tiles, first), size)
            # Not rows of tiles go together here, but tiles, of which this is the first.
            chunk = Chunk(image, first, self.most, data)
            panels, cores = -(-win.outputs // self.panel), self.target.num_cores
            self.divide(count, cores, lambda *ends: self.transform_data(chunk, *ends))
            self.divide(panels, cores, lambda *ends: self._panels(chunk, count, *ends))

    # Tiles

    def _offsets(self, place: Place, size: int) -> list[Index]:
        return [self.b.mul(place.line, size)] * self.win.columns.products

    def _each_tile_between(
        self,
        chunk: Chunk,
        ends: tuple[Index, Index],
        whole: list[tuple[int, Index]],
        write: Callable[[Place], None],
    ) -> None:
        """Loop over the tiles of a chunk from one to another; those in the rows and columns that
        are `whole` are written apart from those at the border."""
        b = self.b
        with b.loop(*ends) as line:
            number = b.add(chunk.row, line)
            row, column = b.floordiv(number, self.across), b.mod(number, self.across)
            place = Place(row, column, line)
            inside = b.all_of(
                [
                    condition
                    for at, (first, end) in zip((row, column), whole, strict=True)
                    for condition in (b.at_least(at, first), b.compare("slt", at, end))
                ]
            )
            b.when(inside, lambda: write(place), lambda: write(replace(place, border=True)))

    def transform_data(self, chunk: Chunk, low: Index, high: Index) -> None:
        b, whole = self.b, list[tuple[int, Index]]()
        for axis, size in zip((self.win.rows, self.win.columns), self.sizes, strict=True):
            # Tiles before this one have all their elements: none, if that is not positive.
            room = b.sub(b.add(size, axis.low + axis.step), axis.b.shape[1])
            whole.append((-(-axis.low // axis.step), b.floordiv(b.maximum(room, 0), axis.step)))
        self._each_tile_between(chunk, (low, high), whole, partial(self._tile, chunk))

    def transform_products(self, chunk: Chunk, products: Products, low: Index, high: Index) -> None:
        b, axes = self.b, (self.win.rows, self.win.columns)
        whole: list[tuple[int, Index]] = [
            (0, b.floordiv(length, axis.output))
            for axis, length in zip(axes, self.lengths, strict=True)
        ]
        write = partial(self._output_tile, chunk, products)
        self._each_tile_between(chunk, (low, high), whole, write)

    # Panels

    def _panels(self, chunk: Chunk, count: Index, low: Index, high: Index) -> None:
        """Panels of output channels of the first `count` tiles of a chunk."""
        b, width = self.b, self.panel
        plane = self.most * width + self.lanes
        sums = b.lent_scratch(self.win.count * plane, self.element)
        self.each_panel(
            Products(sums, width, plane, width),
            (low, high),
            lambda panel, masks: self._panel(chunk, count, panel, masks),
        )

    def _panel(
        self, chunk: Chunk, count: Index, products: Products, masks: list[ir.Value | None]
    ) -> None:
        """The products of a panel, in register tiles of the height that wastes least, and their
        transform."""
        b = self.b
        heights = tile_heights(self.most, len(masks), self.target)
        # What is read beside the sums is as much as two of them.
        done = [b.mul(b.ceildiv(count, height), height + 2) for height in heights]

        def from_(choice: int) -> None:
            if choice + 1 == len(heights):
                self._multiply(chunk, count, products, masks, heights[choice])
                return
            best = b.all_of([b.compare("sle", done[choice], other) for other in done[choice + 1 :]])
            b.when(
                best,
                lambda: self._multiply(chunk, count, products, masks, heights[choice]),
                lambda: from_(choice + 1),
            )

        from_(0)
        self.transform_products(chunk, products, 0, count)

    def _multiply(
        self,
        chunk: Chunk,
        count: Index,
        products: Products,
        masks: list[ir.Value | None],
        height: int,
    ) -> None:
        """The last register tile ends with the tiles, and computes some anew; if there are fewer
        tiles than it has, what it makes of the rest of the buffer is not read."""
        b, win, block = self.b, self.win, self.sum_block()
        row = win.panel or win.outputs
        latest = b.maximum(b.sub(count, height), 0)
        with b.loop(0, win.count) as number, b.loop(0, count, height) as begin:
            order = b.floordiv(begin, height)
            piece = Piece(number, b.minimum(begin, latest), height, order)
            ahead = self.fetched_ahead(order, len(masks), len(masks))
            with b.loop(0, win.channels, block) as low:
                channels = b.minimum(b.sub(win.channels, low), block)
                at = b.add(self.factors_at(products.first, number), b.mul(low, row))
                part = Factors(self.weight, at, row, low, channels, masks, ahead)
                later = b.compare("ugt", b.index(low), 0) if block < win.channels else None
                self.add_products(chunk, products, piece, part, later)
