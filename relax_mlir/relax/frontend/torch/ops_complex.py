"""Converters for complex numbers, which are pairs of tensors here, and Fourier transforms.

Relax has no complex dtype: what a program makes of real tensors and turns back into real ones is
computed in its parts.  Transforms are products with the matrices of their sines and cosines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.fourier import (
    Complex,
    length_of,
    real_of_half,
    scaled,
    transform,
    transformed,
)
from relax_mlir.relax.frontend.torch import ops_elementwise, ops_reduction, ops_shape
from relax_mlir.relax.frontend.torch.importer import Converter, Importer


def _parts(imp: Importer, value: Any) -> Complex:
    """A value as a complex one; the imaginary part of a real one, made floating, is zero."""
    if isinstance(value, Complex):
        return value
    real_part = imp.floating(value)
    return Complex(real_part, imp.emit(imp.op.zeros_like(real_part)))


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


def _core_scale(imp: Importer, sizes: Sequence[int], normalization: int) -> float:
    """PyTorch's number for the factor: none, one over the root of the size, or over the size."""
    size = math.prod(sizes)
    return (1.0, 1 / math.sqrt(size), 1 / size)[normalization]


def core_complex(
    imp: Importer, x: Any, axes: Sequence[int], normalization: int, forward: bool
) -> Any:
    sizes = [length_of(real(imp, x), axis) for axis in axes]
    return transform(imp, x, axes, forward, _core_scale(imp, sizes, normalization))


def core_of_real(
    imp: Importer, x: Any, axes: Sequence[int], normalization: int, onesided: bool
) -> Any:
    sizes = [length_of(x, axis) for axis in axes]
    kept = sizes[-1] // 2 + 1 if onesided else None
    result = transformed(imp, x, axes[-1], True, kept)
    return transform(imp, result, axes[:-1], True, _core_scale(imp, sizes, normalization))


def core_to_real(
    imp: Importer, x: Complex, axes: Sequence[int], normalization: int, last: int
) -> Any:
    sizes = [*(length_of(x.real, axis) for axis in axes[:-1]), last]
    inner = transform(imp, x, axes[:-1], False, 1.0)
    result = real_of_half(imp, _parts(imp, inner), axes[-1], last)
    return scaled(imp, result, _core_scale(imp, sizes, normalization))


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
        x = x if isinstance(x, Complex) else imp.floating(x)
        axes = _axes(imp, x, dim, size, default)
        count = math.prod(length_of(real(imp, x), axis) for axis in axes)
        return transform(imp, x, axes, forward, _factor(count, norm, forward))

    return convert


def rfft(imp: Importer, x: Any, size: Any = None, dim: int = -1, norm: str | None = None) -> Any:
    x = imp.floating(x)
    (axis,) = _axes(imp, x, dim, size, None)
    length = length_of(x, axis)
    result = transformed(imp, x, axis, True, length // 2 + 1)
    return scaled(imp, result, _factor(length, norm, True))


def irfft(
    imp: Importer, x: Any, size: int | None = None, dim: int = -1, norm: str | None = None
) -> Any:
    value = _parts(imp, x)
    length = 2 * (length_of(value.real, dim) - 1) if size is None else size
    if length // 2 + 1 > length_of(value.real, dim):
        raise Error(f"irfft to {length} elements pads its input: pad the tensor first")
    return scaled(imp, real_of_half(imp, value, dim, length), _factor(length, norm, False))


def rfft2(
    imp: Importer, x: Any, size: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    x = imp.floating(x)
    *others, last = _axes(imp, x, dim, size, None)
    count = math.prod(length_of(x, axis) for axis in (*others, last))
    half = rfft(imp, x, None, last, "backward")
    return transform(imp, half, others, True, _factor(count, norm, True))


def irfft2(
    imp: Importer, x: Any, size: Any = None, dim: Any = (-2, -1), norm: str | None = None
) -> Any:
    value = _parts(imp, x)
    *others, last = _axes(imp, value, dim, size, None)
    inner = _parts(imp, transform(imp, value, others, False, 1.0))
    length = 2 * (length_of(value.real, last) - 1)
    count = length * math.prod(length_of(value.real, axis) for axis in others)
    result = real_of_half(imp, inner, last, length)
    return scaled(imp, result, _factor(count, norm, False))


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
