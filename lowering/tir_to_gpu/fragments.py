"""Fragments: the matrices that a warp holds in its threads' registers.

A buffer of scope "warp" has a dimension of 32, one element for each thread of the warp; one of a
WMMA scope is a matrix of tiles.  Where every thread uses its own part only, both become buffers of
the thread: `[..., registers]`.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError
from relax_mlir.lowering.tir_to_gpu.kernel_roots import describe, function_name, inside
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.index import Index, as_index, leaf

__all__ = [
    "WARP_SIZE",
    "Place",
    "erase_unused",
    "integer_index",
    "lane_of",
    "linear_place",
    "offset_in",
    "pointer_place",
    "thread_of",
    "view_place",
]

WARP_SIZE = 32


@dataclass(frozen=True)
class Place:
    """An element of a buffer that is no view."""

    buffer: ir.Value
    indices: tuple[Index, ...]

    def moved(self, *steps: Index | int) -> Place:
        """The element so many steps on in the last dimensions."""
        count = len(self.indices) - len(steps)
        ends = [i + s for i, s in zip(self.indices[count:], steps, strict=True)]
        return Place(self.buffer, (*self.indices[:count], *ends))


def view_place(view: ir.Value) -> Place:
    """The first element of a buffer or of a `memref.subview` of one."""
    owner = view.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.subview":
        rank = ir.MemRefType(view.type).rank
        return Place(view, (Index(),) * rank)
    op = owner.operation
    outer = view_place(op.operands[0])
    operands = iter(list(op.operands)[1:])
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets = [
        as_index(next(operands)) if offset == dynamic else Index({}, offset)
        for offset in ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    ]
    found = [a + b for a, b in zip(outer.indices, offsets, strict=True)]
    return Place(outer.buffer, tuple(found))


def pointer_place(pointer: ir.Value) -> Place:
    """The element that an address is of.

    Raises CompileError for an address that is not one of a buffer's.
    """
    owner = pointer.owner
    op = None if isinstance(owner, ir.Block) else owner.operation
    if isinstance(pointer.type, ir.MemRefType):
        return view_place(pointer)
    if op is None or op.name not in ("tir.address_of", "tir.buffer_data"):
        name = "?" if op is None else op.name
        raise CompileError(
            f"a tensor core operation is given an address made by {name}",
            hint="give it the address of a buffer's element: buffer.access_ptr(...)",
        )
    base = view_place(op.operands[0])
    if op.name == "tir.buffer_data":
        return base
    indices = [as_index(v) for v in list(op.operands)[1:]]
    return base.moved(*indices)


def offset_in(view: ir.Value, offset: ir.Value) -> Index:
    """An offset in elements from the start of a view's storage, relative to the view's start."""
    value = integer_index(offset)
    owner = view.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "memref.subview":
        return value
    for use in view.uses:
        user = use.owner.operation
        if user.name == "memref.extract_strided_metadata":
            value = value - leaf(user.results[1])
            if not value.uses(user.results[1]):
                return value
            value = value + leaf(user.results[1])
    return value


def integer_index(value: ir.Value) -> Index:
    """The expression of an integer of any type."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return leaf(value)
    op = owner.operation
    if op.name == "arith.index_cast":
        return _with_static_strides(as_index(op.operands[0]))
    if op.name == "arith.constant":
        return Index({}, ir.IntegerAttr(op.attributes["value"]).value)
    if op.name in _INTEGER:
        left, right = (integer_index(v) for v in op.operands)
        return _INTEGER[op.name](left, right)
    return _with_static_strides(as_index(value))


_INTEGER = {
    "arith.addi": lambda a, b: a + b,
    "arith.muli": lambda a, b: a * b,
    "arith.subi": lambda a, b: a - b,
}


def _with_static_strides(index: Index) -> Index:
    """Strides and sizes that a view's type tells, as numbers."""
    known: dict[ir.Value, Index] = {}
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    for value in index.leaves():
        owner = value.owner
        if isinstance(owner, ir.Block):
            continue
        op = owner.operation
        if op.name == "memref.extract_strided_metadata":
            kind = ir.MemRefType(op.operands[0].type)
            strides, offset = kind.get_strides_and_offset()
            facts = [offset, *kind.shape, *strides]
            for result, fact in zip(list(op.results)[1:], facts, strict=True):
                if result == value and fact != unknown and fact >= 0:
                    known[value] = Index({}, fact)
    return index.substitute(known)


def linear_place(start: Place, steps: Index) -> Place:
    """The element so many elements of memory on, in the rows of a buffer's last two dimensions.

    Raises CompileError when the buffer's rows have no fixed stride.
    """
    kind = ir.MemRefType(start.buffer.type)
    strides, _ = kind.get_strides_and_offset()
    stride = strides[-2] if kind.rank > 1 else 0
    if stride < 0 or strides[-1] != 1:
        where = f"{function_name(start.buffer.owner.operation)}: " if is_op(start.buffer) else ""
        raise CompileError(
            f"{where}the rows of {describe(start.buffer)} that tensor cores use have no fixed "
            "distance",
            hint="copy the tile to shared memory first",
        )
    if not stride:
        return start.moved(steps)
    rows = Index({m: k // stride for m, k in steps.terms.items() if k % stride == 0})
    rows = rows + steps.constant // stride
    return start.moved(rows, steps - rows * stride)


def is_op(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block)


def lane_of(op: ir.Operation) -> ir.Value | None:
    """The variable of threadIdx.x around an operation."""
    return thread_of(op, "threadIdx.x")


def thread_of(op: ir.Operation, axis: str) -> ir.Value | None:
    """The variable of an axis of threads around an operation."""
    outer = op.parent
    while outer is not None:
        view = outer.operation.opview
        if isinstance(view, ForOp) and nest.thread_axis(view) == axis:
            return nest.loop_var(view)
        outer = outer.operation.parent
    return None


_REMOVABLE = ("arith.", "affine.", "memref.subview", "memref.extract_strided_metadata",
              "tir.address_of", "tir.buffer_data")  # fmt: skip


def erase_unused(function: ir.Operation) -> None:
    """Erase addresses, views and index arithmetic that nothing uses any more."""
    for op in reversed(list(inside(function))):
        unused = op.results and not any(True for result in op.results for _ in result.uses)
        if unused and op.name.startswith(_REMOVABLE):
            op.erase()
