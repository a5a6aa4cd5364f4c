"""Kernels divided among threads by OpenMP."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relax_mlir.testing.kernels import KernelText, compile_kernel, memref


def product(batch: int, m: int, n: int, k: int) -> KernelText:
    kernel = KernelText(
        {
            "a": memref([batch, m, k]),
            "b": memref([batch, k, n]),
            "bias": memref([n]),
            "c": memref([batch, m, n]),
        }
    )
    kernel.alloc("t", memref([batch, m, n]))
    kernel.fill("t", "0.0")
    kernel.generic(
        [("a", "d0, d1, d3"), ("b", "d0, d3, d2"), ("t", "d0, d1, d2")],
        1,
        "pppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %x2, %p : f32"],
        "%s : f32",
    )
    kernel.generic(
        [("t", "d0, d1, d2"), ("bias", "d2"), ("c", "d0, d1, d2")],
        1,
        "ppp",
        ["%s = arith.addf %x0, %x1 : f32"],
        "%s : f32",
    )
    return kernel


@pytest.mark.parametrize(
    "shape", [(1, 128, 256, 100), (1, 200, 40, 300), (3, 64, 90, 200), (1, 150, 700, 900)], ids=str
)
@pytest.mark.parametrize("num_cores", [2, 3])
def test_products(shape: tuple[int, int, int, int], num_cores: int) -> None:
    batch, m, n, k = shape
    rng = np.random.default_rng(0)
    a, b, bias = (
        rng.standard_normal(s).astype(np.float32) for s in ((batch, m, k), (batch, k, n), (n,))
    )
    c = np.zeros((batch, m, n), np.float32)
    kernel = compile_kernel(product(*shape), num_cores=num_cores)
    assert "scf.parallel" in kernel.vector_text
    kernel(a, b, bias, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b + bias, rtol=1e-3, atol=1e-3)


def transpose(kernel: KernelText) -> None:
    kernel.generic([("a", "d1, d0"), ("c", "d0, d1")], 1, "pp", [], "%x0 : f32")


def exponential(kernel: KernelText) -> None:
    kernel.generic(
        [("a", "d0, d1"), ("c", "d0, d1")], 1, "pp", ["%r = math.exp %x0 : f32"], "%r : f32"
    )


@pytest.mark.parametrize(
    ("write", "expected", "shape"),
    [(exponential, np.exp, (999, 1003)), (transpose, np.transpose, (1500, 1410))],
)
def test_nests(
    write: Callable[[KernelText], None],
    expected: Callable[[np.ndarray], np.ndarray],
    shape: tuple[int, int],
) -> None:
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    wanted = expected(a)
    c = np.zeros(wanted.shape, np.float32)
    kernel = KernelText({"a": memref(a.shape), "c": memref(c.shape)})
    write(kernel)
    compiled = compile_kernel(kernel, num_cores=2)
    assert "scf.parallel" in compiled.vector_text
    compiled(a, c)
    np.testing.assert_allclose(c, wanted, rtol=1e-5)


def test_small_work_stays_on_one_core() -> None:
    assert "scf.parallel" not in compile_kernel(product(1, 16, 16, 16), num_cores=2).vector_text


def test_a_weight_that_is_read_once_is_shared_out() -> None:
    """The product of a vector and a matrix: few operations, but much to read."""
    shape = (1, 1, 1000, 512)
    kernel = compile_kernel(product(*shape), num_cores=2)
    assert "scf.parallel" in kernel.vector_text
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((1, 1, 512), (1, 512, 1000)))
    c = np.zeros((1, 1, 1000), np.float32)
    kernel(a, b, np.ones(1000, np.float32), c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b + 1, rtol=1e-3, atol=1e-3)


def add(kernel: KernelText) -> None:
    kernel.generic(
        [("a", "d0, d1"), ("c", "d0, d1")], 1, "pp", ["%r = arith.addf %x0, %x0 : f32"], "%r : f32"
    )


@pytest.mark.parametrize(("rows", "divided"), [(100, False), (400, True)])
def test_cheap_nests_are_divided_for_what_they_move(rows: int, divided: bool) -> None:
    shape = (rows, 257)
    kernel = KernelText({"a": memref(shape), "c": memref(shape)})
    add(kernel)
    compiled = compile_kernel(kernel, num_cores=2)
    assert ("scf.parallel" in compiled.vector_text) == divided
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    c = np.zeros(shape, np.float32)
    compiled(a, c)
    np.testing.assert_array_equal(c, 2 * a)


@pytest.mark.parametrize("num_cores", [2, 3])
def test_products_of_sizes_known_at_run_time(num_cores: int) -> None:
    kernel = KernelText(
        {"a": memref([None, None]), "b": memref([None, None]), "c": memref([None, None])}
    )
    kernel.fill("c", "0.0")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("c", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %x2, %p : f32"],
        "%s : f32",
    )
    compiled = compile_kernel(kernel, num_cores=num_cores)
    assert "scf.parallel" in compiled.vector_text
    rng = np.random.default_rng(2)
    for m, n, k in [(5, 7, 3), (0, 4, 2), (130, 257, 100), (200, 130, 90), (1, 900, 1300)]:
        a, b = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
        c = np.full((m, n), np.nan, np.float32)
        compiled(a, b, c)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("write", "expected"), [(exponential, np.exp), (transpose, np.transpose)])
def test_nests_of_sizes_known_at_run_time(
    write: Callable[[KernelText], None], expected: Callable[[np.ndarray], np.ndarray]
) -> None:
    kernel = KernelText({"a": memref([None, None]), "c": memref([None, None])})
    write(kernel)
    compiled = compile_kernel(kernel, num_cores=3)
    assert "scf.parallel" in compiled.vector_text
    rng = np.random.default_rng(0)
    for shape in [(0, 3), (1, 1), (17, 9), (1, 70001), (301, 300), (700, 129)]:
        a = rng.standard_normal(shape).astype(np.float32)
        c = np.full(expected(a).shape, np.nan, np.float32)
        compiled(a, c)
        np.testing.assert_allclose(c, expected(a), rtol=1e-5)
