"""Winograd convolutions of few tiles, whose weight is transformed in registers in the call.

Images that a network has made small have few tiles and many channels: a transformed weight would be
used once for each tile, and storing it, in whatever cache, takes as long as making it.  Here the
products of a row of all tiles, a vector of output channels each, stay in registers while the input
channels pass; from the taps of a channel the factors of the row are made, and used at once.
"""

from __future__ import annotations

from math import prod

from relax_mlir.lowering.linalg_to_vector.builder import Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    SUMMED_IN_REGISTERS,
    WeightBlock,
    register_groups,
)
from relax_mlir.lowering.linalg_to_vector.convolution.linear_map import LinearMap
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_tiles import Chunk, Products
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_weight import (
    WeightInCall,
    WeightPart,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.mlir import ir

__all__ = ["WeightInRegisters", "fits_in_registers"]


def fits_in_registers(win: Winograd, target: CPUTarget) -> bool:
    """Whether the sums of all tiles fit into registers, and a vector is a panel of the weight."""
    tiles = win.rows.tiles * win.columns.tiles
    own_panel = win.panel in (None, target.lanes(32))
    sizes = (win.count, win.channels)
    return own_panel and bool(register_groups(win.columns.products, tiles, sizes, target))


class WeightInRegisters(WeightInCall):
    """Sums of products are in registers, factors nowhere else."""

    def panel_width(self) -> int:
        return self.lanes

    def block(self) -> WeightBlock:
        return WeightBlock(min(self.win.channels, SUMMED_IN_REGISTERS), 1)

    def factors_size(self) -> int:
        return 0

    def _block(self, chunk: Chunk, products: Products, block: WeightPart) -> None:
        win = self.win
        tiles, sizes = chunk.rows * win.columns.tiles, (win.count, win.channels)
        groups = register_groups(win.columns.products, tiles, sizes, self.target)
        passes = [(row, group) for row in range(win.rows.products) for group in groups]
        taps = prod(self._taps())
        for number, part in enumerate(passes):
            low, high = (taps * n // len(passes) for n in (number, number + 1))
            self._pass(chunk, products, block, part, range(low, high))

    def _pass(
        self,
        chunk: Chunk,
        products: Products,
        block: WeightPart,
        part: tuple[int, range],
        fetched: range,
    ) -> None:
        """Add the products of some columns of a row, and fetch some taps of what follows."""
        b, win = self.b, self.win
        row, group = part
        ((_, lines),) = self.tile_rows(chunk, range(row, row + 1))
        places = [
            (row * win.columns.products + column, tile)
            for columns, across in self.tile_columns(group)
            for column in columns
            for tile in range(lines * across)
        ]
        first = self._channel_offset(block.first)

        def step(channel: Index, sums: list[ir.Value]) -> list[ir.Value]:
            at = b.add(first, channel)
            values: list[ir.Value] = []
            factors = self._factors(block, channel, part)
            self._fetch(block, channel, fetched)
            for (number, tile), sum_ in zip(places, sums, strict=True):
                factor = factors[number - places[0][0]]
                offset = number * self.data_plane + tile * self.data_block
                datum = b.broadcast(b.load(chunk.data, b.add(at, offset), 1), self.lanes)
                values.append(b.fma(datum, factor, sum_))
            return values

        sums = b.carried_loop(0, block.channels, 1, [b.zero(self.vector)] * len(places), step)
        later = b.broadcast(b.compare("ugt", b.index(block.first), 0), self.lanes)
        for (number, tile), sum_ in zip(places, sums, strict=True):
            to = number * products.plane + tile * products.width
            before = b.load(products.view, to, self.lanes, later)
            b.store(b.op("arith.addf", self.vector, [before, sum_]), products.view, to)

    def _factors(
        self, block: WeightPart, channel: Index, part: tuple[int, range]
    ) -> list[ir.Value]:
        """The factors of some columns of a row, for one input channel."""
        b, (row, group), (height, width) = self.b, part, self._taps()
        corner, (down, right) = self._corner(block, channel)
        along = LinearMap(self.transform.rows[row : row + 1])
        line = [
            along.emit(b, [
                b.load(self.weight, b.add(corner, i * down + j * right), self.lanes, block.masks[0])
                for i in range(height)
            ])[0]
            for j in range(width)
        ]  # fmt: skip
        columns = LinearMap(self.transform.columns[group.start : group.stop])
        made = columns.emit(b, line)
        return [b.zero(self.vector) if factor is None else factor for factor in made]

    def _fetch(self, block: WeightPart, channel: Index, taps: range) -> None:
        """Fetch some taps of a channel of the block after the next: memory takes longer to answer
        than a block takes to be used."""
        if self.win.panel is None:
            return
        b = self.b
        start, _ = self._corner(block, b.add(channel, 2 * block.channels))
        for tap in taps:
            b.prefetch(self.weight, b.add(start, tap * self.lanes))
