"""The loops around the steps of a Winograd convolution.

For each chunk of rows of tiles the data are transformed; then, for each panel of output channels,
come the matrix products, one for each element of a transformed tile, and at once their transform to
the output.  So only the transformed data of a chunk are large, the weight is read once for each
chunk, in the order it lies in memory, and the products of a panel stay in the cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    winograd_chunk_rows,
    winograd_panel_width,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_tiles import (
    Chunk,
    Products,
    WinogradTiles,
)
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, Stage
from relax_mlir.lowering.linalg_to_vector.parallel import MIN_WORK
from relax_mlir.mlir import ir

__all__ = ["WinogradPanels"]


class WinogradPanels(WinogradTiles, ABC):
    """A Winograd convolution by chunks of tiles and panels of output channels."""

    def __init__(
        self,
        b: Builder,
        win: Winograd,
        nest: LoopNest,
        epilogue: Stage | None,
        target: CPUTarget,
    ):
        work = 2 * win.count * win.rows.tiles * win.columns.tiles * win.channels * win.outputs
        self.divided = target.num_cores > 1 and work >= MIN_WORK
        rows = winograd_chunk_rows(
            win.rows.tiles,
            win.columns.tiles,
            win.count * win.channels,
            win.outputs,
            target,
            target.num_cores if self.divided else 1,
        )
        super().__init__(b, win, nest, epilogue, target, rows)
        self.panel = self.panel_width()
        # If all tiles are in one chunk the cores share each of its steps.
        self.shares_chunk = self.divided and win.rows.tiles == self.rows

    @abstractmethod
    def multiply(
        self, chunk: Chunk, products: Products, factors: FlatView, masks: list[ir.Value | None]
    ) -> None:
        """The sums of a panel for all tiles of a chunk.  factors: a buffer of `factors_size()`
        elements.  masks: which output channels of each vector exist, None for all."""

    @abstractmethod
    def factors_size(self) -> int:
        """Elements of the buffer that `multiply` needs."""

    # Chunks

    def emit(self) -> None:
        cores = self.target.num_cores if self.divided and not self.shares_chunk else 1
        self.chunks(self.win.rows.tiles, self.rows, cores, self._chunk_buffers, self._chunk)

    def _chunk_buffers(self) -> tuple[FlatView, tuple[Products, FlatView] | None]:
        return self.data_buffer(), None if self.shares_chunk else self._buffers()

    def _chunk(
        self,
        made: tuple[FlatView, tuple[Products, FlatView] | None],
        image: Index,
        row: Index,
        rows: int,
    ) -> None:
        data, buffers = made
        chunk = Chunk(image, row, rows, data)
        self._shared(chunk.rows, lambda low, high: self.transform_data(chunk, low, high))
        self._shared(
            -(-self.win.outputs // self.panel),
            lambda low, high: self._panels(chunk, buffers or self._buffers(), low, high),
        )

    def _shared(self, total: int, body: Callable[[Index, Index], None]) -> None:
        """`body(low, high)` for a part of `total` on every core, where cores share a chunk."""
        self.divide(total, self.target.num_cores if self.shares_chunk else 1, body)

    def panel_width(self) -> int:
        """Output channels of a panel."""
        return winograd_panel_width(self.win, self.rows * self.win.columns.tiles, self.target)

    # Panels

    def _buffers(self) -> tuple[Products, FlatView]:
        """What a core computes a panel in: its products, and factors."""
        b = self.b
        # A vector more keeps the planes of the products off each other's cache sets.
        plane = self.rows * self.win.columns.tiles * self.panel + self.lanes
        allocate = b.lent_scratch if self.shares_chunk else b.scratch
        sums = allocate(self.win.count * plane, self.element)
        factors = b.scratch(self.factors_size(), self.element)
        return Products(sums, self.panel, plane, self.panel), factors

    def _panels(
        self, chunk: Chunk, buffers: tuple[Products, FlatView], low: Index, high: Index
    ) -> None:
        products, factors = buffers
        self.each_panel(
            products,
            (low, high),
            lambda panel, masks: self._panel(chunk, panel, factors, masks),
        )

    def _panel(
        self, chunk: Chunk, products: Products, factors: FlatView, masks: list[ir.Value | None]
    ) -> None:
        self.multiply(chunk, products, factors, masks)
        self.transform_products(chunk, products, 0, chunk.rows)
