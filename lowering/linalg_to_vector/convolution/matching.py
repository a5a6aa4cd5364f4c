"""Recognising convolutions, by the structure of their indices (see the package's docstring)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from relax_mlir.lowering.linalg_to_vector.body import (
    WIDENINGS,
    Combiner,
    combiners,
    is_vectorizable,
    multiplies,
    widest_bits,
)
from relax_mlir.lowering.linalg_to_vector.convolution.padding import Padding
from relax_mlir.lowering.linalg_to_vector.loop_nest import (
    ONE,
    ZERO,
    Extent,
    LoopNest,
    Stage,
    linear_form,
    parse,
)
from relax_mlir.lowering.linalg_to_vector.quotients import take_quotients
from relax_mlir.mlir import ir

__all__ = ["Convolution", "Window", "arrange_convolution", "parse_convolution", "parse_windows"]

_PRODUCT = {"arith.mulf", "arith.addf", "arith.muli", "arith.addi", "linalg.yield"}


@dataclass(frozen=True)
class Window:
    """One axis of the data along which a window slides.

    out: the dimension of the output positions, None if there is only one; tap: the reduction
    dimension, None for a window of one element.  The window at position y reads the elements
    `y * stride + tap * dilation - low` that are at least 0 and less than `size`; `checked` says
    whether some are not.
    """

    out: int | None
    tap: int | None
    stride: int
    dilation: int
    low: int
    size: int | None
    checked: bool


@dataclass(frozen=True)
class Convolution:
    """A convolution as loops.

    nest: its dimensions as the fields number them; the base of `data` lies before the first
    element by what the windows begin too early.
    outer: dimensions looped over outside: batch, groups, panels of output channels.
    windows: the windows, that of the output's longest axis last.
    channels: the reduction dimensions that are no taps.
    column: the dimension that is vectorized, contiguous in the output.
    depthwise: whether the column is a group, contiguous in data, weight and output.
    data, weight, out: operand numbers.
    combiner: for pooling, which joins the data of a window and has no weight, how it does.
    """

    nest: LoopNest
    outer: tuple[int, ...]
    windows: tuple[Window, ...]
    channels: tuple[int, ...]
    column: int
    depthwise: bool
    data: int
    weight: int
    out: int
    epilogue: Stage | None = None
    combiner: Combiner | None = None

    @property
    def row(self) -> int | None:
        """The dimension of the output positions that are computed together."""
        return self.windows[-1].out if self.windows else None

    @property
    def row_taps(self) -> int | None:
        """Taps along the row, None if it has no window."""
        tap = self.windows[-1].tap if self.windows else None
        return None if tap is None else self.nest.extents[tap].static

    def extent(self, dim: int | None) -> Extent:
        return ONE if dim is None else self.nest.extents[dim]


def parse_convolution(
    op: ir.Operation, padding: Padding | None
) -> tuple[LoopNest, tuple[Window, ...]] | None:
    """The nest of a linalg op that sums products over windows, on the data without their border,
    and its windows; None for any other op.  The nest's indices may still divide dimensions."""
    return parse_windows(op, padding, _sums_products)


def parse_windows(
    op: ir.Operation, padding: Padding | None, accepts: Callable[[LoopNest], bool]
) -> tuple[LoopNest, tuple[Window, ...]] | None:
    """As `parse_convolution` for any body that `accepts` does, on the first operand's windows."""
    nest = parse(op, quotients=True, sources={} if padding is None else {0: padding.source})
    if nest is None or not accepts(nest) or any(i is not None for i in nest.index_dims):
        return None
    map_ = op.attributes["indexing_maps"][0].value
    type_ = ir.MemRefType(nest.operands[0].value.type)
    sizes = [None if type_.is_dynamic_dim(a) else type_.get_dim_size(a) for a in range(type_.rank)]
    around = [0] * type_.rank
    if padding is not None:
        around = _border(padding, ir.MemRefType(op.operands[0].type), sizes)
        if None in sizes[1:] or around is None:
            return None
    windows: list[Window] = []
    base = list(nest.operands[0].base)
    for axis, expr in enumerate(map_.results):
        low = padding.low[axis] if padding is not None else 0
        window = _window(nest, expr, low, sizes[axis], around[axis] > 0)
        if window is not None:
            windows.append(window)
        elif around[axis]:
            return None
        if low:
            inner = math.prod(size for size in sizes[axis + 1 :] if size is not None)
            base.append(Extent(-low * inner))
    data = replace(nest.operands[0], base=tuple(base))
    return replace(nest, operands=(data, *nest.operands[1:])), tuple(windows)


