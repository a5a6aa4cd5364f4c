"""Winograd convolutions whose weight is transformed in the call.

A transformed weight has two to nine times the elements of the weight itself.  Where it does not
fit into the cache, reading it from memory can take longer than making it anew: a block of input
channels of a panel is transformed, some rows of products at a time, into a buffer that stays in the
cache, and multiplied with all tiles of the chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    WeightBlock,
    winograd_weight_block,
)
from relax_mlir.lowering.linalg_to_vector.convolution.linear_map import LinearMap
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import WeightTransform
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_panels import WinogradPanels
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_tiles import (
    Chunk,
    Factors,
    Products,
)
from relax_mlir.mlir import ir

__all__ = ["WeightInCall", "WeightPart"]


@dataclass(frozen=True)
class WeightPart:
    """`channels` input channels, from `first` on, of the output channels from `column` on;
    `buffer` is for the factors of some rows of products [products][channels][panel]."""

    buffer: FlatView
    column: Index
    masks: list[ir.Value | None]
    first: Index
    channels: int


class WeightInCall(WinogradPanels):
    """The factors are made before they are used."""

    @property
    def transform(self) -> WeightTransform:
        assert self.win.transform is not None
        return self.win.transform

    def block(self) -> WeightBlock:
        """What is transformed at once."""
        win = self.win
        return winograd_weight_block(
            win.rows.products,
            win.columns.products,
            win.channels,
            self.panel,
            self.rows * win.columns.tiles,
            self.target,
        )

    @property
    def data_block(self) -> int:
        """That of the weight, so that all data it is multiplied with are read in order."""
        block = self.block().channels
        return block if block % self.lanes == 0 else self.win.channels

    def plane(self) -> int:
        """Elements of the factors of a product: a vector more keeps them off each other's cache
        sets."""
        return self.block().channels * self.panel + self.lanes

    def factors_size(self) -> int:
        return self.block().rows * self.win.columns.products * self.plane()

    def multiply(
        self, chunk: Chunk, products: Products, factors: FlatView, masks: list[ir.Value | None]
    ) -> None:
        b, channels = self.b, self.win.channels
        block = self.block().channels
        whole, rest = divmod(channels, block)
        with b.loop(0, whole * block, block) as first:
            made = WeightPart(factors, products.first, masks, first, block)
            self._block(chunk, products, made)
        if rest:
            made = WeightPart(factors, products.first, masks, whole * block, rest)
            self._block(chunk, products, made)

    def _block(self, chunk: Chunk, products: Products, block: WeightPart) -> None:
        """Add the products of a block to the sums."""
        b, win = self.b, self.win
        step = self.block().rows
        parts = range(0, win.rows.products, step)
        with b.loop(0, len(parts)) as part:
            low = b.mul(part, step)
            high = b.minimum(b.add(low, step), win.rows.products)
            for number, start in enumerate(parts):
                rows = range(start, min(start + step, win.rows.products))
                chosen = True if len(parts) == 1 else b.compare("eq", part, number)
                b.when(chosen, partial(self._transform, block, rows))

            def add(product: Index, tiles: int) -> None:
                self._fetch_next(block, product)
                start = b.mul(b.sub(product, b.mul(low, win.columns.products)), self.plane())
                self._add_block(chunk, products, block, product, tiles, start)

            self.each_product(chunk, (low, high), add)

    def _add_block(
        self,
        chunk: Chunk,
        products: Products,
        block: WeightPart,
        product: Index,
        tiles: int,
        start: Index,
    ) -> None:
        """Add one of the products of a block, which so many tiles have, and whose factors begin at
        `start`."""
        b = self.b
        full: list[ir.Value | None] = [None] * len(block.masks)
        longest = min(self.sum_block(), block.channels)
        for piece in self.pieces(product, tiles, self.largest_piece(tiles, len(full))):
            with b.loop(0, block.channels, longest) as low:
                first = b.add(block.first, low)
                part = Factors(
                    block.buffer,
                    b.add(start, b.mul(low, self.panel)),
                    self.panel,
                    first,
                    b.minimum(b.sub(block.channels, low), longest),
                    full,
                )
                later = b.compare("ugt", b.index(first), 0)
                self.add_products(chunk, products, piece, part, later)

    def _transform(self, block: WeightPart, rows: range) -> None:
        """Transform a block, a vector of output channels of an input channel at a time."""
        b, columns = self.b, LinearMap(self.transform.columns)
        part = LinearMap(self.transform.rows[rows.start : rows.stop])
        height, width = self._taps()
        with b.loop(0, block.channels) as channel:
            corner, (down, right) = self._corner(block, channel)
            for v, mask in enumerate(block.masks):
                start = b.add(corner, v * self.lanes)
                places = [[b.add(start, i * down + j * right) for i in range(height)]
                          for j in range(width)]  # fmt: skip
                lines = [
                    part.emit(b, [b.load(self.weight, at, self.lanes, mask) for at in column])
                    for column in places
                ]
                to = b.add(b.mul(channel, self.panel), v * self.lanes)
                for p in range(len(rows)):
                    for value in columns.emit(b, [line[p] for line in lines]):
                        stored = b.zero(self.vector) if value is None else value
                        b.store(stored, block.buffer, to)
                        to = b.add(to, self.plane())

    def _taps(self) -> tuple[int, int]:
        return self.transform.rows.shape[1], self.transform.columns.shape[1]

    def _corner(self, block: WeightPart, channel: Index) -> tuple[Index, tuple[int, int]]:
        """Where the taps of a channel of a block begin, and how far apart they are down and to the
        right."""
        b, win = self.b, self.win
        height, width = self._taps()
        at = b.add(block.first, channel)
        if win.panel is None:
            tap = win.channels * win.outputs
            return b.add(b.mul(at, win.outputs), block.column), (width * tap, tap)
        panel = b.mul(block.column, height * width * win.channels)
        return b.add(panel, b.mul(at, height * width * win.panel)), (width * win.panel, win.panel)

    def _fetch_next(self, block: WeightPart, product: Index) -> None:
        """Fetch what follows a block in memory while it is multiplied, a part with each product."""
        b, win = self.b, self.win
        if win.panel is None:
            return
        height, width = self._taps()
        start, _ = self._corner(block, block.channels)
        lines = -(-block.channels * height * width * win.panel // self.lanes)
        each = -(-lines // self.win.count)
        for i in range(each):
            line = b.add(b.mul(product, each), i)
            b.prefetch(self.weight, b.add(start, b.mul(line, self.lanes)))
