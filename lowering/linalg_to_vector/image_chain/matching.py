"""Recognising chains of image operations (see the package's docstring)."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.linalg_to_vector.buffers import ALLOCATIONS, BufferUses, outputs_of
from relax_mlir.lowering.linalg_to_vector.convolution.matching import Convolution
from relax_mlir.lowering.linalg_to_vector.convolution.padding import Padding
from relax_mlir.lowering.linalg_to_vector.convolution.recognition import find_window_operation
from relax_mlir.mlir import ir

__all__ = ["ImageChain", "RowWindow", "Step", "match_image_chain", "shape_of"]

_ROWS = 1
"""The axis of an image that counts its rows; those ahead of it count images."""
_OTHERS = ("arith.constant", "func.return", *ALLOCATIONS)


@dataclass(frozen=True)
class Step:
    """One operation of a chain.

    by_row, by_image: for every operand, whether it is read or written at the operation's own row,
    and at its own image; other operands are the same for all.
    """

    op: ir.Operation
    by_row: tuple[bool, ...]
    by_image: tuple[bool, ...]

    @property
    def output(self) -> ir.Value:
        return outputs_of(self.op)[0]


@dataclass(frozen=True)
class RowWindow:
    """The window over rows: row y of the result is of the `span` rows of the image from
    `y * stride - low` on; those that the image does not have are border."""

    stride: int
    span: int
    low: int

    @property
    def shared(self) -> int:
        """Rows that the windows of two neighbouring rows share."""
        return self.span - self.stride


@dataclass(frozen=True)
class ImageChain:
    """ahead: the operations that make `image`; behind: those from the window on, which write an
    argument at last.  padding: how the image is surrounded by a border, if it is.  sliding: the
    one of `behind` that has the window."""

    ahead: tuple[Step, ...]
    image: ir.Value
    padding: Padding | None
    window: RowWindow
    sliding: Step
    behind: tuple[Step, ...]

    @property
    def output(self) -> ir.Value:
        return self.behind[-1].output

    @property
    def images(self) -> int:
        return shape_of(self.output)[0]

    @property
    def image_rows(self) -> int:
        return shape_of(self.image)[_ROWS]

    @property
    def output_rows(self) -> int:
        return shape_of(self.output)[_ROWS]

    @property
    def rows_behind(self) -> int:
        """Rows of border that the last window reaches behind the image; less than none where it
        ends before the image does."""
        window = self.window
        reach = (self.output_rows - 1) * window.stride - window.low + window.span
        return reach - self.image_rows

    @property
    def members(self) -> list[ir.Operation]:
        """All operations, each behind those whose results it reads."""
        border = () if self.padding is None else self.padding.members
        return [
            *(step.op for step in self.ahead),
            *border,
            *(step.op for step in self.behind),
        ]


def match_image_chain(function: ir.Operation, uses: BufferUses) -> ImageChain | None:
    """The chain that a function is, None if it is anything else."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    found = _find_window(operations, uses)
    if found is None:
        return None
    sliding, conv, padding = found
    image = sliding.operands[0] if padding is None else padding.source
    window = _row_window(sliding, conv)
    border = () if padding is None else padding.members
    others = [op for op in operations if op not in border and op.name not in _OTHERS]
    if window is None or not _is_made_here(image, sliding, padding, uses):
        return None
    ahead, behind = _sides(others, image)
    steps = [_step(op, 0 if op == sliding else None) for op in (*ahead, *behind)]
    if None in steps:
        return None
    known = [step for step in steps if step is not None]
    chain = ImageChain(
        tuple(known[: len(ahead)]),
        image,
        padding,
        window,
        next(step for step in known if step.op == sliding),
        tuple(known[len(ahead) :]),
    )
    return chain if _is_closed(chain, uses) else None


def _find_window(
    operations: list[ir.Operation], uses: BufferUses
) -> tuple[ir.Operation, Convolution, Padding | None] | None:
    """The one operation of a function that slides a window over an image of the function's own and
    has no operands but this, what it is multiplied by, and its result."""
    found: list[tuple[ir.Operation, Convolution, Padding | None]] = []
    reductions = [op for op in operations if op.name == "linalg.generic" and _reduces(op)]
    if len(reductions) < 2:
        return None  # there is no product ahead
    for op in reductions:
        shapes = [shape_of(value) for value in op.operands]
        images = len(shapes) == 3 and len(shapes[0]) == len(shapes[2]) == 4
        recognised = find_window_operation(op, uses) if images else None
        if recognised is None:
            continue
        conv, padding = recognised
        if conv.windows and (conv.depthwise or conv.combiner is not None):
            found.append((op, conv, padding))
    return found[0] if len(found) == 1 else None


def _reduces(op: ir.Operation) -> bool:
    return any("reduction" in str(kind) for kind in op.attributes["iterator_types"])