def _border(padding: Padding, padded: ir.MemRefType, sizes: list[int | None]) -> list[int] | None:
    """Elements around the data along each axis; None where that is not known."""
    found: list[int] = []
    for axis, size in enumerate(sizes):
        if size is None:
            if padding.low[axis] or not padded.is_dynamic_dim(axis):
                return None
            found.append(0)
            continue
        if padded.is_dynamic_dim(axis):
            return None
        found.append(padded.get_dim_size(axis) - size)
    return found


def _sums_products(nest: LoopNest) -> bool:
    body = nest.body
    if len(body.arguments) != 3 or len(body.results) != 1 or body.results[0] != 2:
        return False
    if ZERO in nest.extents or widest_bits(body.block) > 64 or not is_vectorizable(body.block):
        return False
    if any(operand.is_scalar for operand in nest.operands):
        return False
    names = [op.operation.name for op in body.block.operations]
    known = set(names) <= {*_PRODUCT, *WIDENINGS} and multiplies(body.block, 0, 1)
    return known and combiners(body.block, [2]) is not None


def _window(
    nest: LoopNest, expr: ir.AffineExpr, low: int, size: int | None, bordered: bool
) -> Window | None:
    """The window that an index of the data is, if it is more than a plain dimension."""
    rest, quotients = take_quotients(expr)
    coefficients = linear_form(rest, nest.rank)
    if quotients or coefficients is None or coefficients[-1]:
        return None
    dims = [(d, c) for d, c in enumerate(coefficients[:-1]) if c and nest.extents[d] != ONE]
    taps = [(d, c) for d, c in dims if nest.reduction[d]]
    outs = [(d, c) for d, c in dims if not nest.reduction[d]]
    if len(taps) > 1 or len(outs) > 1 or any(c < 0 for _, c in dims):
        return None
    if len(dims) < 2 and all(c == 1 for _, c in dims) and not bordered:
        return None
    out, stride = outs[0] if outs else (None, 1)
    tap, dilation = taps[0] if taps else (None, 1)
    if tap is None and bordered:
        return None
    return Window(out, tap, stride, dilation, low, size, bordered)


def arrange_convolution(
    nest: LoopNest, windows: tuple[Window, ...], epilogue: Stage | None
) -> Convolution | None:
    """The roles of the dimensions of a nest from `parse_convolution`, which may have the operands
    of an epilogue by now; None if they are those of no convolution that is emitted."""
    divided = {q[0] for operand in nest.operands for q in operand.quotients}
    nest = nest.split_quotients()

    def moved(dim: int | None) -> int | None:
        return None if dim is None else dim + sum(d < dim for d in divided)

    windows = tuple(replace(w, out=moved(w.out), tap=moved(w.tap)) for w in windows)
    taps = [w.tap for w in windows if w.tap is not None]
    outs = [w.out for w in windows if w.out is not None]
    data, weight, out = nest.body.arguments
    groups: list[int] = []
    outer: list[int] = []
    columns: list[int] = []
    channels: list[int] = []
    for dim in range(nest.rank):
        in_data, in_weight, in_out = (nest.stride(o, dim) != ZERO for o in (data, weight, out))
        if dim in taps or nest.extents[dim] == ONE:
            continue
        if dim in outs:
            if in_weight or not in_out:
                return None
        elif nest.reduction[dim]:
            if in_out or not (in_data and in_weight):
                return None
            channels.append(dim)
        elif not in_out or not (in_data or in_weight):
            return None
        else:
            kinds = groups if in_data and in_weight else outer if in_data else columns
            kinds.append(dim)
    if any(nest.stride(weight, tap) == ZERO for tap in taps) or not (windows or groups):
        return None
    if any(nest.extents[tap].static is None for tap in taps):
        return None
    found = _column(nest, groups, columns, (data, weight, out))
    if found is None:
        return None
    column, depthwise = found
    outer = [d for d in (*outer, *groups, *columns) if d != column]
    if depthwise and (channels or columns):
        return None
    ordered = sorted(windows, key=lambda w: _length(nest, w))
    return Convolution(
        nest, tuple(outer), tuple(ordered), tuple(channels), column, depthwise,
        data, weight, out, epilogue,
    )  # fmt: skip


def _column(
    nest: LoopNest, groups: list[int], columns: list[int], operands: tuple[int, int, int]
) -> tuple[int, bool] | None:
    """The vectorized dimension, and whether it is a group."""
    data, weight, out = operands
    for dim in columns:
        if nest.stride(out, dim) == ONE:
            return dim, False
    for dim in groups:
        if all(nest.stride(operand, dim) == ONE for operand in (data, weight, out)):
            return dim, True
    return None


def _length(nest: LoopNest, window: Window) -> int:
    """Output positions of a window, a number known at run time taken for a large one."""
    static = ONE.static if window.out is None else nest.extents[window.out].static
    return 1 << 20 if static is None else static
