"""Loops and packing around the register tiles of a matrix product.

Blocks of B are copied ("packed") into panels as wide as a register tile when B is too large to
stay in cache while the rows of A pass, when its rows fall on the same cache sets, or when they are
not contiguous; a transposed B is packed through register transposes.  A is read in place.  A column
panel of B stays in the first-level cache while rows of A pass: all of them while B is not packed,
else a block of them that shares the second level with a block of B.
Whether to pack is decided here if the sizes are known, otherwise when the kernel runs; both ways
then share the tiles, which see B through a view, a base and strides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction, for_each_matrix
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import (
    FetchedAhead,
    MicroKernel,
    Tile,
    fetched_ahead,
)
from relax_mlir.lowering.linalg_to_vector.contraction.packing import (
    Packing,
    PanelBlock,
    column_panels,
    packed_strides,
)
from relax_mlir.lowering.linalg_to_vector.contraction.rest_dots import (
    emit_rest_dots,
    rest_for_dots,
)
from relax_mlir.lowering.linalg_to_vector.contraction.tile_config import TileConfig, choose_tile
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, Access
from relax_mlir.mlir import ir

__all__ = ["emit_matrix_product"]

# Packing pays, for B beyond the second-level cache or with rows that collide in the first, once so
# many rows of A reuse it.
_PACK_ROWS = 64
_CACHE_LINE = 64
# Addresses this far apart, to some bytes, share a set of the first-level cache; so many rows of B
# that do no longer stay in it: 500x1024x64 went at 0.82 of the peak without packing, 0.97 with it.
_CACHE_WAY = 4096
_NEAR = 8
_COLLIDING_ROWS = 32


def emit_matrix_product(
    b: Builder, contraction: Contraction, target: CPUTarget, initial: ir.Value | None
) -> None:
    """Emit a contraction whose B is contiguous along the columns, or is to be packed."""

    def matrix(at: list[Access], extents: list[Index]) -> None:
        rest = rest_for_dots(b, contraction, target, extents)
        tiled = list(extents)
        tiled[contraction.column] = b.sub(extents[contraction.column], rest)
        if tiled[contraction.column] != 0 or rest == 0:
            _MatrixProduct(b, contraction, at, tiled, target, initial).emit()
        b.when(
            b.at_least(rest, 1),
            lambda: emit_rest_dots(b, contraction, at, extents, rest, target, initial),
        )

    for_each_matrix(b, contraction, matrix)


@dataclass(frozen=True)
class _Panels:
    """B as column panels: panel p begins at `base + p * panel_stride` of `view`."""

    view: FlatView
    base: Index
    panel_stride: Index
    k_strides: tuple[Index, ...]


class _MatrixProduct:
    def __init__(
        self,
        b: Builder,
        contraction: Contraction,
        accesses: list[Access],
        extents: list[Index],
        target: CPUTarget,
        initial: ir.Value | None,
    ):
        self.b = b
        self.contraction = contraction
        self.accesses = accesses
        self.rows: Index = 1 if contraction.row is None else extents[contraction.row]
        self.columns = extents[contraction.column]
        self.k = [extents[dim] for dim in contraction.k]
        self.b_element = contraction.nest.operands[contraction.b].element_type
        self.packed = self._decide_packing(target)
        self.in_blocks = self._passes_in_blocks(target)
        self.fetches_output = self.in_blocks and self._output_in_whole_lines()
        self.config = self._configure(target)
        lanes = self.config.lanes
        self.kernel = MicroKernel(b, contraction, accesses, lanes, initial)
        self.fetches_ahead = self._is_fetched_ahead(target)

    def _configure(self, target: CPUTarget) -> TileConfig:
        con = self.contraction
        block = con.nest.body.block
        bits = max(32, *(argument.type.width for argument in block.arguments))
        rows = con.extent(con.row).static
        columns = self.columns if isinstance(self.columns, int) else None
        lanes = target.lanes(bits)
        return choose_tile(rows, columns, lanes, target, self.in_blocks, con.chains)

    def _passes_in_blocks(self, target: CPUTarget) -> bool:
        """Whether many rows of A are known to pass blocks of a B beyond the second-level cache."""
        size = self.b.mul(self.k[0], self.columns)
        if self.packed is not True or len(self.k) > 1 or not isinstance(size, int):
            return False
        many = not isinstance(self.rows, int) or self.rows >= _PACK_ROWS
        return many and size * (self.b_element.width // 8) > target.l2_bytes

    def _output_in_whole_lines(self) -> bool:
        """Whether every tile has cache lines of C of its own: then they are fetched ahead.

        A large C comes and goes with every block of the reduction: without that 1024^3 took 2 per
        cent longer, a fifth beside a program that copies memory.  Of rows that begin within a line
        1 per cent is lost instead.
        """
        con = self.contraction
        stride = 0 if con.row is None else self.accesses[con.c].strides[con.row]
        size = con.nest.operands[con.c].element_type.width // 8
        return isinstance(stride, int) and stride * size % _CACHE_LINE == 0

    def _decide_packing(self, target: CPUTarget) -> ir.Value | bool:
        """Whether to pack B: known here, or a value at run time."""
        con, b = self.contraction, self.b
        if con.pack_b is not None or con.nest.stride(con.b, con.column) != ONE:
            return True
        if len(con.k) > 1 or con.nest.operands[con.b].group > 1:
            return False
        large = b.at_least(
            b.mul(self.k[0], self.columns), target.l2_bytes // (self.b_element.width // 8) + 1
        )
        collides = b.all_of([self._rows_collide(), b.at_least(self.k[0], _COLLIDING_ROWS)])
        reused = b.at_least(self.rows, _PACK_ROWS)
        return b.all_of([b.any_of([large, collides]), reused])

    def _rows_collide(self) -> ir.Value | bool:
        """Whether rows of B lie a multiple of the cache's way apart, to a few bytes: a panel of
        them then falls on the same few sets of the first-level cache."""
        b, con = self.b, self.contraction
        bytes_ = self.b_element.width // 8
        near = _NEAR // bytes_
        stride = self.accesses[con.b].strides[con.k[0]]
        beyond = b.mod(b.add(stride, near), _CACHE_WAY // bytes_)
        return b.all_of([b.at_most(beyond, 2 * near), b.at_least(stride, near + 1)])

    def _is_fetched_ahead(self, target: CPUTarget) -> bool:
        """Whether to fetch what follows of B while a part of a panel is used: that pays for panels
        that were packed beforehand, one behind the other, of more than the first-level cache holds.
        Such a B is a weight, which a network has evicted since it was last read."""
        con = self.contraction
        panels = [dim for dim in con.outer if con.nest.stride(con.b, dim) != ZERO]
        if self.packed is not False or len(panels) != 1 or len(con.k) != 1:
            return False
        count, depth = con.extent(panels[0]).static, con.extent(con.k[0]).static
        if count is None or depth is None or self.columns != self.config.columns:
            return False
        panel = depth * self.config.columns
        size = count * panel * self.b_element.width // 8
        return con.nest.stride(con.b, panels[0]).static == panel and size > target.l1_bytes

    def _ahead(self, tile: Tile, row: Index, rows: int) -> FetchedAhead | None:
        """What the tile at `row` of `rows` fetches of what follows in B."""
        depth = tile.k_extents[0]
        if not self.fetches_ahead or not isinstance(depth, int):
            return None
        config = self.config
        block, number = depth * config.columns, self.b.floordiv(row, config.rows)
        return fetched_ahead(self.b, block, config.vectors, number, rows // config.rows)

    def _pick(self, packed: Index, unpacked: Index) -> Index:
        if isinstance(self.packed, bool):
            return packed if self.packed else unpacked
        if isinstance(packed, int) and packed == unpacked:
            return packed
        return self.b.select(self.packed, packed, unpacked)

    def emit(self) -> None:
        b, config = self.b, self.config
        column_block = self._pick(
            self._balanced(self.columns, config.column_block, config.columns),
            b.maximum(self.columns, 1),
        )
        row_block = self._pick(
            self._balanced(self.rows, config.row_block, config.rows), b.maximum(self.rows, 1)
        )
        k_block = self._k_block()
        buffer = self._pack_buffer(column_block, k_block)

        def block_body(column: Index, columns: Index, k: Index, depth: Index) -> None:
            panels = self._panels(buffer, column, k, depth)
            if self.packed is not False:
                b.when(self.packed, lambda: self._pack(buffer, column, columns, k, depth))

            def row_body(row: Index, rows: Index) -> None:
                tile = self._tile(panels, row, column, k, depth)
                self._emit_block(tile, panels, rows, columns)

            self._blocks(self.rows, row_block, row_body)

        def column_body(column: Index, columns: Index) -> None:
            if k_block is self.k[0]:
                block_body(column, columns, 0, k_block)
                return
            # One round even for an empty reduction, which still writes C.
            with b.loop(0, b.maximum(self.k[0], 1), k_block) as k:
                block_body(column, columns, k, self._remaining(self.k[0], k, k_block))

        self._blocks(self.columns, column_block, column_body)
        if buffer is not None and isinstance(self.packed, ir.Value):
            b.when(self.packed, lambda: b.stmt("memref.dealloc", [buffer.value]))

    def _blocks(self, total: Index, block: Index, body: Callable[[Index, Index], None]) -> None:
        """`body(start, size)` for every block; with known sizes a last, smaller block is emitted
        apart, so that all sizes inside are known too."""
        b = self.b
        if not isinstance(total, int) or not isinstance(block, int):
            with b.loop(0, total, block) as start:
                body(start, self._remaining(total, start, block))
            return
        whole = total // block * block
        if whole:
            with b.loop(0, whole, block) as start:
                body(start, block)
        if whole < total:
            body(whole, total - whole)

    def _balanced(self, size: Index, block: int, multiple: int) -> Index:
        """Blocks of equal size, not above `block` (or the multiple that contains it)."""
        b = self.b
        count = b.maximum(b.ceildiv(size, block), 1)
        return b.maximum(b.mul(b.ceildiv(b.ceildiv(size, count), multiple), multiple), multiple)

    def _k_block(self) -> Index:
        """Length of a block of the (outermost) reduction loop; `self.k[0]` itself for the whole."""
        config = self.config
        # Partial sums are not rounded to a narrower C.
        c_element = self.contraction.nest.operands[self.contraction.c].element_type
        narrow = min(self.b_element.width, c_element.width) < 32
        # What B's columns start from counts for the whole reduction if B is not packed in blocks.
        starts_once = self.contraction.start is not None and self.contraction.pack_b is None
        if len(self.k) > 1 or narrow or starts_once:
            return self.k[0]
        unpacked = self._balanced(self.k[0], config.unpacked_k_block, 1)
        return self._pick(self._balanced(self.k[0], config.k_block, 1), unpacked)

    def _remaining(self, total: Index, start: Index, block: Index) -> Index:
        """Size of the block at `start`; known where all blocks are equal."""
        if isinstance(total, int) and isinstance(block, int):
            if block >= total:
                return total
            if total % block == 0:
                return block
        elif block is total:
            return total
        return self.b.minimum(self.b.sub(total, start), block)

    def _tile(self, panels: _Panels, row: Index, column: Index, k: Index, depth: Index) -> Tile:
        """The tile at a block's corner; its size and B are filled in by `_emit_block`."""
        b, total = self.b, self.k[0]
        if len(self.k) > 1 or (isinstance(k, int) and depth is total):
            first: ir.Value | bool = True
            last: ir.Value | bool = True
        else:
            known = isinstance(total, int) and isinstance(depth, int) and depth >= total
            first = True if known else b.compare("eq", k, 0)
            last = True if known else b.compare("uge", b.add(k, depth), total)
        return Tile(
            row=row,
            column=column,
            rows=self.config.rows,
            vectors=self.config.vectors,
            active=None,
            b_view=panels.view,
            b_base=panels.base,
            b_k_strides=panels.k_strides,
            k_start=k,
            k_extents=(depth, *self.k[1:]),
            first=first,
            last=last,
        )

    # B as panels

    def _pack_buffer(self, column_block: Index, k_block: Index) -> FlatView | None:
        if self.packed is False:
            return None
        width = self.config.columns
        if not isinstance(column_block, int):
            column_block = -(-self.config.column_block // width) * width
        if not isinstance(k_block, int) and k_block is not self.k[0]:
            k_block = self.config.k_block
        panels = self.b.floordiv(column_block, width)
        size = self.b.mul(panels, self._packed_panel(k_block))
        if self.contraction.pack_b is not None:
            size = self.b.add(size, self.config.lanes * width)
        if not isinstance(self.packed, ir.Value):
            return self.b.scratch(size, self.b_element)
        # Asking for memory takes as long as a small product.
        given = self._dynamic_view(self._given_view())
        allocated = self.b.choose(
            self.packed,
            lambda: [self._dynamic_view(self.b.scratch(size, self.b_element)).value],
            lambda: [given.value],
            [given.value.type],
        )
        return FlatView(allocated[0], self.b_element)

    def _panels(self, buffer: FlatView | None, column: Index, k: Index, depth: Index) -> _Panels:
        b, con = self.b, self.contraction
        access = self.accesses[con.b]
        assert access.view is not None
        strides = tuple(access.strides[dim] for dim in con.k)
        base = b.add(access.base, b.mul(column, access.strides[con.column]))
        if len(con.k) == 1:
            base = b.add(base, b.mul(k, strides[0]))
        width = self.config.columns
        if buffer is None:
            return _Panels(access.view, base, width, strides)
        packed_panel = self._packed_panel(depth)
        if self.packed is True:
            k_strides = packed_strides(b, [depth, *self.k[1:]], width)
            return _Panels(buffer, 0, packed_panel, k_strides)
        assert isinstance(self.packed, ir.Value)
        return _Panels(
            buffer,
            self._pick(0, base),
            self._pick(packed_panel, width),
            (self._pick(width, strides[0]),),
        )

    def _given_view(self) -> FlatView:
        view = self.accesses[self.contraction.b].view
        assert view is not None
        return view

    def _dynamic_view(self, view: FlatView) -> FlatView:
        type_ = ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], view.element_type)
        if view.value.type == type_:
            return view
        return FlatView(self.b.op("memref.cast", type_, [view.value]), view.element_type)

    def _pack(
        self,
        buffer: FlatView | None,
        column: Index,
        columns: Index,
        k: Index,
        depth: Index,
    ) -> None:
        """Copy a block of B into panels, columns that do not exist as zeros."""
        assert buffer is not None
        b, con = self.b, self.contraction
        panel_size = self._packed_panel(depth)
        if con.pack_b is not None:
            width = self.config.columns
            con.pack_b(PanelBlock(column, columns, k, depth, buffer, width, panel_size))
            return
        access = self.accesses[con.b]
        assert access.view is not None
        column_stride = access.strides[con.column]
        start = b.add(access.base, b.mul(column, column_stride))
        if len(con.k) == 1:
            start = b.add(start, b.mul(k, access.strides[con.k[0]]))
        k_strides = tuple(access.strides[dim] for dim in con.k)
        packing = Packing(b, self.config, access.view, column_stride, k_strides, buffer)
        packing.emit(start, columns, [depth, *self.k[1:]], panel_size)

    def _packed_panel(self, depth: Index) -> Index:
        """Size of a panel; a row more keeps panels from falling on the same cache sets."""
        positions = depth
        for extent in self.k[1:]:
            positions = self.b.mul(positions, extent)
        return self.b.mul(self.b.add(positions, 1), self.config.columns)

    # Tiles

    def _emit_block(self, tile: Tile, panels: _Panels, rows: Index, columns: Index) -> None:
        """All tiles of a block, columns outermost: a panel of B stays in the first-level cache
        while the rows of A pass."""

        def column_panel(position: Index, active: Index | None) -> None:
            index = self.b.floordiv(position, self.config.columns)
            base = self.b.add(panels.base, self.b.mul(index, panels.panel_stride))
            at = replace(tile, column=self.b.add(tile.column, position), b_base=base)
            for part, guard in self._column_parts(at, active):
                self._guarded(guard, part, rows)

        column_panels(self.b, columns, self.config.columns, column_panel)

    def _guarded(self, guard: ir.Value | bool, tile: Tile, rows: Index) -> None:
        self.b.when(guard, lambda: self._row_panels(tile, rows))

    def _column_parts(self, tile: Tile, active: Index | None) -> list[tuple[Tile, ir.Value | bool]]:
        """A panel's tile in as many vectors as its columns need, with the condition for it."""
        lanes = self.config.lanes
        if active is None:
            return [(tile, True)]
        if isinstance(active, int):
            vectors = -(-active // lanes)
            exact = active == vectors * lanes
            return [(replace(tile, vectors=vectors, active=None if exact else active), True)]
        masked = replace(tile, active=active)
        if tile.vectors == 1:
            return [(masked, True)]
        narrow = replace(masked, vectors=1)
        wide = self.b.compare("sgt", active, lanes)
        one = self.b.compare("sle", active, lanes)
        return [(masked, wide), (narrow, one)]

    def _row_panels(self, tile: Tile, rows: Index) -> None:
        """The row panels of a column panel: whole tiles and a rest if the number of rows is known,
        panels of balanced height otherwise."""
        b, height = self.b, self.config.rows
        if isinstance(rows, int):
            whole = rows // height * height
            if whole:
                with b.loop(0, whole, height) as row:
                    ahead = self._ahead(tile, row, rows)
                    self._emit_tile(replace(tile, row=b.add(tile.row, row), ahead=ahead), height)
            if rows > whole:
                self._emit_tile(replace(tile, row=b.add(tile.row, whole)), rows - whole)
            return
        count = self._pick(b.ceildiv(rows, self.config.blocked_rows), b.ceildiv(rows, height))
        low = b.floordiv(rows, b.maximum(count, 1))
        taller = b.sub(rows, b.mul(low, count))

        def panel(number: Index, carried: list[ir.Value]) -> list[ir.Value]:
            is_tall = b.compare("ult", number, taller)
            panel_height = b.select(is_tall, b.add(low, 1), low)
            self._emit_tile(replace(tile, row=b.add(tile.row, carried[0])), panel_height)
            return [b.index(b.add(carried[0], panel_height))]

        # The row is carried, not computed: LLVM would divide for it at every step of the reduction.
        b.carried_loop(0, count, 1, [b.index(0)], panel)

    def _emit_tile(self, tile: Tile, rows: Index) -> None:
        """One tile, of as many rows as may only be known at run time."""
        kernel = self.kernel
        if self.fetches_output:
            kernel.fetch_output(tile, rows)
        heights = range(1, self.config.rows + 1)
        self.b.switch(rows, {h: partial(kernel.emit, replace(tile, rows=h)) for h in heights})
