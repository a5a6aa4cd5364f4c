"""Complex numbers and Fourier transforms of StableHLO programs, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.stablehlo import from_stablehlo
from tests.models.stablehlo_harness import program, run, tensor_type

RNG = np.random.default_rng(3)


def complex_type(shape: tuple[int, ...], part: str = "f32") -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}complex<{part}>>"


def complex_program(real: np.ndarray, body: str, shape: tuple[int, ...]) -> str:
    """`body` makes %y of that shape from %x = a + ib; the program returns its parts."""
    kind = tensor_type(real)
    part = "f64" if real.dtype == np.float64 else "f32"
    given, made = complex_type(real.shape, part), complex_type(shape, part)
    result = tensor_type(np.empty(shape, real.dtype))
    text = f"""
    %x = stablehlo.complex %a, %b : {given}
    {body.replace("$x", given).replace("$y", made)}
    %r0 = stablehlo.real %y : ({made}) -> {result}
    %r1 = stablehlo.imag %y : ({made}) -> {result}"""
    return program([real, real], text, [result, result])


def check(x: np.ndarray, body: str, expected: np.ndarray) -> None:
    real, imag = (np.ascontiguousarray(part) for part in (x.real, x.imag))
    results = run(complex_program(real, body, expected.shape), real, imag)
    limit = 1e-12 if real.dtype == np.float64 else 2e-5
    for result, wanted in zip(results, (expected.real, expected.imag), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=limit, atol=limit)


def drawn(*shape: int, dtype: Any = "complex64") -> np.ndarray:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize(
    ("kind", "shape", "lengths"),
    [
        ("FFT", (3, 8), (8,)),
        ("IFFT", (3, 7), (7,)),
        ("FFT", (2, 4, 5), (4, 5)),
        ("IFFT", (2, 3, 4, 5), (3, 4, 5)),
        ("FFT", (1,), (1,)),
    ],
)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_transforms_of_complex(kind: str, shape: Any, lengths: Any, dtype: str) -> None:
    x = drawn(*shape, dtype=dtype)
    axes = tuple(range(-len(lengths), 0))
    expected = (np.fft.fftn if kind == "FFT" else np.fft.ifftn)(x, axes=axes)
    text = f"%y = stablehlo.fft %x, type = {kind}, length = [{', '.join(map(str, lengths))}]"
    check(x, f"{text} : ($x) -> $y", expected)


@pytest.mark.parametrize(
    ("shape", "lengths"), [((3, 8), (8,)), ((7,), (7,)), ((2, 4, 6), (4, 6)), ((2, 3, 5), (3, 5))]
)
def test_transforms_of_real(shape: Any, lengths: Any) -> None:
    """RFFT, and IRFFT back."""
    x = RNG.standard_normal(shape).astype("float32")
    half = np.fft.rfftn(x, axes=tuple(range(-len(lengths), 0)))
    numbers = ", ".join(map(str, lengths))
    parts = tensor_type(half.real.astype("float32"))
    kind = complex_type(half.shape)
    body = f"""
    %y = stablehlo.fft %a, type = RFFT, length = [{numbers}] : ($a) -> {kind}
    %r0 = stablehlo.real %y : ({kind}) -> {parts}
    %r1 = stablehlo.imag %y : ({kind}) -> {parts}
    %r2 = stablehlo.fft %y, type = IRFFT, length = [{numbers}] : ({kind}) -> $a"""
    results = run(program([x], body, [parts, parts, tensor_type(x)]), x)
    for result, wanted in zip(results, (half.real, half.imag, x), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


X = drawn(4, 6)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%y = stablehlo.add %x, %x : $x", 2 * X),
        ("%y = stablehlo.subtract %x, %x : $x", 0 * X),
        ("%y = stablehlo.negate %x : $x", -X),
        ("%y = stablehlo.multiply %x, %x : $x", X * X),
        ("%y = stablehlo.divide %x, %x : $x", X / X),
        ("%y = stablehlo.exponential %x : $x", np.exp(X)),
        ("%y = stablehlo.transpose %x, dims = [1, 0] : ($x) -> $y", X.T),
        ("%y = stablehlo.reshape %x : ($x) -> $y", X.reshape(2, 12)),
        ("%y = stablehlo.reverse %x, dims = [1] : $x", X[:, ::-1]),
        ("%y = stablehlo.slice %x [1:3, 0:6:2] : ($x) -> $y", X[1:3, ::2]),
        (
            "%y = stablehlo.broadcast_in_dim %x, dims = [1, 2] : ($x) -> $y",
            np.broadcast_to(X, (3, 4, 6)),
        ),
        (
            "%y = stablehlo.concatenate %x, %x, dim = 0 : ($x, $x) -> $y",
            np.concatenate([X, X]),
        ),
    ],
)
def test_arithmetic(body: str, expected: np.ndarray) -> None:
    check(X, body, expected)


def test_magnitudes_of_large_and_small_numbers() -> None:
    a = np.array([3e30, 3e-30, 0, 3, np.inf], "float32")
    b = np.array([4e30, 4e-30, 0, -4, 1], "float32")
    kind = complex_type(a.shape)
    body = f"""
    %x = stablehlo.complex %a, %b : {kind}
    %r0 = stablehlo.abs %x : ({kind}) -> $a"""
    (result,) = run(program([a, b], body, [tensor_type(a)]), a, b)
    np.testing.assert_allclose(result, np.abs(a + 1j * b), rtol=1e-6)


def test_refused() -> None:
    a = np.ones(3, "float32")
    kind = complex_type((3,))
    head = f"%x = stablehlo.complex %a, %b : {kind}\n"
    text = program([a, a], f"{head}%r0 = stablehlo.cosine %x : {kind}", [kind])
    with pytest.raises(Error, match=r"cosine.*no converter for complex numbers"):
        from_stablehlo(text)


def beside(x: np.ndarray) -> np.ndarray:
    """The parts of complex numbers along one more axis."""
    return np.stack([np.real(x), np.imag(x)], axis=-1)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_parameters_and_results_are_their_parts(dtype: str) -> None:
    part = "f32" if dtype == "complex64" else "f64"
    x, y = drawn(3, 4, dtype=dtype), drawn(3, 4, dtype=dtype)
    kind = complex_type((3, 4), part)
    text = f"""
    func.func @main(%a: {kind}, %b: {kind}) -> ({kind}, tensor<3x4x{part}>) {{
      %0 = stablehlo.multiply %a, %b : {kind}
      %1 = stablehlo.imag %a : ({kind}) -> tensor<3x4x{part}>
      return %0, %1 : {kind}, tensor<3x4x{part}>
    }}"""
    result, imaginary = run(text, beside(x), beside(y))
    np.testing.assert_allclose(result, beside(x * y), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(imaginary, np.imag(x))
    named = run(text, beside(x), beside(y), input_info=[((3, 4), dtype)] * 2)
    np.testing.assert_array_equal(named[0], result)
    with pytest.raises(Error, match="input_info gives parameter 0 float32"):
        from_stablehlo(text, [((3, 4), "float32")] * 2)


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ("(1.5, -2.0)", np.full(3, 1.5 - 2j)),
        ("[(0.0, 1.0), (-3.0, 0x7F800000), (2.0e-3, 4.0)]", [1j, complex(-3, np.inf), 2e-3 + 4j]),
        ('"0x0000803F00000040000080400000A04000000000000000C0"', [1 + 2j, 4 + 5j, -2j]),
    ],
)
def test_complex_constants(elements: str, expected: np.ndarray) -> None:
    kind = complex_type((3,))
    text = f"""
    func.func @main() -> {kind} {{
      %0 = stablehlo.constant dense<{elements}> : {kind}
      return %0 : {kind}
    }}"""
    (result,) = run(text)
    wanted = np.array([[z.real, z.imag] for z in expected], "float32")
    np.testing.assert_array_equal(result, wanted)
