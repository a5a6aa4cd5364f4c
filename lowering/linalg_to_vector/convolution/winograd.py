"""Emitting Winograd convolutions, with the weight transformed before or in the call."""

from __future__ import annotations

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import even_pieces
from relax_mlir.lowering.linalg_to_vector.convolution.tile_pooling import PooledOutput, TilePooling
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_any_size import (
    WinogradOfAnySize,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_matching import Winograd
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_panels import WinogradPanels
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_registers import (
    WeightInRegisters,
    fits_in_registers,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_tiles import (
    Chunk,
    Factors,
    Products,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_weight import WeightInCall
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import LoopNest, Stage
from relax_mlir.mlir import ir

__all__ = ["emit_winograd"]


def emit_winograd(
    b: Builder,
    win: Winograd,
    nest: LoopNest,
    epilogue: Stage | None,
    target: CPUTarget,
    pooling: TilePooling | None,
) -> None:
    """Emit a convolution.  The nest has the dimensions n, h, w, o of the output and, besides `out`
    itself, the operands of the epilogue.  pooling: of the output."""
    if win.is_of_any_size:
        WinogradOfAnySize(b, win, nest, epilogue, target).emit()
        return
    kind = _TransformedWeight
    if win.transform is not None:
        kind = WeightInRegisters if fits_in_registers(win, target) else WeightInCall
    emitter = kind(b, win, nest, epilogue, target)
    emitter.pooled = None if pooling is None else PooledOutput(b, pooling)
    emitter.emit()


class _TransformedWeight(WinogradPanels):
    """The factors are read where they are."""

    def factors_size(self) -> int:
        return 0

    def multiply(
        self, chunk: Chunk, products: Products, factors: FlatView, masks: list[ir.Value | None]
    ) -> None:
        b, win = self.b, self.win
        block = self.sum_block()
        row = win.panel or win.outputs

        def add(number: Index, tiles: int) -> None:
            largest = self.largest_piece(tiles, len(masks))
            pieces = len(even_pieces(tiles, largest))
            start = self.factors_at(products.first, number)
            for piece in self.pieces(number, tiles, largest):
                ahead = self.fetched_ahead(piece.order, pieces, len(masks))
                with b.loop(0, win.channels, block) as low:
                    channels = b.minimum(b.sub(win.channels, low), block)
                    at = b.add(start, b.mul(low, row))
                    part = Factors(self.weight, at, row, low, channels, masks, ahead)
                    later = b.compare("ugt", b.index(low), 0) if block < win.channels else None
                    self.add_products(chunk, products, piece, part, later)

        self.each_product(chunk, (0, win.rows.products), add)
