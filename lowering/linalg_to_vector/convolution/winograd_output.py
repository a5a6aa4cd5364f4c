"""What the emission of all Winograd convolutions has in common: tiles at the border of the image,
register tiles, and the epilogue that finishes vectors of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from relax_mlir.lowering.linalg_to_vector.body import emit_body
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.lowering.linalg_to_vector.convolution.cost import (
    choose_register_tile,
    even_pieces,
)
from relax_mlir.lowering.linalg_to_vector.convolution.winograd_chain import WinogradAxis
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ZERO, Access, LoopNest, Stage
from relax_mlir.mlir import ir

__all__ = ["Piece", "WinogradEmitter", "below", "conditions_between", "inside", "value_of"]

_Buffers = TypeVar("_Buffers")


@dataclass(frozen=True)
class Piece:
    """`size` tiles from `tile` on, in one of the products; the piece number `order` of these."""

    product: Index
    tile: Index
    size: int
    order: Index


class WinogradEmitter:
    """Emits into a nest with the dimensions of the output, images first and channels last, whose
    operands are `out` and those of the epilogue."""

    def __init__(self, b: Builder, nest: LoopNest, epilogue: Stage | None, target: CPUTarget):
        self.b = b
        self.nest = nest
        self.epilogue = epilogue
        self.target = target
        self.element = ir.F32Type.get()
        self.lanes = target.lanes(32)
        self.vector = b.vector_type(self.lanes, self.element)
        self.accesses = nest.emit_accesses(b, self._needed())

    def _needed(self) -> set[int]:
        if self.epilogue is None:
            return {self.nest.body.results[0]}
        return {i for i in (*self.epilogue.arguments, *self.epilogue.results) if i >= 0}

    # Chunks

    def chunks(
        self,
        total: int,
        size: int,
        cores: int,
        buffers: Callable[[], _Buffers],
        body: Callable[[_Buffers, Index, Index, int], None],
    ) -> None:
        """`body(buffers, image, first, count)` for `total` rows of every image in chunks of `size`,
        which `cores` cores share, each with buffers of its own."""
        b = self.b
        images = self.nest.emit_extent(b, self.nest.extents[0])
        chunks = -(-total // size)

        def some(image: Index, start: Index, end: Index) -> None:
            own = buffers()
            whole = total // size
            last = b.minimum(end, whole) if total % size else end
            with b.loop(start, last) as number:
                body(own, image, b.mul(number, size), size)
            if total % size:
                rest = partial(body, own, image, whole * size, total % size)
                b.when(b.at_least(end, whole + 1), rest)

        if cores == 1:
            with b.loop(0, images) as image:
                some(image, 0, chunks)
            return
        piece = -(-chunks // cores)
        with b.loop(0, images) as image, b.parallel_loop(-(-chunks // piece)) as core:
            start = b.mul(core, piece)
            some(image, start, b.minimum(b.add(start, piece), chunks))

    # Tiles

    def elements(
        self, first: Index, count: int, size: Index, stride: Index
    ) -> list[tuple[Index, ir.Value | bool]]:
        """Offsets of the elements that a tile reads along an axis of `size`, and whether they
        exist; the offset of one that does not is that of the nearest."""
        b = self.b
        found: list[tuple[Index, ir.Value | bool]] = []
        for i in range(count):
            place = b.add(first, i)
            near = b.minimum(b.maximum(place, 0), b.sub(size, 1))
            exists = (
                0 <= place < size
                if isinstance(place, int) and isinstance(size, int)
                else b.compare("ult", place, size)
            )
            found.append((b.mul(near, stride), exists))
        return found

    def vectors(self, extent: int, body: Callable[[Index, ir.Value | None], None]) -> None:
        """`body(position, mask)` for every vector along an axis."""
        b = self.b
        whole = extent // self.lanes * self.lanes
        if whole:
            with b.loop(0, whole, self.lanes) as position:
                body(position, None)
        if whole < extent:
            body(whole, b.mask(self.lanes, extent - whole))

    def largest_piece(self, tiles: int, vectors: int) -> int:
        """How many tiles a register tile of some vectors has."""
        width = vectors * self.lanes
        return choose_register_tile(tiles, width, self.lanes, self.target, (vectors,)).pixels

    def pieces(self, product: Index, tiles: int, largest: int) -> Iterator[Piece]:
        """Loops over `tiles` in pieces of at most `largest`."""
        b = self.b
        begin = done = 0
        sizes = even_pieces(tiles, largest)
        for size in sorted(set(sizes), reverse=True):
            count = sizes.count(size)
            with b.loop(begin, begin + size * count, size) as tile:
                order = b.add(b.floordiv(b.sub(tile, begin), size), done)
                yield Piece(product, tile, size, order)
            begin += size * count
            done += count

    # The output

    def finish(self, value: ir.Value, place: tuple[Index, ...], mask: ir.Value | None) -> None:
        """Apply the epilogue to a vector of the output and store it."""
        for operand, result in self.finished(value, place, mask):
            self._store(result, operand, place, mask)

    def finished(
        self, value: ir.Value, place: tuple[Index, ...], mask: ir.Value | None
    ) -> list[tuple[int, ir.Value]]:
        """A vector of the output with the epilogue applied: operands of the nest, and what is to be
        stored in each."""
        b, epilogue = self.b, self.epilogue
        if epilogue is None:
            return [(self.nest.body.results[0], value)]
        arguments: list[ir.Value] = []
        for argument, operand in zip(epilogue.block.arguments, epilogue.arguments, strict=True):
            access = self.accesses[operand]
            if operand < 0 or not list(argument.uses):
                arguments.append(value)
            elif access.view is None:
                arguments.append(access.value)
            else:
                uniform = self.nest.stride(operand, len(place) - 1) == ZERO
                lanes, own = (1, None) if uniform else (self.lanes, mask)
                arguments.append(b.load(access.view, self._offset(access, place), lanes, own))
        results = emit_body(b, epilogue.block, arguments, self.lanes)
        return [
            (operand, b.broadcast(result, self.lanes))
            for operand, result in zip(epilogue.results, results, strict=True)
        ]

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


def inside(axis: WinogradAxis) -> tuple[int, int]:
    """The tiles that read no border: from the first on, up to the second."""
    first = -(-axis.low // axis.step)
    room = axis.size + axis.low - axis.b.shape[1]
    return first, (room // axis.step + 1 if room >= 0 else 0)


def conditions_between(
    b: Builder, tile: Index, bounds: tuple[int, int], tiles: int
) -> list[ir.Value | bool]:
    """The conditions for a tile to lie between bounds, of `tiles` in all."""
    low, high = bounds
    conditions: list[ir.Value | bool] = []
    if low > 0:
        conditions.append(b.at_least(tile, low))
    if high < tiles:
        conditions.append(below(b, tile, high))
    return conditions


def below(b: Builder, value: Index, bound: Index) -> ir.Value | bool:
    """Whether an index is below a bound."""
    if isinstance(value, int) and isinstance(bound, int):
        return value < bound
    return b.compare("slt", value, bound)


def value_of(b: Builder, conditions: Sequence[ir.Value | bool]) -> ir.Value:
    """The conjunction of conditions as a value, also where it is known here."""
    found = b.all_of(conditions)
    if isinstance(found, bool):
        return b.constant(b.i1, ir.IntegerAttr.get(b.i1, int(found)))
    return found
