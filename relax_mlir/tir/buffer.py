"""Buffers: multi-dimensional typed memory, and regions of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.tir import operators
from relax_mlir.tir.expr import (
    Add,
    BufferLoad,
    BufferRef,
    Call,
    IntImm,
    PrimExpr,
    Ramp,
    Range,
    as_expr,
    canonical_dtype,
    structural_key,
)

__all__ = ["Buffer", "BufferRegion", "decl_buffer"]


class Buffer:
    """A buffer; like variables, two buffers are the same only if they are one object.

    shape: sizes, ints or integer expressions.  dtype: TVM's element dtype.  scope: TVM's storage
    scope.  strides: in elements, None when compact row-major.  elem_offset: of the first element.
    data_alignment: bytes, 0 for the default.  Indexing gives a BufferLoad, slices a BufferRegion.
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[Any] | Any,
        dtype: object = "float32",
        scope: str = "global",
        strides: Sequence[Any] | None = None,
        elem_offset: Any = None,
        data_alignment: int = 0,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Sequence[int] | None = None,
    ):
        sizes = shape if isinstance(shape, (list, tuple)) else [shape]
        self.name = name
        self.shape = tuple(_size(name, s) for s in sizes)
        self.dtype = "bool" if dtype == "bool" else canonical_dtype(dtype)
        self.storage_scope = scope or "global"
        self.strides = tuple(_size(name, s) for s in strides) if strides else ()
        if 0 < len(self.strides) < len(self.shape):
            self.strides = _outer_strides(self.shape, self.strides)
        if self.strides and len(self.strides) != len(self.shape):
            raise Error(f"buffer {name}: {len(self.shape)} dimensions, {len(self.strides)} strides")
        self.elem_offset = None if elem_offset is None else as_expr(elem_offset)
        self.data_alignment = data_alignment
        self.offset_factor = offset_factor
        self.buffer_type = buffer_type
        self.axis_separators = _separators(name, axis_separators or (), len(self.shape))

    def scope(self) -> str:
        """The storage scope."""
        return self.storage_scope

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def index_dtype(self) -> str:
        """The dtype of the buffer's sizes, of those that are no constants if there are; int32 if
        it has none."""
        symbolic = [size for size in self.shape if not isinstance(size, IntImm)]
        return (*symbolic, *self.shape)[0].dtype if self.shape else "int32"

    def asobject(self) -> BufferRef:
        """The buffer as an argument of a call."""
        return BufferRef(self)

    @property
    def data(self) -> BufferRef:
        """The address of the buffer, an argument of calls."""
        return BufferRef(self)

    def access_ptr(
        self,
        access_mask: Any,
        ptr_type: Any = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> PrimExpr:
        """The address of the element `offset` elements (in row-major order) into the buffer.

        `access_mask` ("r", "w") says what a call does with it; that, the type and the extent are
        not needed here.  Raises Error for an offset into a buffer with strides.
        """
        del access_mask, ptr_type, content_lanes, extent
        start = as_expr(offset)
        at_start = isinstance(start, IntImm) and start.value == 0
        if at_start and not (self.strides or self.offset_factor or self.elem_offset is not None):
            return BufferRef(self)
        if not at_start and self.strides:
            raise Error(f"buffer {self.name}: an address inside of a buffer with strides",
                        hint="T.address_of(A[i, j]) names an element")  # fmt: skip
        indices: list[PrimExpr] = []
        for size in reversed(self.shape[1:]):
            indices.insert(0, operators.floormod(start, size))
            start = operators.floordiv(start, size)
        return Call("handle", "address_of", [BufferLoad(self, [start, *indices])])

    def __getitem__(self, indices: Any) -> Any:
        """The element at indices (a BufferLoad); with slices the region (a BufferRegion)."""
        entries = list(indices) if isinstance(indices, (tuple, list)) else [indices]
        if not any(isinstance(e, slice) for e in entries):
            return BufferLoad(self, entries)
        ramp = _ramp_of(entries)
        if ramp is not None and ramp.lanes == 1:  # a vector of one lane is an element
            return BufferLoad(self, [*entries[:-1], ramp.base])
        if ramp is not None:
            return BufferLoad(self, [*entries[:-1], ramp])
        return BufferRegion(self, [_slice_range(self, i, entry) for i, entry in enumerate(entries)])

    def vload(self, begin: Any, dtype: object | None = None, predicate: Any = None) -> PrimExpr:
        """Load a vector of `dtype` whose first element is at `begin`; lanes in which `predicate`
        does not hold are zero and not read."""
        indices = list(begin) if isinstance(begin, (list, tuple)) else [begin]
        lanes = 1 if dtype is None else _lanes(dtype)
        if lanes > 1 and not isinstance(indices[-1], Ramp):
            indices[-1] = Ramp(indices[-1], 1, lanes)
        load = BufferLoad(self, indices)
        return load if predicate is None else Call(load.dtype, "masked_load", [load, predicate])

    def full_region(self) -> BufferRegion:
        """The region that covers the buffer."""
        return BufferRegion(self, [Range.from_min_extent(_zero(s), s) for s in self.shape])

    def __repr__(self) -> str:
        return f"T.buffer({self.name}, {self.shape}, {self.dtype})"


class BufferRegion:
    """A box of a buffer: one range a dimension (further dimensions are covered)."""

    def __init__(self, buffer: Buffer, region: Sequence[Range]):
        if len(region) > buffer.ndim:
            raise Error(
                f"buffer {buffer.name} has {buffer.ndim} dimensions, {len(region)} ranges given"
            )
        self.buffer = buffer
        rest = [Range.from_min_extent(_zero(s), s) for s in buffer.shape[len(region) :]]
        self.region = (*region, *rest)

    @classmethod
    def of(cls, access: BufferRegion | BufferLoad | Buffer) -> BufferRegion:
        """The region of a load (a point), of a region (itself) or of a buffer (all of it).

        Raises Error for anything else.
        """
        if isinstance(access, BufferRegion):
            return access
        if isinstance(access, Buffer):
            return access.full_region()
        if isinstance(access, BufferLoad):
            return cls(access.buffer, [_point_range(i) for i in access.indices])
        raise Error(f"a buffer access such as A[i, j] expected, given {access!r}")

    def asobject(self) -> PrimExpr:
        """The vector that a region of one row is where a value is asked for.  Raises Error."""
        *outer, last = self.region
        points = all(isinstance(r.extent, IntImm) and r.extent.value == 1 for r in outer)
        if not points:
            raise Error(f"a region of a buffer is no value: {self}")
        lanes = operators.as_lanes(last.extent)
        end = last.min if lanes == 1 else Ramp(last.min, 1, lanes)
        return BufferLoad(self.buffer, [*(r.min for r in outer), end])

    def __repr__(self) -> str:
        from relax_mlir.tir.expr_text import region_text

        return region_text(self)


def decl_buffer(
    shape: Sequence[Any] | Any,
    dtype: object = "float32",
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """Declare a buffer, with the parameters of `tvm.tir.decl_buffer`."""
    del data
    return Buffer(
        name, shape, dtype, scope, strides, elem_offset, data_alignment, offset_factor,
        buffer_type, axis_separators,
    )  # fmt: skip


def _outer_strides(sizes: Sequence[PrimExpr], strides: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """The strides of all dimensions where a program gives those of the last ones only, as TVM's
    cache_index did: the others lie around them without gaps."""
    known = list(strides)
    while len(known) < len(sizes):
        known.insert(0, operators.multiply(known[0], sizes[-len(known)]))
    return tuple(known)


def _separators(name: str, axes: Sequence[Any], ndim: int) -> tuple[int, ...]:
    """The dimensions before which storage of several dimensions goes on in its next one."""
    found = tuple(int(getattr(axis, "value", axis)) for axis in axes)
    if list(found) != sorted(found) or any(not 0 <= axis <= ndim for axis in found):
        raise Error(f"buffer {name}: axis separators must increase from 0 to {ndim}, the number of "
                    f"dimensions, given {list(found)}")  # fmt: skip
    return found


def _size(name: str, value: Any) -> PrimExpr:
    size = as_expr(value)
    if not size.dtype.startswith(("int", "uint")):
        raise Error(f"buffer {name}: a size must be an integer, given {size} of {size.dtype}")
    return size


def _zero(like: PrimExpr) -> PrimExpr:
    return operators.const(0, like.dtype)


def _lanes(dtype: object) -> int:
    from relax_mlir.tir.expr import lanes_of

    return lanes_of(canonical_dtype(dtype))


def _point_range(index: PrimExpr) -> Range:
    if isinstance(index, Ramp):
        last = operators.multiply(index.stride, operators.lane_count(index.lanes) - 1)
        return Range.from_min_extent(index.base, operators.add(last, 1))
    return Range.from_min_extent(index, operators.const(1, index.dtype))


def _ramp_of(entries: list[Any]) -> Ramp | None:
    """`A[i, b:b + n:s]` with a step is a vector load in TVMScript."""
    last = entries[-1]
    if not isinstance(last, slice) or last.step is None:
        return None
    if any(isinstance(e, slice) for e in entries[:-1]):
        return None
    start, step = as_expr(0 if last.start is None else last.start), as_expr(last.step)
    lanes = operators.floordiv(_extent(start, as_expr(last.stop)) + (step - 1), step)
    return Ramp(start, step, lanes)


def _extent(begin: PrimExpr, end: PrimExpr) -> PrimExpr:
    """`end - begin`; of `begin + n` it is n, whatever begin is."""
    if isinstance(end, Add) and structural_key(end.a) == structural_key(begin):
        return end.b
    return operators.subtract(end, begin)


def _slice_range(buffer: Buffer, axis: int, entry: Any) -> Range:
    if not isinstance(entry, slice):
        return _point_range(as_expr(entry))
    if entry.step is not None and entry.step != 1:
        raise Error(f"buffer {buffer.name}: a region cannot have a step, given {entry.step}")
    if axis >= buffer.ndim:
        raise Error(f"buffer {buffer.name} has {buffer.ndim} dimensions, more ranges given")
    size = buffer.shape[axis]
    begin = _zero(size) if entry.start is None else as_expr(entry.start)
    end = size if entry.stop is None else as_expr(entry.stop)
    return Range.from_min_extent(begin, _extent(begin, end))
