"""Converters for complex numbers, which are pairs of tensors here, and Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from relax_mlir.relax.frontend.fourier import (
    Complex,
    length_of,
    real_of_half,
    scaled,
    transform,
    transformed,
)
from relax_mlir.relax.frontend.stablehlo import (
    ops_contraction,
    ops_elementwise,
    ops_index,
    ops_shape,
)
from relax_mlir.relax.frontend.stablehlo.operation import Converter, Operation


def _part_of(operation: Operation, choose: Callable[[Any], Any]) -> Operation:
    """The operation on one part of its complex operands."""
    operands = [choose(v) if isinstance(v, Complex) else v for v in operation.operands]
    return Operation(operation.importer, operation.source, operands)


def _parts(operation: Operation) -> tuple[Operation, Operation]:
    """The operation on the real and on the imaginary parts."""
    return (
        _part_of(operation, lambda value: value.real),
        _part_of(operation, lambda value: value.imag),
    )


def _each(convert: Converter) -> Converter:
    """The same of both parts: rearrangements, sums, signs."""
    return lambda operation: Complex(*map(convert, _parts(operation)))


def make_complex(operation: Operation) -> Complex:
    return Complex(*operation.tensors())


def real(operation: Operation) -> Any:
    (value,) = operation.operands
    return value.real if isinstance(value, Complex) else value


def imaginary(operation: Operation) -> Any:
    (value,) = operation.operands
    if isinstance(value, Complex):
        return value.imag
    return operation.ops.zeros_like(operation.tensor(0))


def multiply(operation: Operation) -> Complex:
    ops = operation.ops
    (a, b), (c, d) = zip(*(part.tensors() for part in _parts(operation)), strict=True)
    return Complex(
        ops.subtract(ops.multiply(a, c), ops.multiply(b, d)),
        ops.add(ops.multiply(a, d), ops.multiply(b, c)),
    )


def divide(operation: Operation) -> Complex:
    ops = operation.ops
    (a, b), (c, d) = zip(*(part.tensors() for part in _parts(operation)), strict=True)
    size = ops.add(ops.multiply(c, c), ops.multiply(d, d))
    return Complex(
        ops.divide(ops.add(ops.multiply(a, c), ops.multiply(b, d)), size),
        ops.divide(ops.subtract(ops.multiply(b, c), ops.multiply(a, d)), size),
    )


def magnitude(operation: Operation) -> Any:
    """sqrt(x^2 + y^2), scaled by the larger part so that squares neither over- nor underflow."""
    ops = operation.ops
    a, b = (ops.abs(part.tensor(0)) for part in _parts(operation))
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    zero = operation.importer.scalar_like(0.0, large)
    one = operation.importer.scalar_like(1.0, large)
    empty = ops.equal(large, zero)
    ratio = ops.divide(small, ops.where(empty, one, large))
    return ops.multiply(large, ops.sqrt(ops.add(one, ops.multiply(ratio, ratio))))


def exponential(operation: Operation) -> Complex:
    ops = operation.ops
    a, b = (part.tensor(0) for part in _parts(operation))
    size = ops.exp(a)
    return Complex(ops.multiply(size, ops.cos(b)), ops.multiply(size, ops.sin(b)))


def fourier_transform(operation: Operation) -> Any:
    """Over the last axes, as many as there are lengths; inverse ones divide by their product."""
    imp, kind = operation.importer, operation.attr("fft_type")
    lengths = operation.ints("fft_length")
    value = operation.operands[0]
    x = value if isinstance(value, Complex) else operation.tensor(0)
    axes = [-place for place in range(len(lengths), 0, -1)]
    if kind in ("FFT", "IFFT"):
        forward = kind == "FFT"
        return transform(imp, x, axes, forward, 1.0 if forward else 1 / math.prod(lengths))
    if kind == "RFFT":
        half = transformed(imp, x, -1, True, length_of(x, -1) // 2 + 1)
        return transform(imp, half, axes[:-1], True, 1.0)
    if not isinstance(x, Complex):
        operation.refuse("IRFFT takes complex numbers")
    inner = transform(imp, x, axes[:-1], False, 1.0)
    return scaled(imp, real_of_half(imp, inner, -1, lengths[-1]), 1 / math.prod(lengths))


_TABLES = {
    **ops_elementwise.CONVERTERS,
    **ops_shape.CONVERTERS,
    **ops_index.CONVERTERS,
    **ops_contraction.CONVERTERS,
}
_PARTWISE = (
    "add subtract negate reshape transpose broadcast_in_dim slice concatenate reverse "
    "dynamic_slice dynamic_update_slice gather select optimization_barrier"
).split()
_OF_COMPLEX: dict[str, Converter] = {
    **{f"stablehlo.{n}": _each(_TABLES[f"stablehlo.{n}"]) for n in _PARTWISE},
    "stablehlo.multiply": multiply,
    "stablehlo.divide": divide,
    "stablehlo.abs": magnitude,
    "stablehlo.exponential": exponential,
    "stablehlo.real": real,
    "stablehlo.imag": imaginary,
    "stablehlo.fft": fourier_transform,
    "chlo.conj": lambda operation: Complex(
        operation.operands[0].real, operation.ops.negative(_parts(operation)[1].tensor(0))
    ),
}
"""For operations that a complex value reaches."""

CONVERTERS: dict[str, Converter] = {
    "stablehlo.complex": make_complex,
    "stablehlo.real": real,
    "stablehlo.imag": imaginary,
    "stablehlo.fft": fourier_transform,
    **{f"complex {name}": converter for name, converter in _OF_COMPLEX.items()},
}
"""By operation; those for complex operands after "complex"."""
