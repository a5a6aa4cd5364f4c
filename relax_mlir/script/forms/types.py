"""Scalar dtypes, handles and buffers: annotations, constructors, symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.relax.location import assigned_name
from relax_mlir.script.forms.statements import LetForm
from relax_mlir.tir.expr import FloatImm, IntImm, Let, PrimExpr, SizeVar, Var
from relax_mlir.tir.operators import cast, const


class DType:
    """A dtype as an annotation: `T.handle`, or a `ScalarType`."""

    def __init__(self, dtype: str):
        self.dtype = dtype
        self.name = dtype  # where a dtype is asked for, this is one

    def __repr__(self) -> str:
        return f"T.{self.dtype}"


class ScalarType(DType):
    """`T.float32` and its like: an annotation, a conversion, and without arguments a symbol."""

    def __call__(self, value: Any = None, *, is_size_var: bool = False) -> PrimExpr:
        """A constant or cast of `value`; without it a new variable, named when it is assigned."""
        if value is None:
            name = assigned_name()
            return SizeVar(name, self.dtype) if is_size_var else Var(name, self.dtype)
        if isinstance(value, str):
            return FloatImm(self.dtype, self._parsed(value))
        if isinstance(value, PrimExpr) and not isinstance(value, (IntImm, FloatImm)):
            return cast(self.dtype, value)
        return const(value, self.dtype)

    def _parsed(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"T.{self.dtype}: {text!r} is no number") from None


class HandleType(DType):
    """`T.handle`, plain or with what it points to: `T.handle("float32", "global")`."""

    def __init__(self, pointee: str | None = None, scope: str = "global"):
        super().__init__("handle")
        self.pointee = pointee
        self.scope = scope

    def __call__(self, dtype: Any = None, storage_scope: str = "global", **_: Any) -> Any:
        """A handle to a dtype; without it a new variable, named when it is assigned."""
        if dtype is None:
            return Var("", "handle")
        return HandleType(dtype.dtype if isinstance(dtype, DType) else dtype, storage_scope)

    def __getitem__(self, pointee: Any) -> HandleType:
        return self(pointee)

    @property
    def ty(self) -> str:
        """The dtype, TVM 0.27's `T.handle("int64").ty`."""
        return self.dtype


@dataclass(frozen=True)
class LetType:
    """`x: T.let[T.float32] = value` of TVM 0.27, and `T.let` alone."""

    dtype: DType | None = None

    def __getitem__(self, dtype: DType) -> LetType:
        return LetType(dtype)

    def __call__(self, var: Var, value: Any, body: Any = None) -> Any:
        """`with T.let(x, value):` of older TVM; with a body, the expression."""
        if body is not None:
            return Let(var, value, body)
        return LetForm(value, var)


@dataclass
class BufferForm:
    """A buffer as declared: an annotation, or the right side of an assignment.

    `how` is "param" (an annotation) or "alloc"; `properties` are keyword arguments of
    `relax_mlir.tir.buffer.Buffer`; `data` is the storage that exists already, if any.
    """

    shape: Sequence[Any]
    dtype: str
    how: str = "param"
    properties: dict[str, Any] = field(default_factory=dict)
    data: Any = None
    annotations: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class MatchBufferForm:
    """`T.match_buffer(source, ...)`: the buffer behind a handle, or a part of another buffer;
    without a shape of its own the part has that of its region."""

    source: Any
    buffer: BufferForm
    has_shape: bool = True


