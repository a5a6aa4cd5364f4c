"""Converters for complex numbers, which are pairs of tensors here, and Fourier transforms.

Relax has no complex dtype: what a program makes of real tensors and turns back into real ones is
computed in its parts.  Transforms are products with the matrices of their sines and cosines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch import ops_elementwise, ops_reduction, ops_shape
from relax_mlir.relax.frontend.torch.importer import Complex, Converter, Importer, dtype_of

_LONGEST = 4096
"""Elements of the longest axis that is transformed: its matrices are constants."""


def _parts(imp: Importer, value: Any) -> Complex:
    """A value as a complex one; the imaginary part of a real one is zero."""
    if isinstance(value, Complex):
        return value
    return Complex(value, imp.emit(imp.op.zeros_like(value)))


# -- arithmetic ---------------------------------------------------------------------------------


def _each(convert: Converter) -> Converter:
    """The same of both parts: rearrangements, sums and the like."""

    def apply(imp: Importer, value: Complex, *args: Any, **keywords: Any) -> Complex:
        real, imaginary = (convert(imp, v, *args, **keywords) for v in (value.real, value.imag))
        return Complex(real, imaginary)

    return apply


def _pairwise(name: str) -> Converter:
    """Sums and differences; a real operand has no imaginary part to add."""

    def apply(imp: Importer, x: Any, y: Any) -> Complex:
        left, right = _operand(imp, x), _operand(imp, y)
        function = getattr(imp.op, name)
        return Complex(
            function(*imp.pair(left.real, right.real)), function(*imp.pair(left.imag, right.imag))
        )

    return apply


def _operand(imp: Importer, value: Any) -> Complex:
    """A number or a tensor as a complex one."""
    if imp.is_tensor(value) or isinstance(value, Complex):
        return _parts(imp, value)
    number = complex(value)
    return Complex(number.real, number.imag)


def multiply(imp: Importer, x: Any, y: Any) -> Complex:
    if not isinstance(x, Complex):
        x, y = y, x
    if not isinstance(y, (Complex, complex)):
        return Complex(*(imp.op.multiply(*imp.pair(v, y)) for v in (x.real, x.imag)))
    other = _operand(imp, y)

    def product(a: Any, b: Any) -> Any:
        return imp.emit(imp.op.multiply(*imp.pair(a, b)))

    real = imp.op.subtract(product(x.real, other.real), product(x.imag, other.imag))
    return Complex(real, imp.op.add(product(x.real, other.imag), product(x.imag, other.real)))


def divide(imp: Importer, x: Any, y: Any) -> Complex:
    """By a real number or tensor."""
    if isinstance(y, (Complex, complex)):
        raise Error("division by complex numbers: multiply by the reciprocal's parts")
    return Complex(*(imp.op.divide(*imp.pair(v, y)) for v in (x.real, x.imag)))


def conjugate(imp: Importer, x: Complex) -> Complex:
    return Complex(x.real, imp.op.negative(x.imag))


def magnitude(imp: Importer, x: Complex) -> Any:
    return ops_elementwise.hypot(imp, x.real, x.imag)


def angle(imp: Importer, x: Any) -> Any:
    value = _parts(imp, x)
    return imp.op.atan2(value.imag, value.real)


# -- between real and complex -------------------------------------------------------------------


def view_as_real(imp: Importer, x: Any) -> Any:
    value = _parts(imp, x)
    return imp.op.stack([value.real, value.imag], axis=-1)


def view_as_complex(imp: Importer, x: Any) -> Complex:
    return Complex(*(ops_shape.select(imp, x, -1, i) for i in (0, 1)))


def polar(imp: Importer, length: Any, direction: Any) -> Complex:
    parts = (imp.emit(part(direction)) for part in (imp.op.cos, imp.op.sin))
    return Complex(*(imp.op.multiply(length, part) for part in parts))


def real(imp: Importer, x: Any) -> Any:
    return x.real if isinstance(x, Complex) else x


def imaginary(imp: Importer, x: Complex) -> Any:
    return x.imag


# -- Fourier transforms -------------------------------------------------------------------------


def _matrices(rows: int, columns: int, length: int, dtype: str) -> list[np.ndarray]:
    """The cosines and sines of `2 pi j k / length`."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % length
    angles = 2 * np.pi * turns / length
    return [function(angles).astype(dtype) for function in (np.cos, np.sin)]


