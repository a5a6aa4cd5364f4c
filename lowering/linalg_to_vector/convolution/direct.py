"""Direct convolution: a register tile of output positions times vectors of output channels.

Every tap and input channel is one step of a matrix product whose rows are output positions: the
positions' data are broadcast, the vectors are a row of the weight.  Output channels are outermost,
so that a panel of the weight stays in cache while the image passes; while the whole weight fits,
rows of the image are.  Taps that only meet the border are left out: along the row where a tile
touches it, by positions; along other axes by the bounds of the loops over taps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import (
    FetchedAhead,
    Tile,
    fetched_ahead,
)
from relax_mlir.lowering.linalg_to_vector.contraction.packing import Packing, packed_strides
from relax_mlir.lowering.linalg_to_vector.contraction.tile_config import TileConfig
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    choose_register_tile,
    weight_stays_in_cache,
    worth_packing,
)
from relax_mlir.lowering.linalg_to_vector.convolution.kernel import ConvolutionKernel
from relax_mlir.lowering.linalg_to_vector.convolution.loops import Place, Selected, WindowLoops
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO
from relax_mlir.mlir import ir

__all__ = ["Columns", "DirectConvolution", "emit_direct"]


def emit_direct(
    b: Builder,
    conv: Convolution,
    target: CPUTarget,
    initial: ir.Value | None,
    rows: tuple[Index, Index] | None = None,
) -> None:
    """Emit a convolution whose column is no group.  `rows` restricts the first window to a range
    of its output positions."""
    DirectConvolution(b, conv, target, initial, rows).emit()


@dataclass(frozen=True)
class Columns:
    """Output channels that are computed together, and where the weight has them."""

    column: Index
    vectors: int
    active: Index | None
    view: FlatView
    base: Index
    k_strides: tuple[Index, ...]


class DirectConvolution:
    """Emits one convolution; `emit` is the whole of it."""

    def __init__(
        self,
        b: Builder,
        conv: Convolution,
        target: CPUTarget,
        initial: ir.Value | None,
        rows: tuple[Index, Index] | None,
    ):
        self.b = b
        self.conv = conv
        self.target = target
        self.initial = initial
        nest = conv.nest
        self.loops = WindowLoops(b, conv, rows)
        self.extents = self.loops.extents
        bits = max(32, *(argument.type.width for argument in nest.body.block.arguments))
        self.lanes = target.lanes(bits)
        taps = [w.tap for w in conv.windows if w.tap is not None]
        self.contraction = Contraction(
            nest, (), conv.row, conv.column, (*taps, *conv.channels),
            conv.data, conv.weight, conv.out, conv.epilogue,
        )  # fmt: skip
        self.tile = choose_register_tile(
            conv.extent(conv.row).static, conv.extent(conv.column).static, self.lanes, target
        )

    def emit(self) -> None:
        conv = self.conv
        place = Place(conv.nest.emit_accesses(self.b, self.contraction.operands()))
        in_data = [d for d in conv.outer if conv.nest.stride(conv.data, d) != ZERO]
        groups = [d for d in in_data if conv.nest.stride(conv.weight, d) != ZERO]
        self.batch = [d for d in in_data if d not in groups]
        self.panels = [d for d in conv.outer if d not in in_data]
        if conv.nest.stride(conv.weight, conv.column) != ONE:
            # Each panel is packed, so that its output channels are contiguous.
            groups, self.panels = [*groups, *self.panels], []
        self.panel_fetched = self._panel_to_fetch()
        self.loops.over(groups, place, self._emit_group)

    def _emit_group(self, place: Place) -> None:
        panels = self._packed(place)
        if weight_stays_in_cache(self.conv):
            self.loops.over(
                self.batch,
                place,
                lambda image: self.loops.rows(
                    image, lambda row: self._over_panels(row, panels, self._row)
                ),
            )
            return

        def panel(at: Place, columns: Columns) -> None:
            self.loops.over(
                self.batch,
                at,
                lambda image: self.loops.rows(image, lambda row: self._row(row, columns)),
            )

        self._over_panels(place, panels, panel)

    def _depths(self) -> list[Index]:
        """Lengths of the reduction loops."""
        return [self.extents[dim] for dim in self.contraction.k]

    # Output channels

    def _packed(self, place: Place) -> FlatView | None:
        """The weight in panels as wide as a tile, if it is to be laid out so now."""
        b, conv = self.b, self.conv
        if self.panels or not worth_packing(conv, self.tile.vectors * self.lanes):
            return None
        config = TileConfig(self.tile.pixels, self.tile.vectors, self.lanes)
        weight = place.accesses[conv.weight]
        assert weight.view is not None
        k = self.contraction.k
        depths = self._depths() or [1]
        self.panel_size: Index = config.columns
        for depth in depths:
            self.panel_size = b.mul(self.panel_size, depth)
        columns = self.extents[conv.column]
        count = b.ceildiv(columns, config.columns)
        buffer = b.scratch(b.mul(count, self.panel_size), weight.view.element_type)
        strides = tuple(weight.strides[dim] for dim in k) or (0,)
        packing = Packing(b, config, weight.view, weight.strides[conv.column], strides, buffer)
        packing.emit(weight.base, columns, depths, self.panel_size)
        return buffer

    def _over_panels(
        self,
        place: Place,
        packed: FlatView | None,
        body: Callable[[Place, Columns], None],
    ) -> None:
        def blocks(at: Place) -> None:
            b, width = self.b, self.tile.vectors * self.lanes
            columns = self.extents[self.conv.column]
            whole = b.round_down(columns, width)
            if whole != 0:
                with b.loop(0, whole, width) as column:
                    body(at, self._columns(at, packed, column, self.tile.vectors, None))
            rest = b.sub(columns, whole)
            vectors = -(-rest // self.lanes) if isinstance(rest, int) else self.tile.vectors
            full = isinstance(rest, int) and rest == vectors * self.lanes
            active = None if full else rest
            b.when(
                b.at_least(rest, 1),
                lambda: body(at, self._columns(at, packed, whole, vectors, active)),
            )

        self.loops.over(self.panels, place, blocks)

    def _columns(
        self,
        place: Place,
        packed: FlatView | None,
        column: Index,
        vectors: int,
        active: Index | None,
    ) -> Columns:
        b, weight = self.b, place.accesses[self.conv.weight]
        k = self.contraction.k
        width = self.tile.vectors * self.lanes
        if packed is None:
            assert weight.view is not None
            strides = tuple(weight.strides[dim] for dim in k)
            return Columns(
                column, vectors, active, weight.view, b.add(weight.base, column), strides
            )
        strides = packed_strides(b, self._depths(), width) if k else ()
        base = b.mul(b.floordiv(column, width), self.panel_size)
        return Columns(column, vectors, active, packed, base, strides)

    # Output positions

    def _row(self, place: Place, columns: Columns) -> None:
        """The tiles of a row of output positions."""
        self.loops.row(
            self.tile.pixels,
            lambda position, size, selected: self._emit_tile(
                place, columns, position, size, selected
            ),
        )

    def _emit_tile(
        self,
        place: Place,
        columns: Columns,
        position: Index,
        size: int,
        selected: Selected,
    ) -> None:
        kernel = self._kernel(place, selected)
        extents = tuple(self._depths())
        kernel.emit(
            Tile(
                row=position,
                column=columns.column,
                rows=size,
                vectors=columns.vectors,
                active=columns.active,
                b_view=columns.view,
                b_base=columns.base,
                b_k_strides=columns.k_strides,
                k_start=0,
                k_extents=extents,
                first=True,
                last=True,
                ahead=self._ahead(place, position, size),
            )
        )

    def _ahead(self, place: Place, position: Index, size: int) -> FetchedAhead | None:
        """What a tile of `size` positions fetches of the next panel of the weight."""
        b, conv = self.b, self.conv
        if self.panel_fetched is None:
            return None
        rows = conv.extent(conv.windows[0].out if len(conv.windows) > 1 else None).static or 1
        in_row = -(-(conv.extent(conv.row).static or 1) // size)
        number = b.add(b.mul(place.row, in_row), b.floordiv(position, size))
        return fetched_ahead(b, self.panel_fetched, self.tile.vectors, number, rows * in_row)

    def _panel_to_fetch(self) -> int | None:
        """Elements of a panel of the weight if the next one is to be fetched while it is used: they
        lie one behind the other, and are more than the first-level cache holds."""
        conv = self.conv
        columns = conv.extent(conv.column).static
        depths = [conv.extent(dim).static for dim in self.contraction.k]
        if len(self.panels) != 1 or columns != self.tile.vectors * self.lanes:
            return None
        count = conv.extent(self.panels[0]).static
        if columns is None or count is None or weight_stays_in_cache(conv):
            return None
        panel = columns * prod(depth or 0 for depth in depths)
        size = count * panel * conv.nest.operands[conv.weight].element_type.width // 8
        follows = conv.nest.stride(conv.weight, self.panels[0]).static == panel
        return panel if follows and size > self.target.l1_bytes else None

    def _kernel(self, place: Place, selected: Selected) -> ConvolutionKernel:
        return ConvolutionKernel(
            self.b,
            self.contraction,
            place.accesses,
            self.lanes,
            self.initial,
            ranges=place.taps,
            row_taps=self.conv.row_taps,
            selected=selected,
        )
