"""Buffers on memory that is declared elsewhere: parts of a buffer, allocations by pointer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.tir.buffer import Buffer, BufferRegion
from relax_mlir.tir.expr import (
    Call,
    IntImm,
    PrimExpr,
    Ramp,
    as_expr,
)
from relax_mlir.tir.operators import add


@dataclass
class AllocateForm:
    """`T.allocate(extents, dtype, scope)`: storage that `T.decl_buffer(..., data=...)` names."""

    extents: list[Any]
    dtype: str
    scope: str
    name: str = ""
    buffers: list[Buffer] = field(default_factory=list)


@dataclass
class ConstantForm:
    """`T.allocate_const(values, dtype, extents)`: storage that holds constants."""

    values: Any
    dtype: str
    extents: list[Any]


@dataclass
class PreflattenedForm:
    """`T.preflattened_buffer(A, shape, dtype)`: how a parameter looked before flattening."""

    buffer: Any
    shape: list[Any]
    dtype: str


@dataclass
class RealizeForm:
    """`with T.realize(A[0:16], scope):`; here the declaration of A has allocated it."""


class BufferView:
    """`T.match_buffer(A[i : i + 4, 0:8], (4, 8))` inside a block: a part of a buffer.

    An access of the view is an access of the buffer, at an offset; nothing of the view is left in
    the IR unless its address or layout is asked for, which `whole` then gives.  A region of more
    dimensions than the view has extent one in the leading ones.
    """

    def __init__(self, name: str, region: BufferRegion, shape: Sequence[Any], dtype: str):
        if dtype != region.buffer.dtype:
            raise TypeError(f"'{name}' is {dtype}, {region.buffer.name} {region.buffer.dtype}")
        dropped = len(region.region) - len(shape)
        leading = [one.extent for one in region.region[: max(dropped, 0)]]
        if dropped < 0 or any(not isinstance(e, IntImm) or e.value != 1 for e in leading):
            raise TypeError(f"'{name}' has {len(shape)} dimensions, its region is {region}")
        self.name = name
        self.region = region
        self.shape = tuple(as_expr(size) for size in shape)
        self.dtype = dtype
        self.whole: Buffer | None = None
        self._leading = [one.min for one in region.region[:dropped]]
        self._offsets = [one.min for one in region.region[dropped:]]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Any) -> Any:
        """The element or region of the buffer behind the view."""
        return self.region.buffer[tuple(self._behind(indices))]

    def _behind(self, indices: Any) -> list[Any]:
        """The indices in the buffer behind the view."""
        entries = list(indices) if isinstance(indices, (tuple, list)) else [indices]
        if len(entries) != len(self.shape):
            raise TypeError(
                f"buffer {self.name} has {len(self.shape)} dimensions, {len(entries)} indices given"
            )
        shifted = [
            _shift(offset, entry, size)
            for offset, entry, size in zip(self._offsets, entries, self.shape, strict=True)
        ]
        return [*self._leading, *shifted]

    def vload(self, begin: Any, dtype: Any = None, predicate: Any = None) -> PrimExpr:
        """The vector that starts at indices, as `Buffer.vload` loads it."""
        return self.region.buffer.vload(self._behind(begin), dtype, predicate)

    def access_ptr(self, access_mask: Any, *rest: Any, **named: Any) -> PrimExpr:
        """The address of the view's first element."""
        if rest[2:3] not in ((), (0,)) or named.get("offset", 0) != 0:
            raise TypeError(f"an address inside of the view '{self.name}': "
                            "T.address_of(view[i, j]) names an element")  # fmt: skip
        return Call("handle", "address_of", [self[[0] * self.ndim]])

    def __getattr__(self, name: str) -> Any:
        """What a buffer has besides its elements: its address, layout, scope."""
        whole = self.__dict__.get("whole")
        if whole is None:
            raise AttributeError(f"a view of a buffer has no '{name}'")
        return getattr(whole, name)

    def full_region(self) -> BufferRegion:
        """The part of the buffer that the view covers."""
        return self.region


def _shift(offset: PrimExpr, entry: Any, size: PrimExpr) -> Any:
    if isinstance(entry, Ramp):
        return Ramp(add(offset, entry.base), entry.stride, entry.lanes)
    if not isinstance(entry, slice):
        return add(offset, entry)
    start = offset if entry.start is None else add(offset, entry.start)
    stop = add(offset, size if entry.stop is None else entry.stop)
    return slice(start, stop, entry.step)


def allocate(
    extents: Any, dtype: Any, scope: str = "global", condition: Any = None, **_: Any
) -> AllocateForm:
    """`T.allocate`: storage by pointer.  Raises TypeError for a condition."""
    always = condition is None or (isinstance(condition, (bool, IntImm)) and bool(condition))
    if not always:
        raise TypeError("an allocation with a condition is not supported")
    return AllocateForm(_sizes(extents), getattr(dtype, "dtype", dtype), scope or "global")


def allocate_const(
    data: Any, dtype: Any, extents: Any, annotations: Mapping[str, Any] | None = None
) -> ConstantForm:
    """`T.allocate_const`: storage that holds constants."""
    del annotations
    return ConstantForm(data, getattr(dtype, "dtype", dtype), _sizes(extents))


def preflattened_buffer(
    postflattened: Any, shape: Any, dtype: Any = "float32", *_: Any, **__: Any
) -> PreflattenedForm:
    """`T.preflattened_buffer`: the shape that a parameter had."""
    return PreflattenedForm(postflattened, _sizes(shape), getattr(dtype, "dtype", dtype))


def realize(region: Any, scope: str = "", condition: Any = True) -> RealizeForm:
    """`T.realize`: allocates the buffer of a region; its declaration has done so here."""
    del region, scope, condition
    return RealizeForm()


def _sizes(extents: Any) -> list[Any]:
    return list(extents) if isinstance(extents, (list, tuple)) else [extents]
