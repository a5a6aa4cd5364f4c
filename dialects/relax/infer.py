"""Type inference shared by the operator families.  Each helper raises `InferError` with a text
that names both types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import integers
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import NO_DTYPE, InferError
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir


def tensor(kind: ir.Type, what: str = "operand") -> TensorInfo:
    """The tensor behind `kind`, or an error that names what was found."""
    info = types.tensor_info(kind)
    if info is None:
        raise InferError(f"{what} must be a tensor, got {types.describe(kind)}")
    return info


def same_dtype(infos: Sequence[TensorInfo], kinds: Sequence[ir.Type]) -> str | None:
    """The one dtype of all operands (None when unknown)."""
    known = [(info.dtype, kind) for info, kind in zip(infos, kinds, strict=True) if info.dtype]
    for dtype, kind in known[1:]:
        if dtype != known[0][0]:
            raise InferError(
                f"dtypes differ: {types.describe(known[0][1])} and {types.describe(kind)}"
            )
    return known[0][0] if len(known) == len(infos) else None


def require_float(info: TensorInfo, kind: ir.Type) -> None:
    if info.dtype is not None and not dtypes.is_float(info.dtype):
        raise InferError(f"needs a floating-point tensor, got {types.describe(kind)}")


def broadcast_dims(
    a: tuple[Dim, ...], b: tuple[Dim, ...], kinds: Sequence[ir.Type]
) -> tuple[Dim, ...] | None:
    """numpy broadcasting over symbolic dimensions; None when the result is not known."""
    result: list[Dim] = []
    for i in range(1, max(len(a), len(b)) + 1):
        x, y = (a[-i] if i <= len(a) else 1), (b[-i] if i <= len(b) else 1)
        if x == 1 or dim_algebra.equal(x, y):
            result.append(y)
        elif y == 1:
            result.append(x)
        elif dim_algebra.unequal(x, y):
            raise InferError(
                f"shapes do not broadcast: {types.describe(kinds[0])} and "
                f"{types.describe(kinds[1])}, dimension {-i} is {x} and {y}"
            )
        else:
            return None
    return tuple(reversed(result))


def broadcast(a: TensorInfo, b: TensorInfo, kinds: Sequence[ir.Type]) -> TensorInfo:
    """Shape of an elementwise operation on two tensors; the dtype is left unset."""
    if a.dims is not None and b.dims is not None:
        dims = broadcast_dims(a.dims, b.dims, kinds)
        return TensorInfo(dims, None, max(a.ndim, b.ndim))
    ndim = max(a.ndim, b.ndim) if a.ndim >= 0 and b.ndim >= 0 else -1
    return TensorInfo(None, None, ndim)


def normalize_axis(axis: int, ndim: int, what: str = "axis") -> int:
    """A non-negative axis; negative ones count from the end."""
    if not -ndim <= axis < ndim:
        raise InferError(f"{what} {axis} is out of range for a tensor of rank {ndim}")
    return axis % ndim


def shape_dims(kind: ir.Type, what: str = "shape") -> types.ShapeInfo:
    info = types.shape_info(kind)
    if info is None:
        raise InferError(f"{what} must be a shape, got {types.describe(kind)}")
    return info


def tensor_or_scalar(kind: ir.Type, what: str = "operand") -> TensorInfo:
    """As `tensor`; a scalar value counts as a tensor of rank zero."""
    prim = types.prim_info(kind)
    return tensor(kind, what) if prim is None else TensorInfo((), prim[0])


def normalize_axes(axis: object, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """Non-negative axes from None (all of them), an integer or a list; refuses repeated ones."""
    if axis is None:
        return tuple(range(ndim))
    given = integers(axis)
    axes = tuple(normalize_axis(a, ndim, what) for a in given)
    if len(set(axes)) != len(axes):
        raise InferError(f"{what} {given} names a dimension twice")
    return axes


def dtype_attribute(attributes: Mapping[str, object], name: str = "dtype") -> str | None:
    """The dtype an attribute asks for; None when it is left open."""
    value = attributes[name]
    if value in NO_DTYPE:
        return None
    try:
        return dtypes.canonical(value)
    except ValueError as error:
        raise InferError(f"attribute '{name}': {error}") from None


def require_rank(info: TensorInfo, rank: int, kind: ir.Type, what: str = "operand") -> None:
    if info.ndim not in (-1, rank):
        raise InferError(f"{what} must have rank {rank}, got {types.describe(kind)}")


def require_integer(info: TensorInfo, kind: ir.Type, what: str = "operand") -> None:
    if info.dtype is not None and not dtypes.is_integer(info.dtype):
        raise InferError(f"{what} must be an integer tensor, got {types.describe(kind)}")


def require_same_dims(a: Sequence[Dim], b: Sequence[Dim], kinds: Sequence[ir.Type]) -> None:
    """Refuse two shapes that are provably different."""
    if len(a) != len(b) or any(dim_algebra.differ(x, y) for x, y in zip(a, b, strict=True)):
        raise InferError(
            f"shapes differ: {types.describe(kinds[0])} and {types.describe(kinds[1])}"
        )


def scalar_int(kind: ir.Type, what: str) -> Dim:
    """The value of an integer scalar operand."""
    prim = types.prim_info(kind)
    if prim is None or prim[1] is None:
        raise InferError(f"{what} must be an integer of known value, got {types.describe(kind)}")
    return prim[1]
