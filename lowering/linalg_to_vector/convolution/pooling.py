"""Pooling: the data of each window joined, for a row of output positions and a vector of channels.

Loops, tiles and borders are those of a depthwise convolution; there is no weight.  Each vector of
data that the tile's windows reach is loaded once along the row.  Where windows overlap, the rows of
each column are joined first, and then the columns of each window: 3x3 windows by 2 take 0.6 to 0.9
of the time that joining all taps does.  The window's size is that of an operand that nothing reads
(`tir-to-linalg`).
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.body import combiners
from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index, defining_op
from relax_mlir.lowering.linalg_to_vector.convolution.cost import depthwise_pixels
from relax_mlir.lowering.linalg_to_vector.convolution.loops import Place, Selected, WindowLoops
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution, Window
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget
from relax_mlir.lowering.linalg_to_vector.loop_nest import ONE, ZERO, LoopNest
from relax_mlir.mlir import ir

__all__ = ["arrange_pooling", "emit_pooling", "is_neutral", "is_pooling"]

# Taps of a row beyond this become a loop, for one position at a time.
_UNROLLED_TAPS = 15


def is_pooling(nest: LoopNest) -> bool:
    """Whether the body only joins the first operand to the output, and there is a window."""
    body = nest.body
    if len(body.arguments) != 3 or len(body.results) != 1 or body.results[0] != 2:
        return False
    operations = [op.operation for op in body.block.operations]
    if len(operations) != 2 or combiners(body.block, [2]) is None:
        return False
    data, window, out = body.block.arguments
    joined = list(operations[0].operands)
    unread = not any(True for _ in window.uses)
    return unread and joined in ([data, out], [out, data]) and data.type == out.type


def arrange_pooling(nest: LoopNest, windows: tuple[Window, ...]) -> Convolution | None:
    """The roles of the dimensions; None where channels are not contiguous or taps are unknown."""
    taps = [w.tap for w in windows if w.tap is not None]
    outs = [w.out for w in windows if w.out is not None]
    if any(operand.quotients for operand in nest.operands) or not taps:
        return None
    if any(nest.extents[tap].static is None for tap in taps):
        return None
    others = [d for d in range(nest.rank) if d not in (*taps, *outs) and nest.extents[d] != ONE]
    if any(nest.reduction[d] or nest.stride(0, d) == ZERO for d in others):
        return None
    columns = [d for d in others if nest.stride(0, d) == ONE and nest.stride(2, d) == ONE]
    found = combiners(nest.body.block, [2])
    if not columns or found is None or _has_long_rows(nest, windows):
        return None
    ordered = sorted(windows, key=lambda w: 1 if w.out is None else nest.extents[w.out].static or 1)
    outer = tuple(d for d in others if d != columns[0])
    return Convolution(
        nest, outer, tuple(ordered), (), columns[0], True, 0, 1, 2, combiner=found[0]
    )


def _has_long_rows(nest: LoopNest, windows: tuple[Window, ...]) -> bool:
    sizes = [nest.extents[w.tap].static or 1 for w in windows if w.tap is not None]
    return max(sizes) > _UNROLLED_TAPS


def is_neutral(op: ir.Operation, value: ir.Value) -> bool:
    """Whether a constant changes nothing when it is joined by the body of a pooling."""
    found = combiners(op.regions[0].blocks[0], [2]) if len(op.operands) == 3 else None
    return found is not None and _is_constant(value, found[0].neutral(value.type))


def _is_constant(value: ir.Value, expected: float | int) -> bool:
    constant = defining_op(value)
    if constant is None or constant.name != "arith.constant":
        return False
    return bool(constant.attributes["value"].value == expected)


def _element(window: Window, position: int, tap: int) -> int:
    """Which element along an axis a tap of the window at a position reads."""
    return position * window.stride + tap * window.dilation


def _shares_columns(conv: Convolution) -> bool:
    """Whether windows next to each other in a row reach the same columns, of several rows, and
    each window reaches some row of the data."""
    if len(conv.windows) != 2:
        return False
    rows, columns = conv.windows
    taps, length = (conv.extent(dim).static for dim in (rows.tap, rows.out))
    if rows.tap is None or columns.tap is None or columns.out is None or columns.dilation != 1:
        return False
    if taps is None or length is None or taps == 1 or conv.row_taps is None:
        return False
    return columns.stride < conv.row_taps <= _UNROLLED_TAPS and _reaches_data(rows, taps, length)


def _reaches_data(rows: Window, taps: int, length: int) -> bool:
    """Whether each window has a row that is no border."""
    if not rows.checked:
        return True
    assert rows.size is not None
    size = rows.size
    firsts = (y * rows.stride - rows.low for y in range(length))
    return all(
        any(0 <= first + tap * rows.dilation < size for tap in range(taps)) for first in firsts
    )


def _positions_within(conv: Convolution, columns: int) -> int:
    """How many positions of a row reach at most so many columns, at least one."""
    window = conv.windows[-1]
    return max(1, (columns - (conv.row_taps or 1)) // window.stride + 1)


def emit_pooling(
    b: Builder,
    conv: Convolution,
    target: CPUTarget,
    initial: ir.Value | None,
    rows: tuple[Index, Index] | None = None,
) -> None:
    """Emit a pooling.  `rows` restricts the first window to a range of its output positions."""
    loops = WindowLoops(b, conv, rows)
    lanes = target.lanes(max(8, conv.nest.body.block.arguments[0].type.width))
    channels = loops.extents[conv.column]
    pixels = depthwise_pixels(conv, target)
    if _shares_columns(conv):
        # The columns of a tile stay in half of the registers: comparing takes the others.
        pixels = min(pixels, _positions_within(conv, target.vector_registers // 2))

    def tile(place: Place, position: Index, size: int, selected: Selected) -> None:
        kernel = _PoolingKernel(b, conv, place, lanes, initial, selected)
        whole = b.round_down(channels, lanes)
        with b.loop(0, whole, lanes) as column:
            kernel.emit(position, size, column, None)
        rest = b.sub(channels, whole)
        b.when(
            b.at_least(rest, 1),
            lambda: kernel.emit(position, size, whole, b.mask(lanes, rest)),
        )

    place = Place(conv.nest.emit_accesses(b, (conv.data, conv.out)))
    loops.over(
        list(conv.outer),
        place,
        lambda image: loops.rows(image, lambda row: loops.row(pixels, lambda *at: tile(row, *at))),
    )


@dataclass
class _PoolingKernel:
    b: Builder
    conv: Convolution
    place: Place
    lanes: int
    initial: ir.Value | None
    selected: Selected

    def emit(self, position: Index, size: int, column: Index, mask: ir.Value | None) -> None:
        """Join the windows of `size` output positions, for the channels from `column` on."""
        b, conv = self.b, self.conv
        data, out = self.place.accesses[conv.data], self.place.accesses[conv.out]
        assert out.view is not None
        step: Index = 0 if conv.row is None else out.strides[conv.row]
        start = b.add(b.add(out.base, b.mul(position, step)), column)
        places = [b.add(start, b.mul(row, step)) for row in range(size)]
        if self.initial is None:
            values = [b.load(out.view, at, self.lanes, mask) for at in places]
        else:
            values = [b.broadcast(self.initial, self.lanes)] * size
        stride: Index = 0 if conv.row is None else data.strides[conv.row]
        first = b.add(b.add(data.base, b.mul(position, stride)), column)
        if _shares_columns(conv) and len(self.place.taps) == 1:
            values = self._by_columns(first, values, mask)
        else:
            values = self._taps(0, first, values, mask)
        for at, value in zip(places, values, strict=True):
            b.store(value, out.view, at, mask)

    def _by_columns(
        self, first: Index, values: list[ir.Value], mask: ir.Value | None
    ) -> list[ir.Value]:
        """Join each column that the windows of a tile reach, then the columns of each window: those
        that windows share are joined once."""
        b, conv = self.b, self.conv
        data, rows, columns = self.place.accesses[conv.data], *conv.windows
        assert data.view is not None and rows.tap is not None and columns.tap is not None
        view, down = data.view, data.strides[rows.tap]
        reached = [
            (i, number)
            for number in range(conv.row_taps or 1)
            for i in range(len(values))
            if self.selected is None or i in self.selected[number]
        ]
        offsets: dict[int, Index] = {}
        for i, number in reached:
            along = b.mul(i, 0 if conv.row is None else data.strides[conv.row])
            across = b.mul(number, data.strides[columns.tap])
            offsets.setdefault(_element(columns, i, number), b.add(along, across))
        low, high = self.place.taps[0]

        def line(tap: Index) -> list[ir.Value]:
            at = b.add(first, b.mul(tap, down))
            return [b.load(view, b.add(at, o), self.lanes, mask) for o in offsets.values()]

        def join(tap: Index, found: list[ir.Value]) -> list[ir.Value]:
            return [self._join(*pair) for pair in zip(found, line(tap), strict=True)]

        joined = b.carried_loop(b.add(low, 1), high, 1, line(low), join)
        by_element = dict(zip(offsets, joined, strict=True))
        results: list[ir.Value | None] = [None if self._starts_neutral() else v for v in values]
        for i, number in reached:
            value, so_far = by_element[_element(columns, i, number)], results[i]
            results[i] = value if so_far is None else self._join(so_far, value)
        return [value if r is None else r for r, value in zip(results, values, strict=True)]

    def _starts_neutral(self) -> bool:
        combiner = self.conv.combiner
        return (
            self.initial is not None
            and combiner is not None
            and _is_constant(self.initial, combiner.neutral(self.initial.type))
        )

    def _taps(
        self, level: int, at: Index, values: list[ir.Value], mask: ir.Value | None
    ) -> list[ir.Value]:
        """Loops over the taps of all windows but the last."""
        if level == len(self.place.taps):
            return self._row(at, values, mask)
        windows = [w for w in self.conv.windows[:-1] if w.tap is not None]
        tap = windows[level].tap
        assert tap is not None
        stride = self.place.accesses[self.conv.data].strides[tap]
        return self.b.carried_loop(
            *self.place.taps[level],
            1,
            values,
            lambda position, carried: self._taps(
                level + 1, self.b.add(at, self.b.mul(position, stride)), carried, mask
            ),
        )

    def _row(self, at: Index, values: list[ir.Value], mask: ir.Value | None) -> list[ir.Value]:
        b, conv = self.b, self.conv
        data, window = self.place.accesses[conv.data], conv.windows[-1]
        assert data.view is not None and conv.combiner is not None
        row: Index = 0 if conv.row is None else data.strides[conv.row]
        tap: Index = 0 if window.tap is None else data.strides[window.tap]
        results = list(values)
        loaded: dict[int, ir.Value] = {}
        for number in range(conv.row_taps or 1):
            for i in range(len(values)):
                if self.selected is not None and i not in self.selected[number]:
                    continue
                element = _element(window, i, number)
                if element not in loaded:
                    place = b.add(b.add(at, b.mul(i, row)), b.mul(number, tap))
                    loaded[element] = b.load(data.view, place, self.lanes, mask)
                results[i] = self._join(results[i], loaded[element])
        return results

    def _join(self, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        combiner = self.conv.combiner
        assert combiner is not None
        return self.b.op(combiner.op, lhs.type, [lhs, rhs])
