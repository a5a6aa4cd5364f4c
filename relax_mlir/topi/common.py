"""What the families of topi share: axes, shapes and named computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor, TensorSlice
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import IntImm, PrimExpr, as_expr
from relax_mlir.tir.linear import difference, simplify

Shape = Sequence[Any]


def named(
    shape: Shape,
    body: Callable[..., Any],
    name: str,
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """A compute whose axes are called ax0, ax1, ..., as in TVM's C++ operators."""
    names = [f"ax{i}" for i in range(len(shape))]
    return compute(shape, lambda *i: body(*i), name, tag, attrs, varargs_names=names)


def elementwise(x: Tensor, body: Callable[[PrimExpr], Any], name: str = "compute") -> Tensor:
    """`body` of each element, with axes i0, i1, ..."""
    return compute(x.shape, lambda *i: body(x(*i)), name, "elemwise")


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor rather than a scalar."""
    return isinstance(x, (Tensor, TensorSlice))


def as_tensor_or_scalar(x: Any) -> Tensor | PrimExpr:
    """Tensors stay; numbers and expressions become expressions."""
    return x if isinstance(x, Tensor) else as_expr(x)


def as_int(value: Any) -> int | None:
    """The value of a constant, None of other expressions."""
    if isinstance(value, int):
        return int(value)
    return value.value if isinstance(value, IntImm) else None


def int_list(values: Any) -> list[int]:
    """Constant integers as a list.  Raises Error for anything else."""
    entries = values if isinstance(values, (list, tuple)) else [values]
    known = [as_int(v) for v in entries]
    if any(k is None for k in known):
        raise Error(f"constant integers expected, given {values}")
    return [k for k in known if k is not None]


def normalize_axis(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis in [0, rank).  Raises Error if it is out of [-rank, rank)."""
    (known,) = int_list(axis)
    if not -rank <= known < rank:
        raise Error(f"{what} {known} is out of range for {rank} dimensions")
    return known % rank


def normalize_axes(axes: Any, rank: int) -> list[int]:
    """Distinct axes in ascending order; None means all."""
    if axes is None:
        return list(range(rank))
    found = [normalize_axis(a, rank) for a in (axes if isinstance(axes, (list, tuple)) else [axes])]
    if len(set(found)) != len(found):
        raise Error(f"axes {axes} repeat")
    return sorted(found)


def same_size(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether two sizes are provably equal."""
    return difference(a, b) == 0


def product(sizes: Sequence[PrimExpr]) -> PrimExpr:
    """The product of sizes, 1 of none."""
    result: PrimExpr = O.const(1, sizes[0].dtype) if sizes else O.const(1)
    for size in sizes:
        result = O.multiply(result, size)
    return simplify(result)


def broadcast_shapes(a: Shape, b: Shape) -> list[PrimExpr]:
    """The shape two shapes broadcast to.  Raises Error if two constant sizes do not fit."""
    long, short = (list(a), list(b)) if len(a) >= len(b) else (list(b), list(a))
    offset = len(long) - len(short)
    result = [as_expr(s) for s in long[:offset]]
    for left, right in zip(long[offset:], short, strict=True):
        result.append(_broadcast_size(as_expr(left), as_expr(right), a, b))
    return result


def _broadcast_size(left: PrimExpr, right: PrimExpr, a: Shape, b: Shape) -> PrimExpr:
    if as_int(left) == 1:
        return right
    if as_int(right) == 1 or same_size(left, right):
        return left
    if as_int(left) is not None and as_int(right) is not None:
        raise Error(f"shapes {list(a)} and {list(b)} do not broadcast: {left} and {right} differ")
    return left if as_int(right) is None else right


def broadcast_indices(
    indices: Sequence[PrimExpr], shape: Shape, output_shape: Shape
) -> list[PrimExpr]:
    """Where an operand of `shape` is read for output element `indices`."""
    offset = len(output_shape) - len(shape)
    result: list[PrimExpr] = []
    for size, out, index in zip(shape, output_shape[offset:], indices[offset:], strict=True):
        stretched = as_int(size) == 1 and as_int(out) != 1
        result.append(O.const(0, index.dtype) if stretched else index)
    return result


def ravel(indices: Sequence[PrimExpr], shape: Shape) -> PrimExpr:
    """The row-major position of an element."""
    position: PrimExpr = O.const(0, indices[0].dtype if indices else "int32")
    for index, size in zip(indices, shape, strict=True):
        position = O.add(O.multiply(position, size), index)
    return position


def unravel(position: PrimExpr, shape: Shape) -> list[PrimExpr]:
    """The indices of the element at a row-major position; the first is not reduced modulo."""
    sizes = [as_expr(s) for s in shape]
    result: list[PrimExpr] = []
    stride: PrimExpr = O.const(1, position.dtype)
    for axis in range(len(sizes) - 1, -1, -1):
        index = O.floordiv(position, stride)
        result.append(O.floormod(index, sizes[axis]) if axis else index)
        stride = simplify(O.multiply(stride, sizes[axis]))
    return result[::-1]
