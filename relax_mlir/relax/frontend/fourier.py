"""Complex tensors as pairs of real ones, and Fourier transforms: products with the matrices of
their cosines and sines.

Each function takes an importer, of which it uses `emit`, `op`, `permute`, `relax` and
`scalar_like`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.errors import Error

__all__ = ["Complex", "length_of", "real_of_half", "scaled", "transform", "transformed"]

_LONGEST = 4096
"""Elements of the longest axis that is transformed: its matrices are constants."""


@dataclass(frozen=True)
class Complex:
    """A complex tensor, by its parts: Relax has none."""

    real: Any
    imag: Any


def _matrices(rows: int, columns: int, length: int, dtype: str) -> list[np.ndarray]:
    """The cosines and sines of `2 pi j k / length`."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length
    angles = 2 * np.pi * turns / length
    return [function(angles).astype(dtype) for function in (np.cos, np.sin)]


def transformed(imp: Any, x: Any, axis: int, forward: bool, kept: int | None = None) -> Complex:
    """The transform along an axis, or its first `kept` values."""
    real_part = x.real if isinstance(x, Complex) else x
    length = length_of(real_part, axis)
    dtype = real_part.struct_info.dtype
    cosines, sines = _matrices(length, length if kept is None else kept, length, dtype)
    product = _along(imp, axis)
    if not isinstance(x, Complex):
        return Complex(product(x, cosines), product(x, -sines if forward else sines))
    sign = 1 if forward else -1
    parts = [
        [product(part, matrix) for matrix in (cosines, sign * sines)] for part in (x.real, x.imag)
    ]
    (real_cos, real_sin), (imag_cos, imag_sin) = parts
    return Complex(
        imp.emit(imp.op.add(real_cos, imag_sin)), imp.emit(imp.op.subtract(imag_cos, real_sin))
    )


def real_of_half(imp: Any, x: Complex, axis: int, length: int) -> Any:
    """The real signal whose transform begins with `x`: the rest of it mirrors these values."""
    half = length // 2 + 1
    cut = [
        imp.emit(imp.op.strided_slice(part, [axis], [0], [half], [1])) for part in (x.real, x.imag)
    ]
    matrices = _matrices(half, length, length, x.real.struct_info.dtype)
    weights = np.full((half, 1), 2.0)
    weights[0] = 1
    if length % 2 == 0:
        weights[-1] = 1
    product = _along(imp, axis)
    parts = [
        product(part, (weights * matrix).astype(matrix.dtype))
        for part, matrix in zip(cut, matrices, strict=True)
    ]
    return imp.emit(imp.op.subtract(*parts))


def _along(imp: Any, axis: int) -> Callable[[Any, np.ndarray], Any]:
    """A product with a matrix along an axis."""

    def product(x: Any, matrix: np.ndarray) -> Any:
        last = x.struct_info.ndim - 1
        place = axis % (last + 1)
        order = [i for i in range(last + 1) if i != place] + [place]
        moved = imp.permute(x, order)
        result = imp.emit(imp.op.matmul(moved, imp.relax.const(np.ascontiguousarray(matrix))))
        return imp.permute(result, [order.index(i) for i in range(last + 1)])

    return product


def length_of(x: Any, axis: int) -> int:
    """The elements along an axis.  Raises Error where they are too many, or not known."""
    dims = x.struct_info.dims
    length = None if dims is None else dims[axis]
    if not isinstance(length, int) or length > _LONGEST:
        raise Error(f"a Fourier transform of {length} elements: up to {_LONGEST}, a known number")
    return length


def scaled(imp: Any, x: Any, factor: float) -> Any:
    """A real or complex tensor times a number."""
    if factor == 1:
        return x
    if isinstance(x, Complex):
        return Complex(*(scaled(imp, part, factor) for part in (x.real, x.imag)))
    return imp.emit(imp.op.multiply(x, imp.scalar_like(factor, x)))


def transform(imp: Any, x: Any, axes: Sequence[int], forward: bool, scale: float) -> Any:
    """The transform along several axes, times a number."""
    for axis in axes:
        x = transformed(imp, x, axis, forward)
    return scaled(imp, x, scale)
