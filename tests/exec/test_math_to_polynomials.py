"""Elementary functions after math-to-polynomials: errors in units in the last place, specials."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.lowering.to_llvm.pieces import TANH_END, TANH_SCALE
from relax_mlir.testing.kernels import KernelText, compile_kernel, memref

SPECIALS = np.array(
    [
        0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        -1,
        1.4e-45,
        -1.4e-45,
        1e-40,
        1.17549435e-38,
        3.4e38,
        88.7228,
        88.7229,
        -87.34,
        -103.9,
        -103.98,
        0.5,
        2,
        3,
        -2,
        -3,
        -0.5,
        71000,
        1e22,
        1e10,
        4194304.5,
        127.99,
        128,
        -149,
        -151,
    ],
    np.float32,
)
COUNT = 1 << 16
_erf = np.vectorize(math.erf, otypes=[float])

# Reference in float64, and the largest error in units in the last place of f32.
FUNCTIONS = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.1),
    "expm1": (np.expm1, 2.0),
    "tanh": (np.tanh, 1.6),
    "erf": (_erf, 1.9),
    "log": (np.log, 1.0),
    "log2": (np.log2, 2.0),
    "log1p": (np.log1p, 3.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.6),
    "sin": (np.sin, 1.8),
    "cos": (np.cos, 1.8),
}


def text(name: str, count: int, dtype: str = "f32", operands: int = 1) -> KernelText:
    t = memref([count], dtype)
    kernel = KernelText({"x": t, "y": t, "r": t})
    inputs = [("x", "d0"), ("y", "d0")][:operands]
    arguments = ", ".join(f"%x{i}" for i in range(operands))
    kernel.generic(
        [*inputs, ("r", "d0")], 1, "p", [f"%v = math.{name} {arguments} : {dtype}"], f"%v : {dtype}"
    )
    return kernel


def inputs(seed: int) -> np.ndarray:
    """Every kind of bit pattern, and ordinary numbers."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, COUNT // 2, dtype=np.uint32).view(np.float32)
    ordinary = rng.uniform(-20, 20, COUNT - len(bits)).astype(np.float32)
    x = np.concatenate([bits, ordinary])
    x[: len(SPECIALS)] = SPECIALS
    return x


def ulp_error(got: np.ndarray, reference: np.ndarray) -> float:
    """Largest error in units in the last place; infinity where NaN, infinities or signs of zero
    differ."""
    rounded = reference.astype(np.float32)
    same_nan = np.isnan(got) == np.isnan(reference)
    infinite = (np.isinf(got) | np.isinf(rounded)) & ~np.isnan(reference)
    zero = (rounded == 0) & (got == 0)
    wrong = ~same_nan | (infinite & (got != rounded))
    wrong |= zero & (np.signbit(got) != np.signbit(rounded))
    if wrong.any():
        return math.inf
    finite = np.isfinite(rounded) & np.isfinite(got)
    _, exponent = np.frexp(np.abs(reference[finite]))
    unit = np.ldexp(1.0, np.maximum(exponent - 24, -149))
    return float((np.abs(got[finite].astype(float) - reference[finite]) / unit).max())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_unary(name: str) -> None:
    reference, limit = FUNCTIONS[name]
    x, got = inputs(3), np.zeros(COUNT, np.float32)
    compile_kernel(text(name, COUNT))(x, x, got)
    error = ulp_error(got, reference(x.astype(np.float64)))
    assert error <= limit, error


@pytest.mark.parametrize("width", [128, 256, 512])
def test_erf_where_its_pieces_meet(width: int) -> None:
    """Registers of sixteen look pieces up; on both sides of where two meet the error is small."""
    middles = np.linspace(-4.25, 4.25, 69, dtype=np.float32)  # every eighth
    steps = np.arange(-500, 500, dtype=np.float32) * np.float32(1.3e-4)
    x = (middles[:, None] + steps).ravel()
    got = np.zeros_like(x)
    compile_kernel(text("erf", len(x)), vector_width=width)(x, x, got)
    assert ulp_error(got, _erf(x.astype(float))) <= 2
    assert (np.abs(got) <= 1).all()
    assert (np.abs(got[np.abs(x) > 3.92]) == 1).all()