def _transformed(
    imp: Importer, x: Any, axis: int, forward: bool, kept: int | None = None
) -> Complex:
    """The transform along an axis, or its first `kept` values."""
    real_part = real(imp, x)
    length = _length(imp, real_part, axis)
    dtype = dtype_of(real_part)
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


def _real_of_half(imp: Importer, x: Complex, axis: int, length: int) -> Any:
    """The real signal whose transform begins with `x`: the rest of it mirrors these values."""
    half = length // 2 + 1
    cut = [
        imp.emit(imp.op.strided_slice(part, [axis], [0], [half], [1])) for part in (x.real, x.imag)
    ]
    matrices = _matrices(half, length, length, dtype_of(x.real))
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


def _along(imp: Importer, axis: int) -> Callable[[Any, np.ndarray], Any]:
    """A product with a matrix along an axis."""

    def product(x: Any, matrix: np.ndarray) -> Any:
        last = imp.ndim(x) - 1
        place = axis % (last + 1)
        order = [i for i in range(last + 1) if i != place] + [place]
        moved = imp.permute(x, order)
        result = imp.emit(imp.op.matmul(moved, imp.relax.const(np.ascontiguousarray(matrix))))
        return imp.permute(result, [order.index(i) for i in range(last + 1)])

    return product


def _length(imp: Importer, x: Any, axis: int) -> int:
    length = imp.shape_of(x)[axis]
    if not isinstance(length, int) or length > _LONGEST:
        raise Error(f"a Fourier transform of {length} elements: up to {_LONGEST}, a known number")
    return length


def _scaled(imp: Importer, x: Any, factor: float) -> Any:
    if factor == 1:
        return x
    if isinstance(x, Complex):
        return Complex(*(_scaled(imp, part, factor) for part in (x.real, x.imag)))
    return imp.emit(imp.op.multiply(x, imp.scalar_like(factor, x)))


def _transform(imp: Importer, x: Any, axes: Sequence[int], forward: bool, scale: float) -> Any:
    for axis in axes:
        x = _transformed(imp, x, axis, forward)
    return _scaled(imp, x, scale)


def _core_scale(imp: Importer, sizes: Sequence[int], normalization: int) -> float:
    """PyTorch's number for the factor: none, one over the root of the size, or over the size."""
    size = math.prod(sizes)
    return (1.0, 1 / math.sqrt(size), 1 / size)[normalization]


def core_complex(
    imp: Importer, x: Any, axes: Sequence[int], normalization: int, forward: bool
) -> Any:
    sizes = [_length(imp, real(imp, x), axis) for axis in axes]
    return _transform(imp, x, axes, forward, _core_scale(imp, sizes, normalization))


def core_of_real(
    imp: Importer, x: Any, axes: Sequence[int], normalization: int, onesided: bool
) -> Any:
    sizes = [_length(imp, x, axis) for axis in axes]
    kept = sizes[-1] // 2 + 1 if onesided else None
    result = _transformed(imp, x, axes[-1], True, kept)
    return _transform(imp, result, axes[:-1], True, _core_scale(imp, sizes, normalization))


def core_to_real(
    imp: Importer, x: Complex, axes: Sequence[int], normalization: int, last: int
) -> Any:
    sizes = [*(_length(imp, x.real, axis) for axis in axes[:-1]), last]
    inner = _transform(imp, x, axes[:-1], False, 1.0)
    result = _real_of_half(imp, _parts(imp, inner), axes[-1], last)
    return _scaled(imp, result, _core_scale(imp, sizes, normalization))


def _factor(size: int, norm: str | None, forward: bool) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(size)
    divides = forward if norm == "forward" else not forward
    return 1 / size if divides else 1.0


def _axes(imp: Importer, x: Any, dims: Any, sizes: Any, default: Sequence[int] | None) -> list[int]:
    if sizes is not None:
        raise Error("a Fourier transform that pads or trims: slice or pad the tensor first")
    if dims is None:
        rank = imp.ndim(real(imp, x))
        return list(range(rank)) if default is None else list(default)
    return [dims] if isinstance(dims, int) else list(dims)


