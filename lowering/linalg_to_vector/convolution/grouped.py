"""Direct convolutions of bfloat16 and of 8-bit integers by dot-product instructions.

As in `contraction/grouped_product.py`, the instructions multiply groups of two bfloat16 or four
bytes, neighbours along the input channels, and add the products to a 32-bit lane.  The data are
read in place, a group at a time; the weight is laid out in panels whose elements are groups.  Bytes
of the data have to be unsigned: signed ones are shifted by 128, and every tap takes off what that
adds, 128 times the sum of its weights, which is laid out in front of them.  A weight that lies in
groups already is read in place; what the shift adds is summed up beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from relax_mlir.lowering.linalg_to_vector.builder import Builder, FlatView, Index
from relax_mlir.lowering.linalg_to_vector.contraction.group_layout import (
    Groups,
    ShiftSums,
    blocks_follow,
    find_groups,
    weight_in_groups,
)
from relax_mlir.lowering.linalg_to_vector.contraction.grouped_panels import (
    SHIFT,
    GroupKind,
    group_product,
)
from relax_mlir.lowering.linalg_to_vector.contraction.grouped_product import kind_of_body
from relax_mlir.lowering.linalg_to_vector.contraction.micro_kernel import Tile
from relax_mlir.lowering.linalg_to_vector.convolution.direct import DirectConvolution
from relax_mlir.lowering.linalg_to_vector.convolution.kernel import ConvolutionKernel
from relax_mlir.lowering.linalg_to_vector.convolution.loops import Place, Selected
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO
from relax_mlir.mlir import ir

__all__ = ["emit_grouped_direct", "suits_groups"]

# Laying out the weight must be worth it.
_LEAST_POSITIONS, _LEAST_CHANNELS = 16, 16


def suits_groups(
    conv: Convolution, target: CPUTarget, initial: ir.Value | None, positions: int
) -> GroupKind | None:
    """The instruction for a convolution; None if there is none or it does not pay.  `positions` is
    the number of output positions."""
    nest = conv.nest
    if conv.depthwise or initial is None:
        return None
    groups = _prepared(conv)
    if groups is not None:
        kind = kind_of_body(nest, (conv.data, conv.weight, conv.out), target)
        return kind if kind is not None and kind.group == groups.size else None
    if len(conv.channels) != 1:
        return None
    if any(nest.stride(conv.data, dim) == ZERO for dim in conv.outer):
        return None
    channel = conv.channels[0]
    contiguous = nest.stride(conv.data, channel) == ONE
    if not contiguous or nest.stride(conv.weight, conv.column) != ONE:
        return None
    kind = kind_of_body(nest, (conv.data, conv.weight, conv.out), target)
    depth, outputs = nest.extents[channel].static, nest.extents[conv.column].static
    if kind is None or depth is None or depth % kind.group:
        return None
    small = outputs is not None and outputs < _LEAST_CHANNELS
    return None if small or positions < _LEAST_POSITIONS else kind


def _prepared(conv: Convolution) -> Groups | None:
    """The groups that the weight lies in since the module was compiled, if it does."""
    nest = conv.nest
    groups = find_groups(nest, conv.data, conv.weight, conv.column, conv.channels)
    if groups is None or not blocks_follow(nest, conv.weight, _blocks(conv), groups):
        return None
    steps = [(nest.stride(conv.data, d), nest.stride(conv.weight, d)) for d in conv.outer]
    # Groups of channels that are convolved apart have no such weights.
    return groups if all(ZERO in pair for pair in steps) else None


def _blocks(conv: Convolution) -> list[int]:
    """The dimensions that number the blocks of a weight in groups: panels and taps."""
    taps = [w.tap for w in conv.windows if w.tap is not None]
    return [*conv.outer, *taps]


def emit_grouped_direct(
    b: Builder,
    conv: Convolution,
    target: CPUTarget,
    initial: ir.Value | None,
    rows: tuple[Index, Index] | None,
    kind: GroupKind,
) -> None:
    """Emit a convolution for which `suits_groups` found an instruction."""
    _GroupedDirect(b, conv, target, initial, rows, kind).emit()


class _GroupedDirect(DirectConvolution):
    def __init__(
        self,
        b: Builder,
        conv: Convolution,
        target: CPUTarget,
        initial: ir.Value | None,
        rows: tuple[Index, Index] | None,
        kind: GroupKind,
    ):
        groups = _prepared(conv)
        if groups is not None:
            nest = weight_in_groups(conv.nest, conv.weight, groups)
            conv = replace(conv, nest=nest, channels=(groups.over,))
        super().__init__(b, conv, target, initial, rows)
        self.is_prepared = groups is not None
        self.kind = kind
        self.sums: tuple[ShiftSums, FlatView] | None = None
        self.i32 = ir.IntegerType.get_signless(32)
        self.element = conv.nest.operands[conv.data].element_type

    def _depths(self) -> list[Index]:
        *taps, channels = super()._depths()
        if self.is_prepared:
            return [*taps, channels]
        return [*taps, self.b.add(self._groups(channels), 1 if self.kind.shifted else 0)]

    def _groups(self, channels: Index) -> Index:
        return self.b.floordiv(channels, self.kind.group)

    def _kernel(self, place: Place, selected: Selected) -> ConvolutionKernel:
        return _GroupedKernel(
            self.b,
            self.contraction,
            place.accesses,
            self.lanes,
            self.initial,
            ranges=place.taps,
            row_taps=self.conv.row_taps,
            selected=selected,
            kind=self.kind,
            element=self.element,
            sums=self.sums,
        )

    # The weight

    def _packed(self, place: Place) -> FlatView | None:
        """The weight as groups, in panels as wide as a tile, where it has none yet; channels that
        do not exist are zeros."""
        if self.is_prepared:
            if self.kind.shifted:
                self.sums = self._shift_sums(place)
            return None
        b, width = self.b, self.tile.vectors * self.lanes
        depths = self._depths()
        self.panel_size: Index = width
        for depth in depths:
            self.panel_size = b.mul(self.panel_size, depth)
        columns = self.extents[self.conv.column]
        panels = b.ceildiv(columns, width)
        size = b.mul(panels, self.panel_size)
        raw = b.scratch(b.mul(size, 4), ir.IntegerType.get_signless(8))
        groups = self._view(raw, size, self.i32)
        elements = self._view(raw, b.mul(size, self.kind.group), self.element)
        with b.loop(0, panels) as panel:
            start = b.mul(panel, self.panel_size)
            self._taps(
                depths[:-1],
                (place.accesses[self.conv.weight].base, start),
                lambda source, to: self._pack_tap(
                    place, (elements, groups), b.mul(panel, width), source, to
                ),
            )
        return groups

    def _shift_sums(self, place: Place) -> tuple[ShiftSums, FlatView]:
        """What every tap of a weight that lies in groups takes off for the shift."""
        b, conv = self.b, self.conv
        blocks: Index = 1
        for dim in _blocks(conv):
            if conv.nest.stride(conv.weight, dim) != ZERO:
                blocks = b.mul(blocks, self.extents[dim])
        (over,) = conv.channels
        width = conv.nest.stride(conv.weight, over).factor
        depth, columns = self.extents[over], self.extents[conv.column]
        weight = place.accesses[conv.weight]
        sums = ShiftSums(b, self.kind, self.element, weight, blocks, depth, width, columns)
        return sums, sums.emit()

    def _view(self, raw: FlatView, size: Index, element: ir.Type) -> FlatView:
        static = isinstance(size, int)
        shape = [size if static else ir.ShapedType.get_dynamic_size()]
        operands = [raw.value, self.b.index(0), *([] if static else [self.b.index(size)])]
        type_ = ir.MemRefType.get(shape, element)
        return FlatView(self.b.op("memref.view", type_, operands), element)

    def _taps(
        self,
        extents: list[Index],
        at: tuple[Index, Index],
        body: Callable[[Index, Index], None],
        level: int = 0,
    ) -> None:
        """`body(source, to)` for every tap of a panel."""
        b = self.b
        if level == len(extents):
            body(*at)
            return
        stride = self.conv.nest.stride(self.conv.weight, self.contraction.k[level])
        step = self.conv.nest.emit_extent(b, stride)
        size: Index = self.tile.vectors * self.lanes
        for depth in self._depths()[level + 1 :]:
            size = b.mul(size, depth)
        with b.loop(0, extents[level]) as tap:
            now = b.add(at[0], b.mul(tap, step)), b.add(at[1], b.mul(tap, size))
            self._taps(extents, now, body, level + 1)

    def _pack_tap(
        self,
        place: Place,
        buffers: tuple[FlatView, FlatView],
        column: Index,
        source: Index,
        to: Index,
    ) -> None:
        b, lanes, kind = self.b, self.lanes, self.kind
        elements, groups = buffers
        weight = place.accesses[self.conv.weight]
        assert weight.view is not None
        view = weight.view
        channel = self.conv.channels[0]
        step = weight.strides[channel]
        width = self.tile.vectors * lanes
        first = 1 if kind.shifted else 0
        columns = self.extents[self.conv.column]
        for v in range(self.tile.vectors):
            here = b.add(column, v * lanes)
            mask = b.mask(lanes, b.sub(columns, here))
            start = b.add(source, here)

            def group(
                number: Index,
                sums: list[ir.Value],
                mask: ir.Value = mask,
                start: Index = start,
                v: int = v,
            ) -> list[ir.Value]:
                at = b.mul(number, kind.group)
                lines = [
                    b.load(view, b.add(start, b.mul(b.add(at, i), step)), lanes, mask)
                    for i in range(kind.group)
                ]
                packed = _interleaved(b, lines, self.element)
                row = b.mul(b.add(number, first), width)
                offset = b.add(b.add(to, row), v * lanes)
                b.store(packed, elements, b.mul(offset, kind.group))
                if not sums:
                    return []
                shift = b.broadcast(b.scalar(SHIFT, self.i32), lanes)
                as_groups = b.op("vector.bitcast", sums[0].type, [packed])
                return [group_product(b, kind, self.element, (shift, as_groups, sums[0]))]

            zeros = [b.zero(b.vector_type(lanes, self.i32))] if kind.shifted else []
            count = self._groups(self.extents[channel])
            sums = b.carried_loop(0, count, 1, zeros, group)
            if sums:
                b.store(sums[0], groups, b.add(to, v * lanes))


@dataclass
class _GroupedKernel(ConvolutionKernel):
    """Tiles whose steps are groups of channels; those of shifted data begin with what the shift
    adds."""

    kind: GroupKind | None = None
    element: ir.Type | None = None
    sums: tuple[ShiftSums, FlatView] | None = None

    def _strides(self, level: int) -> tuple[Index, Index]:
        a, b_ = super()._strides(level)
        assert self.kind is not None
        if level + 1 == len(self.contraction.k) and self._tile.b_view.group == 1:
            a = self.b.mul(a, self.kind.group)
        return a, b_

    def _is_merged(self, level: int) -> bool:
        assert self.kind is not None
        return not self.kind.shifted and super()._is_merged(level)

    def _innermost(
        self,
        level: int,
        extent: Index,
        a: Index,
        b_: Index,
        values: list[ir.Value],
        rows: list[Index],
    ) -> list[ir.Value]:
        assert self.kind is not None
        if not self.kind.shifted:
            return super()._innermost(level, extent, a, b_, values, rows)
        b = self.b
        if self.sums is not None:
            sums, view = self.sums
            values = self._plus("arith.addi", view, sums.at(b_), values, len(rows))
            return super()._innermost(level, extent, a, b_, values, rows)
        values = self._plus("arith.subi", self._tile.b_view, b_, values, len(rows))
        _, b_stride = self._strides(level)
        return super()._innermost(level, b.sub(extent, 1), a, b.add(b_, b_stride), values, rows)

    def _plus(
        self, name: str, view: FlatView, at: Index, values: list[ir.Value], rows: int
    ) -> list[ir.Value]:
        """The sums of the first chain with what lies at an offset of a view added or taken off."""
        b, vectors = self.b, self._tile.vectors
        terms = [b.load(view, b.add(at, v * self.lanes), self.lanes) for v in range(vectors)]
        count = rows * vectors
        return [
            b.op(name, value.type, [value, terms[i % vectors]]) if i < count else value
            for i, value in enumerate(values)
        ]

    def _step(
        self,
        tile: Tile,
        rows: list[Index],
        masks: list[ir.Value | None],
        a_offset: Index,
        b_offset: Index,
        values: list[ir.Value],
    ) -> list[ir.Value]:
        b, lanes, kind = self.b, self.lanes, self.kind
        a_view = self.accesses[self.contraction.a].view
        assert a_view is not None and kind is not None and self.element is not None
        i32 = ir.IntegerType.get_signless(32)
        if tile.b_view.group == 1:
            masks = [None] * tile.vectors  # what is packed here is filled up
        columns = [
            b.load(tile.b_view, b.add(b_offset, v * lanes), lanes, masks[v])
            for v in range(tile.vectors)
        ]
        if tile.ahead is not None:
            self._fetch(tile, tile.ahead, b_offset)
        results: list[ir.Value] = []
        for i, row in enumerate(rows):
            loaded = b.load(a_view, b.add(row, a_offset), kind.group)
            whole = b.op("vector.bitcast", b.vector_type(1, i32), [loaded])
            position = {"static_position": ir.DenseI64ArrayAttr.get([0])}
            group = b.op("vector.extract", i32, [whole], position)
            if kind.shifted:
                group = b.op("arith.xori", i32, [group, b.scalar(SHIFT, i32)])
            spread = b.broadcast(group, lanes)
            for v, column in enumerate(columns):
                values_at = (spread, column, values[i * tile.vectors + v])
                results.append(group_product(b, kind, self.element, values_at))
        return results


def _interleaved(b: Builder, parts: list[ir.Value], element: ir.Type) -> ir.Value:
    """Vectors of rows with the elements of a column beside each other."""
    while len(parts) > 1:
        half = len(parts) // 2
        lanes = ir.VectorType(parts[0].type).shape[0] * 2
        type_ = b.vector_type(lanes, element)
        parts = [b.op("vector.interleave", type_, [parts[i], parts[i + half]]) for i in range(half)]
    return parts[0]