def buffer_form(
    how: str,
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    byte_offset: Any = None,
    layout: Any = None,
    *,
    data_alignment: int = 0,
    elem_bytes: Any = None,
    logical_scope: Any = None,
    dtypes: Any = None,
    type: str = "",
    name: str = "",
    allocated_addr: Any = None,
    annotations: Mapping[str, Any] | None = None,
    mem_scope: str = "",
    **unknown: Any,
) -> BufferForm:
    """A BufferForm from the arguments that TVM's buffer functions take.

    Raises TypeError for arguments that have no meaning here.
    """
    del elem_bytes, logical_scope, name, allocated_addr
    if unknown:
        raise TypeError(f"a buffer got an unexpected keyword argument '{next(iter(unknown))}'")
    # The first TVMScript's names.
    dtype, buffer_type, scope = dtypes or dtype, buffer_type or type, mem_scope or scope
    if byte_offset is not None:
        raise TypeError("a buffer with 'byte_offset' is not supported")
    if layout not in (None, "default"):
        raise TypeError("a buffer with 'layout' is not supported")
    sizes = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    align, offset_factor = _whole("align", align), _whole("offset_factor", offset_factor)
    alignment = align if align > 0 else _whole("data_alignment", data_alignment)
    given = {
        "strides": list(strides) if strides else None,
        "elem_offset": elem_offset,
        "scope": scope or "global",
        "data_alignment": max(alignment, 0),
        "offset_factor": offset_factor,
        "buffer_type": "" if buffer_type in ("default", "auto") else buffer_type,
        "axis_separators": list(axis_separators) if axis_separators else None,
    }
    kept = {k: v for k, v in given.items() if v not in (None, 0, "", "global") or k == "scope"}
    if kept.get("scope") == "global":
        del kept["scope"]
    return BufferForm(sizes, dtype_name(dtype), how, kept, data, annotations or {})


def _whole(named: str, value: Any) -> int:
    """A number that a program gives as itself or as a constant expression."""
    number = getattr(value, "value", value)
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"a buffer's '{named}' is a whole number, given {value!r}")
    return number


def dtype_name(dtype: Any) -> str:
    """The name of a dtype given as text, as `T.float32`, or as numpy's."""
    from relax_mlir.tir.expr import canonical_dtype

    return dtype.dtype if isinstance(dtype, DType) else canonical_dtype(dtype)


class BufferType:
    """`T.Buffer((8,), "float32")`, `T.Buffer[(8,), "float32"]`, `T.Buffer[8, "float32"]`."""

    def __call__(self, shape: Any, dtype: Any = "float32", *args: Any, **options: Any) -> Any:
        return buffer_form("param", shape, dtype, *args, **options)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and any(isinstance(part, (str, DType)) for part in key[1:]):
            return self(*key)
        return self(key)


def alloc_buffer(shape: Any, dtype: Any = "float32", *args: Any, **options: Any) -> BufferForm:
    """`T.alloc_buffer`: a buffer that lives for the block or function it stands in."""
    return buffer_form("alloc", shape, dtype, *args, **options)


def alloc_local(shape: Any, dtype: Any = "float32", *args: Any, **options: Any) -> BufferForm:
    """`T.alloc_local`: a buffer of each thread's own."""
    return buffer_form("alloc", shape, dtype, *args, **{"scope": "local", **options})


def decl_buffer(shape: Any, dtype: Any = "float32", *args: Any, **options: Any) -> BufferForm:
    """`T.decl_buffer` without `data`: storage for the scope it stands in."""
    return buffer_form("alloc", shape, dtype, *args, **options)


def match_buffer(
    param: Any, shape: Any = None, dtype: Any = None, *args: Any, **options: Any
) -> MatchBufferForm:
    """`T.match_buffer`: the buffer behind a handle parameter, or a view of a buffer's region, whose
    dtype it has unless another is given."""
    natural = getattr(getattr(param, "buffer", param), "dtype", None)
    known = dtype or (natural if isinstance(natural, str) else None) or "float32"
    form = buffer_form("param", () if shape is None else shape, known, *args, **options)
    return MatchBufferForm(param, form, shape is not None)


def var(dtype: Any, name: str = "") -> Var:
    """`T.var("int32")`: a new variable; it is named when it is assigned."""
    return Var(name, dtype_name(dtype))
