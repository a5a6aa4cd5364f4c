"""Tensors from nothing: constants, ranges, triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.errors import Error
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr, as_expr
from relax_mlir.tir.linear import simplify
from relax_mlir.topi.common import Shape, as_int, named


def full(shape: Shape, dtype: object, fill_value: Any) -> Tensor:
    """A tensor of one value (a scalar, or a tensor without dimensions)."""
    value = fill_value() if isinstance(fill_value, Tensor) else fill_value
    filled = O.cast(dtype, as_expr(value))
    return named(list(shape), lambda *i: filled, "T_full", "elemwise")


def full_like(x: Tensor, fill_value: Any) -> Tensor:
    """A tensor of one value with the shape and dtype of x."""
    value = fill_value() if isinstance(fill_value, Tensor) else fill_value
    filled = O.cast(x.dtype, as_expr(value))
    return named(x.shape, lambda *i: filled, "T_full_like", "elemwise")


def zeros(shape: Shape, dtype: object = "float32") -> Tensor:
    """A tensor of zeros."""
    return full(shape, dtype, 0)


def ones(shape: Shape, dtype: object = "float32") -> Tensor:
    """A tensor of ones."""
    return full(shape, dtype, 1)


def zeros_like(x: Tensor) -> Tensor:
    """Zeros with the shape and dtype of x."""
    return full_like(x, 0)


def ones_like(x: Tensor) -> Tensor:
    """Ones with the shape and dtype of x."""
    return full_like(x, 1)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: object = "float32") -> Tensor:
    """`start, start + step, ...` below stop (above, for a negative step), in one dimension."""
    begin, end = (0, start) if stop is None else (start, stop)
    begin, end, step = as_expr(begin), as_expr(end), as_expr(step)
    size = arange_size(begin, end, step)

    def body(i: Any) -> PrimExpr:
        return O.cast(dtype, O.add(begin, O.multiply(step, i)))

    return named([size], lambda i: body(i), "T_arange", "injective")


def arange_size(begin: PrimExpr, end: PrimExpr, step: PrimExpr) -> PrimExpr:
    """The number of elements of an arange."""
    if any(dtypes.is_float(x.dtype) for x in (begin, end, step)):
        span = O.div(O.cast("float64", O.subtract(end, begin)), O.cast("float64", step))
        count = O.cast("int32", I.ceil(span))
        known = as_int(count)
        if known is None:
            raise Error("arange: float bounds must be constants")
        return O.const(max(0, known))
    known = as_int(step)
    if known is not None and known < 0:
        return arange_size(end, begin, O.const(-known, step.dtype))
    size = simplify(O.ceildiv(O.subtract(end, begin), step))
    constant = as_int(size)
    return size if constant is None else O.const(max(0, constant), size.dtype)


def trilu(data: Tensor, k: Any, upper: bool) -> Tensor:
    """The upper or lower triangle of the last two axes, from the k-th diagonal on; else zeros."""
    zero = O.const(0, data.dtype)
    diagonal = k() if isinstance(k, Tensor) else as_expr(k)

    def body(*i: Any) -> PrimExpr:
        row, column = O.add(i[-2], diagonal), i[-1]
        inside = O.less_equal(row, column) if upper else O.less_equal(column, row)
        return O.select(inside, data(*i), zero)

    return compute(data.shape, body, "trilu", "elemwise")


def tril(data: Tensor, k: Any = 0) -> Tensor:
    """The lower triangle of the last two axes."""
    return trilu(data, k, False)


def triu(data: Tensor, k: Any = 0) -> Tensor:
    """The upper triangle of the last two axes."""
    return trilu(data, k, True)


def eye(n: Any, m: Any = None, k: Any = 0, dtype: object = "float32") -> Tensor:
    """Ones on the k-th diagonal of an n x m matrix, zeros elsewhere."""
    one, zero = O.const(1, dtype), O.const(0, dtype)

    def body(i: Any, j: Any) -> PrimExpr:
        return O.select(O.equal(O.add(i, k), j), one, zero)

    return compute([n, n if m is None else m], body, "eye")


def meshgrid(a_tuple: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Coordinate tensors of one-dimensional (or scalar) coordinates; indexing "ij" or "xy"."""
    if indexing not in ("ij", "xy"):
        raise Error(f'meshgrid: indexing must be "ij" or "xy", given {indexing!r}')
    tensors = list(a_tuple)
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    sizes = [t.shape[0] if t.shape else O.const(1) for t in tensors]
    shape = [sizes[axis] for axis in order]

    def grid(number: int) -> Tensor:
        tensor, axis = tensors[number], order.index(number)
        return named(
            shape,
            lambda *i: tensor(i[axis]) if tensor.shape else tensor(),
            "T_meshgrid",
            "injective",
        )

    return [grid(number) for number in range(len(tensors))]


def hamming_window(
    window_size: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
    dtype: object = "float32",
) -> Tensor:  # fmt: skip
    """The Hamming window `alpha - beta * cos(2 pi n / N)`."""
    length = window_size if periodic else window_size - 1
    if window_size == 1:
        return full([1], dtype, 1)

    def body(i: Any) -> PrimExpr:
        angle = O.multiply(O.cast(dtype, i), O.const(6.283185307179586 / length, dtype))
        return O.subtract(O.const(alpha, dtype), O.multiply(O.const(beta, dtype), I.cos(angle)))

    return compute([window_size], body, "hamming_window")