def _named(forward: bool, default: Sequence[int] | None) -> Converter:
    """`fft` and its relatives from complex or real to complex."""

    def convert(
        imp: Importer, x: Any, size: Any = None, dim: Any = None, norm: str | None = None
    ) -> Any:
        axes = _axes(imp, x, dim, size, default)
        count = math.prod(_length(imp, real(imp, x), axis) for axis in axes)
        return _transform(imp, x, axes, forward, _factor(count, norm, forward))

    return convert


def rfft(imp: Importer, x: Any, size: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    (axis,) = _axes(imp, x, dim, size, None)
    length = _length(imp, x, axis)
    result = _transformed(imp, x, axis, True, length // 2 + 1)
    return _scaled(imp, result, _factor(length, norm, True))


def irfft(
    imp: Importer, x: Any, size: int | None = None, dim: int = -1, norm: str | None = None
) -> Any:
    value = _parts(imp, x)
    length = 2 * (_length(imp, value.real, dim) - 1) if size is None else size
    if length // 2 + 1 > _length(imp, value.real, dim):
        raise Error(f"irfft to {length} elements pads its input: pad the tensor first")
    return _scaled(imp, _real_of_half(imp, value, dim, length), _factor(length, norm, False))


def rfft2(
    imp: Importer, x: Any, size: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    *others, last = _axes(imp, x, dim, size, None)
    count = math.prod(_length(imp, x, axis) for axis in (*others, last))
    half = rfft(imp, x, None, last, "backward")
    return _transform(imp, half, others, True, _factor(count, norm, True))


def irfft2(
    imp: Importer, x: Any, size: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    value = _parts(imp, x)
    *others, last = _axes(imp, value, dim, size, None)
    inner = _parts(imp, _transform(imp, value, others, False, 1.0))
    length = 2 * (_length(imp, value.real, last) - 1)
    count = length * math.prod(_length(imp, value.real, axis) for axis in others)
    result = _real_of_half(imp, inner, last, length)
    return _scaled(imp, result, _factor(count, norm, False))


_TRANSFORMS: dict[str, Converter] = {
    "fft_fft": _named(True, [-1]),
    "fft_ifft": _named(False, [-1]),
    "fft_fft2": _named(True, [-2, -1]),
    "fft_ifft2": _named(False, [-2, -1]),
    "fft_fftn": _named(True, None),
    "fft_ifftn": _named(False, None),
    "fft_rfft": rfft,
    "fft_irfft": irfft,
    "fft_rfft2": rfft2,
    "fft_irfft2": irfft2,
    "_fft_c2c": core_complex,
    "_fft_r2c": core_of_real,
    "_fft_c2r": core_to_real,
}
_REARRANGEMENTS = (
    "view reshape permute transpose unsqueeze squeeze slice select expand flatten _unsafe_view"
).split()

OF_COMPLEX: dict[str, Converter] = {
    **_TRANSFORMS,
    **{name: _each(ops_shape.CONVERTERS[name]) for name in _REARRANGEMENTS},
    **{name: _each(ops_reduction.CONVERTERS[name]) for name in ("sum", "mean")},
    **{name: _each(ops_elementwise.CONVERTERS[name]) for name in ("clone", "alias", "neg")},
    "add": _pairwise("add"),
    "sub": _pairwise("subtract"),
    "mul": multiply,
    "div": divide,
    "conj": conjugate,
    "_conj": conjugate,
    "conj_physical": conjugate,
    "resolve_conj": lambda imp, x: x,
    "abs": magnitude,
    "angle": angle,
    "real": real,
    "imag": imaginary,
    "view_as_real": view_as_real,
}
"""By the operator's plain name, for nodes that a complex value reaches."""

CONVERTERS: dict[str, Converter] = {
    **_TRANSFORMS,
    "view_as_real": view_as_real,
    "view_as_complex": view_as_complex,
    "complex": lambda imp, x, y: Complex(x, y),
    "polar": polar,
    "angle": angle,
    "real": real,
    "imag": imaginary,
    **dict.fromkeys(("conj", "_conj", "conj_physical", "resolve_conj"), lambda imp, x: x),
    **{f"complex {name}": converter for name, converter in OF_COMPLEX.items()},
}
"""By the operator's name; those for complex values after "complex"."""