@pytest.mark.parametrize("width", [128, 256, 512])
def test_tanh_where_its_pieces_meet(width: int) -> None:
    """Four pieces to an octave; the last one ends where tanh is 1."""
    starts = np.concatenate([2.0**octave * np.linspace(1, 2, 5) for octave in range(4)])
    meet = np.append((starts - 1) / TANH_SCALE, TANH_END)
    x = (meet[:, None] + np.linspace(-0.07, 0.07, 2001)).astype(np.float32).ravel()
    x = np.concatenate([x, -x])
    got = np.zeros_like(x)
    compile_kernel(text("tanh", len(x)), vector_width=width)(x, x, got)
    by_pieces = width == host_cpu().vector_bits == 512
    assert ulp_error(got, np.tanh(x.astype(float))) <= (1.1 if by_pieces else 1.6)
    assert (np.abs(got) <= 1).all()
    assert (np.abs(got[np.abs(x) > TANH_END]) == 1).all()


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "cos"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_types_round_what_f32_gives(name: str, dtype: str) -> None:
    """Their vectors are several registers of f32 long; the last ones are masked."""
    numpy_type = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    x = np.random.default_rng(2).uniform(-9, 9, 1003).astype(numpy_type)
    got, wide = np.zeros_like(x), np.zeros(len(x), np.float32)
    compile_kernel(text(name, len(x), dtype))(x, x, got)
    compile_kernel(text(name, len(x)))(x.astype(np.float32), wide, wide)
    np.testing.assert_array_equal(
        got.astype(np.float32), wide.astype(numpy_type).astype(np.float32)
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_power() -> None:
    rng = np.random.default_rng(5)
    x = np.exp(rng.uniform(-80, 80, COUNT)).astype(np.float32)
    scale = np.maximum(np.abs(np.log(x.astype(float))), 1e-6)
    y = (rng.uniform(-1, 1, COUNT) * 100 / scale).astype(np.float32)
    grid = np.array(np.meshgrid(SPECIALS, SPECIALS), np.float32).reshape(2, -1)
    x[: grid.shape[1]], y[: grid.shape[1]] = grid
    got = np.zeros(COUNT, np.float32)
    compile_kernel(text("powf", COUNT, operands=2))(x, y, got)
    assert ulp_error(got, np.power(x.astype(float), y.astype(float))) <= 0.51


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
def test_integer_power(dtype: str) -> None:
    numpy_type = {"i8": np.int8, "i32": np.int32, "i64": np.int64}[dtype]
    x, y = (v.reshape(-1).astype(numpy_type) for v in np.mgrid[-9:10, 0:30])
    got = np.zeros(len(x), numpy_type)
    compile_kernel(text("ipowi", len(x), dtype, operands=2))(x, y, got)
    np.testing.assert_array_equal(got, np.power(x, y))


def test_integer_power_of_negative_exponents() -> None:
    x, y = (v.reshape(-1).astype(np.int32) for v in np.mgrid[-3:4, -5:0])
    got = np.zeros(len(x), np.int32)
    compile_kernel(text("ipowi", len(x), "i32", operands=2))(x, y, got)
    sign = np.where(y % 2 == 0, 1, -1)
    np.testing.assert_array_equal(got, np.where(x == 1, 1, np.where(x == -1, sign, 0)))


@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "log", "sin"])
@pytest.mark.parametrize("dtype", ["f16", "f64"])
def test_other_types(name: str, dtype: str) -> None:
    numpy_type = {"f16": np.float16, "f64": np.float64}[dtype]
    x = np.random.default_rng(1).uniform(0.1, 5, 100).astype(numpy_type)
    got = np.zeros(100, numpy_type)
    compile_kernel(text(name, 100, dtype))(x, x, got)
    expected = FUNCTIONS[name][0](x.astype(np.float64))
    np.testing.assert_allclose(
        got.astype(float),
        expected,
        rtol={"f16": 1e-3, "f64": 1e-14}[dtype],
        atol={"f16": 1e-3, "f64": 1e-15}[dtype],
    )