def _row_window(op: ir.Operation, conv: Convolution) -> RowWindow | None:
    """How the window moves over the rows of an image [images, rows, columns, channels], if what it
    computes is such an image too."""
    shapes = [shape_of(op.operands[0]), shape_of(outputs_of(op)[0])]
    if any(len(shape) != 4 or min(shape) < 1 for shape in shapes):
        return None
    strides = {
        w: conv.nest.stride(conv.out, w.out).static for w in conv.windows if w.out is not None
    }
    rows = [w for w in conv.windows if strides.get(w) == shapes[1][2] * shapes[1][3]]
    if len(rows) != 1 or rows[0].tap is None:
        return None
    window = rows[0]
    taps = conv.extent(window.tap).static
    if taps is None or conv.extent(window.out).static != shapes[1][_ROWS]:
        return None
    found = RowWindow(window.stride, (taps - 1) * window.dilation + 1, window.low)
    return found if found.shared >= found.low else None


def _is_made_here(
    image: ir.Value, sliding: ir.Operation, padding: Padding | None, uses: BufferUses
) -> bool:
    """Whether the image is a temporary of known size that only the window reads, and whether what
    surrounds it is border along rows and columns only."""
    if not uses.is_temporary(image) or min(shape_of(image), default=0) < 1:
        return False
    reader = sliding if padding is None else padding.members[-1]
    users = uses.remaining_users(image, reader)
    if any(image not in outputs_of(user) for user in users if user.name.startswith("linalg.")):
        return False
    if padding is None:
        return True
    outer, inner = shape_of(sliding.operands[0]), shape_of(image)
    return len(inner) == 4 and outer[0] == inner[0] and outer[3] == inner[3]


def _sides(
    operations: list[ir.Operation], image: ir.Value
) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """The operations that the image depends on, and the others."""
    needed = {image}
    ahead: list[ir.Operation] = []
    for op in reversed(operations):
        if op.name.startswith("linalg.") and needed.intersection(outputs_of(op)):
            ahead.insert(0, op)
            needed.update(value for value in op.operands if isinstance(value.type, ir.MemRefType))
    return ahead, [op for op in operations if op not in ahead]


def _step(op: ir.Operation, sliding: int | None) -> Step | None:
    """An operation that computes an image row by row, None for any other; `sliding` is the operand
    over which a window moves."""
    if op.name not in ("linalg.fill", "linalg.generic") or len(outputs_of(op)) != 1:
        return None
    rank = len(shape_of(outputs_of(op)[0]))
    if rank <= _ROWS or any(not _is_static(value) for value in op.operands):
        return None
    if op.name == "linalg.fill":
        return Step(op, (False, True), (False, True))
    if any(inner.operation.name == "linalg.index" for inner in op.regions[0].blocks[0].operations):
        return None
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    parallel = ["parallel" in str(kind) for kind in op.attributes["iterator_types"]]
    image, row = (_plain(expr, parallel) for expr in list(maps[-1].results)[: _ROWS + 1])
    if row is None or (image is None and shape_of(op.operands[-1])[0] != 1):
        return None
    uses_row: list[bool] = []
    uses_image: list[bool] = []
    for number, map_ in enumerate(maps):
        results = list(map_.results)
        axes = [axis for axis, expr in enumerate(results) if _mentions(expr, row)]
        if number != sliding and axes not in ([], [_ROWS]):
            return None
        if axes and number != sliding and _plain(results[_ROWS], parallel) != row:
            return None
        images = [
            axis
            for axis, expr in enumerate(results)
            if image is not None and _mentions(expr, image)
        ]
        if images not in ([], [0]) or (images and _plain(results[0], parallel) != image):
            return None
        uses_row.append(bool(axes) and number != sliding)
        uses_image.append(bool(images))
    return Step(op, tuple(uses_row), tuple(uses_image))


def _is_closed(chain: ImageChain, uses: BufferUses) -> bool:
    """Whether all results but the last are temporaries that are read at the row where they were
    written, and the last overlaps nothing that is read."""
    steps = [*chain.ahead, *chain.behind]
    if not chain.ahead or uses.is_temporary(chain.output):
        return False
    if chain.rows_behind > chain.window.shared:
        return False
    made = {step.output for step in steps}
    if any(value != chain.output and not uses.is_temporary(value) for value in made):
        return False
    for step in steps:
        reads = list(step.op.operands)[:-1]
        for value, by_row in zip(reads, step.by_row, strict=False):
            if not isinstance(value.type, ir.MemRefType):
                continue
            data = step is chain.sliding and value == reads[0]
            if value in made and not by_row and not data:
                return False
            if uses.may_overlap(chain.output, value) and not data:
                return False
    return all(step.output in made and step.by_row[-1] for step in steps)


def _plain(expr: ir.AffineExpr, parallel: list[bool]) -> int | None:
    """The parallel dimension that an index is, if it is one."""
    if isinstance(expr, ir.AffineDimExpr) and parallel[expr.position]:
        return expr.position
    return None


def _mentions(expr: ir.AffineExpr, dim: int) -> bool:
    if isinstance(expr, ir.AffineDimExpr):
        return expr.position == dim
    if isinstance(expr, ir.AffineBinaryExpr):
        return _mentions(expr.lhs, dim) or _mentions(expr.rhs, dim)
    return False


def _is_static(value: ir.Value) -> bool:
    return not isinstance(value.type, ir.MemRefType) or ir.MemRefType(value.type).has_static_shape


def shape_of(value: ir.Value) -> list[int]:
    """The sizes of a buffer; none for a scalar, or where they are not all known."""
    if not isinstance(value.type, ir.MemRefType) or not _is_static(value):
        return []
    return list(ir.MemRefType(value.type).shape)
