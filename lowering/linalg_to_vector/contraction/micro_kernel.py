"""The register tile of a matrix product.

A tile of C stays in registers while the reduction loops run: every step loads the vectors of one
row of B, broadcasts one element of A for each row, and multiplies and adds.  A tile with few
accumulators splits the innermost reduction loop into several chains.  The tile starts from what C
is filled with or holds; the finished tile goes through the epilogue and is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_mlir.lowering.linalg_to_vector.body import (
    INLINE_EPILOGUE,
    Combiner,
    body_cost,
    can_widen,
    combiners,
    emit_body,
    multiplies,
    narrowed,
    wide_type,
    widened,
)
from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index, defining_op
from relax_mlir.lowering.linalg_to_vector.contraction.matching import Contraction
from relax_mlir.lowering.linalg_to_vector.loop_nest import ZERO, Access
from relax_mlir.mlir import ir

__all__ = ["FetchedAhead", "MicroKernel", "Region", "Tile", "fetched_ahead"]


@dataclass(frozen=True)
class Region:
    """A part of C: position, size, and the columns that exist if the vectors hold more."""

    row: Index
    column: Index
    rows: int
    vectors: int
    active: Index | None


@dataclass(frozen=True)
class FetchedAhead:
    """What a tile fetches into the second-level cache while it reads a block of B: from `start`
    elements behind the block's beginning on, `lines` vectors for every `parts` rows it has read."""

    start: Index
    parts: int
    lines: int


# So many steps of a tile may ask for the same vector: it costs them little, and more tiles share.
_STEPS_A_VECTOR = 4
# A single tile reads its block once, and nothing waits for the next one: what lies this many
# elements ahead (32 KiB of float32) comes 3 per cent faster from memory than what is 600 KB away.
_FARTHEST = 8192


def fetched_ahead(b: Builder, block: int, vectors: int, tile: Index, tiles: int) -> FetchedAhead:
    """What tile number `tile` of `tiles`, which all read the same block of B, fetches of the next.

    They share it evenly: memory is slower than tiles that each fetch a vector at every step.  A
    single tile fetches from the same block until it comes to its end.
    block: elements of the block, behind which the next one begins; its rows have so many vectors.
    """
    if tiles == 1:
        return FetchedAhead(min(block, _FARTHEST), 1, vectors)
    parts = 1 << (min(tiles, _STEPS_A_VECTOR * vectors).bit_length() - 1)
    start = b.mul(b.minimum(tile, parts - 1), block // parts)
    return FetchedAhead(b.add(start, block), parts, -(-vectors // parts))


@dataclass(frozen=True)
class Tile(Region):
    """A region of C and what is summed into it.

    b_view, b_base, b_k_strides: B at this tile's first column, and the step along each reduction
    dimension.  k_start, k_extents: range of the reduction.  first, last: whether this is the first
    and last block of the reduction.  ahead: what is fetched meanwhile.
    """

    b_view: FlatView
    b_base: Index
    b_k_strides: tuple[Index, ...]
    k_start: Index
    k_extents: tuple[Index, ...]
    first: ir.Value | bool
    last: ir.Value | bool
    ahead: FetchedAhead | None = None


@dataclass
class MicroKernel:
    """Emits tiles of one contraction at fixed outer positions.

    accesses: all operands, moved to the outer position.  initial: the scalar C is filled with
    before, None if C's contents count.
    """

    b: Builder
    contraction: Contraction
    accesses: list[Access]
    lanes: int
    initial: ir.Value | None
    _multiply_add: bool = field(init=False)
    _wide: bool = field(init=False)
    _combiner: Combiner = field(init=False)
    _accumulator: ir.Type = field(init=False)

    def __post_init__(self) -> None:
        con = self.contraction
        nest = con.nest
        self._c_argument = nest.body.arguments.index(nest.body.results[0])
        block = nest.body.block
        found = combiners(block, [self._c_argument])
        assert found is not None
        self._combiner = found[0]
        names = sorted(op.operation.name for op in block.operations)
        a, b = (nest.body.arguments.index(operand) for operand in (con.a, con.b))
        is_sum = names == ["arith.addf", "arith.mulf", "linalg.yield"]
        self._multiply_add = is_sum and multiplies(block, a, b)
        element = block.arguments[self._c_argument].type
        # f16 and bf16 products are summed in f32 and rounded once, when stored.
        self._wide = can_widen(block)
        self._accumulator = wide_type(element) if self._wide else element

    def emit(self, tile: Tile) -> None:
        """Compute one tile and store it."""
        self._finish(tile, self._joined(tile, self._accumulate(tile)))

    def fetch_output(self, tile: Tile, rows: Index) -> None:
        """Ask for `rows` rows of the tile's part of C, to be written when they are computed."""
        c = self.accesses[self.contraction.c]
        assert c.view is not None
        with self.b.loop(0, rows) as row:
            for v in range(tile.vectors):
                at = self._offset(self.contraction.c, tile, row, v)
                self.b.prefetch(c.view, at, to_write=True)

    # The reduction

    def _accumulate(self, tile: Tile) -> list[ir.Value]:
        count = tile.rows * tile.vectors
        chains = max(1, self.contraction.chains // count)
        extent = tile.k_extents[-1]
        if isinstance(extent, int):
            chains = min(chains, max(1, extent))
        empty = self.empty()
        masks = self._masks(tile)
        start = self._start_row(tile, empty) * tile.rows
        a = self.accesses[self.contraction.a]
        k_dims = self.contraction.k
        row_stride = a.strides[self.contraction.row] if self.contraction.row is not None else 0
        a_start = self.b.add(a.base, self.b.mul(tile.row, row_stride))
        if len(k_dims) == 1:
            a_start = self.b.add(a_start, self.b.mul(tile.k_start, a.strides[k_dims[0]]))
        rows = [self.b.add(a_start, self.b.mul(row, row_stride)) for row in range(tile.rows)]
        start += [empty] * (count * (chains - 1))
        sets = self._k_loops(tile, rows, masks, 0, 0, tile.b_base, start)
        for chain in range(1, chains):
            part = sets[chain * count : (chain + 1) * count]
            sets[:count] = [self.combine(x, y) for x, y in zip(sets[:count], part, strict=True)]
        return sets[:count]

    def _start_row(self, tile: Tile, empty: ir.Value) -> list[ir.Value]:
        """What the vectors of each row start from: what every block of the reduction adds, or the
        initial value in the first block and nothing in the others (in all of them without an
        initial value)."""
        b, start = self.b, self.contraction.start
        if start is not None:
            access = self.accesses[start]
            assert access.view is not None
            first = b.add(access.base, tile.column)
            columns = [b.add(first, v * self.lanes) for v in range(tile.vectors)]
            return [b.load(access.view, column, self.lanes) for column in columns]
        if tile.first is False or self._holds_all():
            return [empty] * tile.vectors
        initial = self._initial_row(empty, tile.vectors)
        if tile.first is True or initial[0] == empty:
            return initial
        return [self.b.select(tile.first, value, empty) for value in initial]

    def _holds_all(self) -> bool:
        """Whether C holds what the products are added to before the first block."""
        return self.initial is None

    def _joined(self, tile: Tile, values: list[ir.Value]) -> list[ir.Value]:
        """The sums of a block of the reduction with what C holds from the blocks before.

        C is read when the block is done: then the processor need not wait for it, where it is
        large, before it can multiply.
        """

        def stored() -> list[ir.Value]:
            c, masks = self.accesses[self.contraction.c], self._masks(tile)
            assert c.view is not None
            found: list[ir.Value] = []
            for number, value in enumerate(values):
                row, v = divmod(number, tile.vectors)
                at = self._offset(self.contraction.c, tile, row, v)
                before = self._promote(self.b.load(c.view, at, self.lanes, masks[v]))
                found.append(self.combine(before, value))
            return found

        if tile.first is False or self._holds_all():
            return stored()
        if tile.first is True:
            return values
        types = [value.type for value in values]
        return self.b.choose(tile.first, lambda: values, stored, types)

    def _initial_row(self, empty: ir.Value, vectors: int) -> list[ir.Value]:
        """As many vectors of the value that C is filled with."""
        assert self.initial is not None
        if self._is_neutral(self.initial):
            return [empty] * vectors
        return [self.b.broadcast(self._promote(self.initial), self.lanes)] * vectors

    def _k_loops(
        self,
        tile: Tile,
        rows: list[Index],
        masks: list[ir.Value | None],
        depth: int,
        a_offset: Index,
        b_offset: Index,
        values: list[ir.Value],
    ) -> list[ir.Value]:
        """The reduction loops from `depth` inwards; `values` are all accumulators."""
        b = self.b
        a_stride = self.accesses[self.contraction.a].strides[self.contraction.k[depth]]
        b_stride = tile.b_k_strides[depth]
        extent = tile.k_extents[depth]
        count = tile.rows * tile.vectors

        def at(position: Index) -> tuple[Index, Index]:
            return (
                b.add(a_offset, b.mul(position, a_stride)),
                b.add(b_offset, b.mul(position, b_stride)),
            )

        if depth + 1 < len(tile.k_extents):

            def nested(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
                return self._k_loops(tile, rows, masks, depth + 1, *at(position), carried)

            return b.carried_loop(0, extent, 1, values, nested)

        def step(position: Index, carried: list[ir.Value]) -> list[ir.Value]:
            results: list[ir.Value] = []
            for chain in range(len(carried) // count):
                part = carried[chain * count : (chain + 1) * count]
                results += self._step(tile, rows, masks, *at(b.add(position, chain)), part)
            return results

        chains = len(values) // count
        main_end = b.round_down(extent, chains)
        values = b.carried_loop(0, main_end, chains, values, step)
        return b.carried_loop(main_end, extent, 1, values[:count], step) + values[count:]

    def _step(
        self,
        tile: Tile,
        rows: list[Index],
        masks: list[ir.Value | None],
        a_offset: Index,
        b_offset: Index,
        values: list[ir.Value],
    ) -> list[ir.Value]:
        """One position of the reduction for the whole tile."""
        b, lanes = self.b, self.lanes
        columns = [
            self._promote(b.load(tile.b_view, b.add(b_offset, v * lanes), lanes, masks[v]))
            for v in range(tile.vectors)
        ]
        if tile.ahead is not None:
            self._fetch(tile, tile.ahead, b_offset)
        a_view = self.accesses[self.contraction.a].view
        assert a_view is not None
        results: list[ir.Value] = []
        for row in range(tile.rows):
            scalar = self._promote(b.load(a_view, b.add(rows[row], a_offset), 1))
            if self._multiply_add or self.contraction.product is not None:
                scalar = b.broadcast(scalar, lanes)
            for v in range(tile.vectors):
                accumulator = values[row * tile.vectors + v]
                results.append(self.multiply(scalar, columns[v], accumulator))
        return results

    def _fetch(self, tile: Tile, ahead: FetchedAhead, b_offset: Index) -> None:
        b = self.b
        read = b.floordiv(b.sub(b_offset, tile.b_base), ahead.parts)
        start = b.add(b.add(tile.b_base, ahead.start), read)
        for line in range(ahead.lines):
            b.prefetch(tile.b_view, b.add(start, line * self.lanes))

    def multiply(self, a: ir.Value, column: ir.Value, accumulator: ir.Value) -> ir.Value:
        con = self.contraction
        if con.product is not None:
            return con.product(a, column, accumulator)
        if self._multiply_add:
            return self.b.fma(a, column, accumulator)
        by_operand = {con.a: a, con.b: column}
        arguments = [by_operand.get(operand, accumulator) for operand in con.nest.body.arguments]
        body = con.nest.body.block
        result = emit_body(self.b, body, arguments, self.lanes, contract=True, widen=self._wide)[0]
        return self.b.broadcast(result, self.lanes)

    def _promote(self, value: ir.Value) -> ir.Value:
        return widened(self.b, value, self.lanes) if self._wide else value

    def empty(self) -> ir.Value:
        """A vector of sums of nothing."""
        neutral = self._combiner.neutral(self._accumulator)
        return self.b.broadcast(self.b.scalar(neutral, self._accumulator), self.lanes)

    def combine(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """The sum of two partial sums."""
        return self.b.op(self._combiner.op, lhs.type, [lhs, rhs])

    def _masks(self, tile: Region) -> list[ir.Value | None]:
        if tile.active is None:
            return [None] * tile.vectors
        masks: list[ir.Value | None] = []
        for v in range(tile.vectors):
            active = self.b.sub(tile.active, v * self.lanes)
            full = isinstance(active, int) and active >= self.lanes
            masks.append(None if full else self.b.mask(self.lanes, active))
        return masks

    # The finished tile

    def _finish(self, tile: Tile, values: list[ir.Value]) -> None:
        if self.contraction.epilogue is None:
            self._write(tile, values, False)
        else:
            self.b.when(
                tile.last,
                lambda: self._write(tile, values, True),
                lambda: self._write(tile, values, False),
            )

    def _write(self, tile: Tile, values: list[ir.Value], last: bool) -> None:
        con = self.contraction
        masks = self._masks(tile)
        epilogue = con.epilogue if last else None
        if epilogue is not None and body_cost(epilogue.block) <= INLINE_EPILOGUE:
            for row in range(tile.rows):
                for v in range(tile.vectors):
                    value = values[row * tile.vectors + v]
                    self._emit_epilogue(tile, value, row, v, masks[v])
            return
        c = self.accesses[con.c]
        assert c.view is not None
        for row in range(tile.rows):
            for v in range(tile.vectors):
                value = self._narrow(values[row * tile.vectors + v])
                self.b.store(value, c.view, self._offset(con.c, tile, row, v), masks[v])
        if epilogue is not None:
            self.emit_stored_epilogue(tile)

    def emit_stored_epilogue(self, region: Region) -> None:
        """Apply the epilogue to a finished region that lies in C."""
        c = self.accesses[self.contraction.c]
        assert c.view is not None
        masks = self._masks(region)
        with self.b.loop(0, region.rows) as row:
            for v in range(region.vectors):
                stored = self._offset(self.contraction.c, region, row, v)
                value = self.b.load(c.view, stored, self.lanes, masks[v])
                self._emit_epilogue(region, value, row, v, masks[v])

    def _is_neutral(self, value: ir.Value) -> bool:
        owner = defining_op(value)
        if owner is None or owner.name != "arith.constant":
            return False
        return owner.attributes["value"].value == self._combiner.neutral(value.type)

    def _narrow(self, value: ir.Value) -> ir.Value:
        element = self.contraction.nest.operands[self.contraction.c].element_type
        return narrowed(self.b, value, element, self.lanes)

    def _offset(self, operand: int, tile: Region, row: Index, v: int) -> Index:
        """Offset of a vector of the tile in an operand of C's shape, or of part of it."""
        b, con = self.b, self.contraction
        access = self.accesses[operand]
        offset = access.base
        if con.row is not None:
            offset = b.add(offset, b.mul(b.add(tile.row, row), access.strides[con.row]))
        column = b.add(tile.column, v * self.lanes)
        return b.add(offset, b.mul(column, access.strides[con.column]))

    def _emit_epilogue(
        self, tile: Region, value: ir.Value, row: Index, v: int, mask: ir.Value | None
    ) -> None:
        con, b = self.contraction, self.b
        epilogue = con.epilogue
        assert epilogue is not None
        arguments: list[ir.Value] = []
        value = self._narrow(value)
        for argument, operand in zip(epilogue.block.arguments, epilogue.arguments, strict=True):
            if operand < 0 or not list(argument.uses):
                arguments.append(value)
                continue
            access = self.accesses[operand]
            if access.view is None:
                arguments.append(access.value)
                continue
            uniform = con.nest.stride(operand, con.column) == ZERO
            offset = self._offset(operand, tile, row, v)
            lanes = 1 if uniform else self.lanes
            arguments.append(b.load(access.view, offset, lanes, None if uniform else mask))
        results = emit_body(b, epilogue.block, arguments, self.lanes)
        for operand, result in zip(epilogue.results, results, strict=True):
            view = self.accesses[operand].view
            assert view is not None
            vector = b.broadcast(result, self.lanes)
            b.store(vector, view, self._offset(operand, tile, row, v), mask)
