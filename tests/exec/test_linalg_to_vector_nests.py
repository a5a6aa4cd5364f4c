"""Elementwise operations, reductions and data movement through linalg-to-vector, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from relax_mlir.errors import PassError
from relax_mlir.testing.kernels import KernelText, compile_kernel, memref

_NUMPY = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}
LENGTHS = (0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 257)


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "f32") -> np.ndarray:
    if dtype[0] == "i":
        return rng.integers(-9, 9, shape).astype(_NUMPY[dtype])
    return rng.standard_normal(shape).astype(_NUMPY[dtype])


def add_text(shape: tuple[int | None, ...], dtype: str) -> KernelText:
    t = memref(shape, dtype)
    kernel = KernelText({"a": t, "b": t, "c": t})
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    op = "arith.addi" if dtype[0] == "i" else "arith.addf"
    kernel.generic(
        [("a", dims), ("b", dims), ("c", dims)],
        1,
        "p" * len(shape),
        [f"%r = {op} %x0, %x1 : {dtype}"],
        f"%r : {dtype}",
    )
    return kernel


@pytest.mark.parametrize("dtype", list(_NUMPY))
@pytest.mark.parametrize("dynamic", [False, True])
def test_add_of_every_type_and_length(dtype: str, dynamic: bool) -> None:
    rng = np.random.default_rng(0)
    compiled = compile_kernel(add_text((None,), dtype)) if dynamic else None
    for length in LENGTHS if dynamic else (1, 7, 16, 33, 100):
        kernel = compiled or compile_kernel(add_text((length,), dtype))
        a, b, c = (draw(rng, (length,), dtype) for _ in range(3))
        kernel(a, b, c)
        np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (1, 5), (2, 3, 4), (5, 1, 7, 2)], ids=str)
def test_add_of_every_rank(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (draw(rng, shape) for _ in range(3))
    compile_kernel(add_text(shape, "f32"))(a, b, c)
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("width", [128, 256, 512])
def test_vector_width_is_the_one_asked_for(width: int) -> None:
    kernel = compile_kernel(add_text((100,), "f32"), vector_width=width)
    assert f"vector<{width // 32}xf32>" in kernel.vector_text
    assert f"vector<{width // 16}xf32>" not in kernel.vector_text


@pytest.mark.parametrize("width", [-128, 64, 100, 4096])
def test_vector_width_must_be_a_register(width: int) -> None:
    with pytest.raises(PassError, match=f"vector-width is {width}, expected"):
        compile_kernel(add_text((10,), "f32"), vector_width=width)


@pytest.mark.parametrize("broadcast", ["d1", "d0", "", "0, d1", "d0, 0"])
def test_broadcast_operand(broadcast: str) -> None:
    shapes = {"d1": (19,), "d0": (6,), "": (), "0, d1": (1, 19), "d0, 0": (6, 1)}
    shape = shapes[broadcast]
    kernel = KernelText({"a": memref([6, 19]), "b": memref(shape), "c": memref([6, 19])})
    kernel.generic(
        [("a", "d0, d1"), ("b", broadcast), ("c", "d0, d1")],
        1,
        "pp",
        ["%r = arith.mulf %x0, %x1 : f32"],
        "%r : f32",
    )
    rng = np.random.default_rng(0)
    a, b, c = draw(rng, (6, 19)), draw(rng, shape), draw(rng, (6, 19))
    compile_kernel(kernel)(a, b, c)
    np.testing.assert_array_equal(c, a * (b[:, None] if broadcast == "d0" else b))


REDUCTIONS: dict[str, tuple[str, str, Callable[..., np.ndarray]]] = {
    "sum": ("arith.addf", "0.0", np.sum),
    "prod": ("arith.mulf", "1.0", np.prod),
    "max": ("arith.maximumf", "0xFF800000", np.max),
    "min": ("arith.minimumf", "0x7F800000", np.min),
}


def reduce_text(
    name: str, shape: tuple[int | None, ...], axes: tuple[int, ...], dtype: str = "f32"
) -> KernelText:
    op, initial, _ = REDUCTIONS[name]
    kept = [i for i in range(len(shape)) if i not in axes]
    kernel = KernelText({"a": memref(shape, dtype), "c": memref([shape[i] for i in kept], dtype)})
    kernel.fill("c", initial, dtype)
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    kernel.generic(
        [("a", dims), ("c", ", ".join(f"d{i}" for i in kept))],
        1,
        "".join("r" if i in axes else "p" for i in range(len(shape))),
        [f"%r = {op} %x1, %x0 : {dtype}"],
        f"%r : {dtype}",
    )
    return kernel


@pytest.mark.parametrize("name", list(REDUCTIONS))
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1)], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 100), (70, 33), (2, 1000)], ids=str)
def test_reduction(name: str, axes: tuple[int, ...], shape: tuple[int, int]) -> None:
    a = draw(np.random.default_rng(1), shape)
    if name == "prod":
        a = (1 + a / 50).astype(np.float32)
    expected = REDUCTIONS[name][2](a.astype(np.float64), axis=axes)
    c = np.zeros(expected.shape, np.float32)
    compile_kernel(reduce_text(name, shape, axes))(a, c)
    np.testing.assert_allclose(c, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1)], ids=str)
def test_reduction_of_run_time_sizes(axes: tuple[int, ...]) -> None:
    kernel = compile_kernel(reduce_text("sum", (None, None), axes))
    rng = np.random.default_rng(1)
    for rows in (0, 1, 5, 40):
        for columns in (0, 1, 15, 16, 70, 500):
            a = draw(rng, (rows, columns))
            expected = a.astype(np.float64).sum(axis=axes)
            c = np.full(expected.shape, np.nan, np.float32)
            kernel(a, c)
            np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axes", [(0, 2), (1,), (1, 2)], ids=str)
def test_reduction_of_rank_three(axes: tuple[int, ...]) -> None:
    a = draw(np.random.default_rng(1), (4, 9, 21))
    expected = a.astype(np.float64).sum(axis=axes)
    c = np.zeros(expected.shape, np.float32)
    compile_kernel(reduce_text("sum", a.shape, axes))(a, c)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_floats_are_summed_in_f32(dtype: str) -> None:
    a = draw(np.random.default_rng(1), (3, 1000), dtype)
    c = np.zeros(3, _NUMPY[dtype])
    compile_kernel(reduce_text("sum", a.shape, (1,), dtype))(a, c)
    expected = a.astype(np.float64).sum(1).astype(_NUMPY[dtype])
    np.testing.assert_allclose(c.astype(float), expected.astype(float), rtol=1e-2)


def test_max_keeps_nan() -> None:
    a = draw(np.random.default_rng(1), (4, 50))
    a[1, 20] = np.nan
    c = np.zeros(4, np.float32)
    compile_kernel(reduce_text("max", a.shape, (1,)))(a, c)
    np.testing.assert_array_equal(c, a.max(1))


def test_reduction_without_fill_continues_from_the_output() -> None:
    kernel = KernelText({"a": memref([4, 50]), "c": memref([4])})
    kernel.generic(
        [("a", "d0, d1"), ("c", "d0")], 1, "pr", ["%r = arith.addf %x1, %x0 : f32"], "%r : f32"
    )
    rng = np.random.default_rng(1)
    a, c = draw(rng, (4, 50)), draw(rng, (4,))
    expected = c + a.astype(np.float64).sum(1)
    compile_kernel(kernel)(a, c)
    np.testing.assert_allclose(c, expected, rtol=1e-5)


def test_two_results_of_one_reduction() -> None:
    kernel = KernelText({"a": memref([6, 70]), "s": memref([6]), "m": memref([6])})
    kernel.fill("s", "0.0")
    kernel.fill("m", "0xFF800000")
    kernel.generic(
        [("a", "d0, d1"), ("s", "d0"), ("m", "d0")],
        2,
        "pr",
        ["%r = arith.addf %x1, %x0 : f32", "%q = arith.maximumf %x2, %x0 : f32"],
        "%r, %q : f32, f32",
    )
    a = draw(np.random.default_rng(1), (6, 70))
    s, m = np.zeros(6, np.float32), np.zeros(6, np.float32)
    compile_kernel(kernel)(a, s, m)
    np.testing.assert_allclose(s, a.astype(np.float64).sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(m, a.max(1))


@pytest.mark.parametrize("axis", [0, 1])
def test_argmax_carries_an_index(axis: int) -> None:
    rows, columns = 9, 37
    kept = (columns, rows)[axis]
    dim = f"d{1 - axis}"
    kernel = KernelText(
        {"a": memref([rows, columns]), "i": memref([kept], "i64"), "v": memref([kept])}
    )
    kernel.fill("i", "0", "i64")
    kernel.fill("v", "0xFF800000")
    kernel.generic(
        [("a", "d0, d1"), ("i", dim), ("v", dim)],
        2,
        "rp" if axis == 0 else "pr",
        [
            f"%d = linalg.index {axis} : index",
            "%n = arith.index_cast %d : index to i64",
            "%g = arith.cmpf ogt, %x0, %x2 : f32",
            "%r = arith.select %g, %n, %x1 : i64",
            "%q = arith.select %g, %x0, %x2 : f32",
        ],
        "%r, %q : i64, f32",
    )
    a = draw(np.random.default_rng(1), (rows, columns))
    i, v = np.zeros(kept, np.int64), np.zeros(kept, np.float32)
    compile_kernel(kernel)(a, i, v)
    np.testing.assert_array_equal(i, a.argmax(axis))
    np.testing.assert_array_equal(v, a.max(axis))


def test_index_of_every_dimension() -> None:
    kernel = KernelText({"c": memref([5, 1, 23], "i32")})
    kernel.generic(
        [("c", "d0, d1, d2")],
        1,
        "ppp",
        [
            "%a = linalg.index 0 : index",
            "%b = linalg.index 1 : index",
            "%d = linalg.index 2 : index",
            "%h = arith.constant 100 : index",
            "%m = arith.muli %a, %h : index",
            "%s = arith.addi %m, %d : index",
            "%t = arith.addi %s, %b : index",
            "%r = arith.index_cast %t : index to i32",
        ],
        "%r : i32",
    )
    c = np.zeros((5, 1, 23), np.int32)
    compile_kernel(kernel)(c)
    np.testing.assert_array_equal(c[:, 0], np.arange(5)[:, None] * 100 + np.arange(23))


@pytest.mark.parametrize("dtype", ["f32", "f64", "i8", "i32", "f16"])
@pytest.mark.parametrize("shape", [(1, 5), (16, 16), (33, 65), (20, 3), (100, 47)], ids=str)
def test_transpose(shape: tuple[int, int], dtype: str) -> None:
    kernel = KernelText({"a": memref(shape, dtype), "c": memref(shape[::-1], dtype)})
    kernel.generic([("a", "d1, d0"), ("c", "d0, d1")], 1, "pp", [], f"%x0 : {dtype}")
    a = draw(np.random.default_rng(1), shape, dtype)
    c = np.zeros(shape[::-1], _NUMPY[dtype])
    compile_kernel(kernel)(a, c)
    np.testing.assert_array_equal(c, a.T)


def test_transpose_of_run_time_sizes() -> None:
    kernel = KernelText({"a": memref([None, None]), "c": memref([None, None])})
    kernel.generic([("a", "d1, d0"), ("c", "d0, d1")], 1, "pp", [], "%x0 : f32")
    compiled = compile_kernel(kernel)
    rng = np.random.default_rng(1)
    for shape in ((0, 3), (1, 1), (16, 48), (17, 50), (70, 9)):
        a = draw(rng, shape)
        c = np.zeros(shape[::-1], np.float32)
        compiled(a, c)
        np.testing.assert_array_equal(c, a.T)


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 0, 1), (2, 1, 0), (1, 0, 2)], ids=str)
def test_permutation_of_rank_three(order: tuple[int, ...]) -> None:
    shape = (5, 18, 33)
    kernel = KernelText({"a": memref(shape), "c": memref([shape[i] for i in order])})
    source = ", ".join(f"d{order.index(i)}" for i in range(3))
    kernel.generic([("a", source), ("c", "d0, d1, d2")], 1, "ppp", [], "%x0 : f32")
    a = draw(np.random.default_rng(1), shape)
    c = np.zeros([shape[i] for i in order], np.float32)
    compile_kernel(kernel)(a, c)
    np.testing.assert_array_equal(c, a.transpose(order))


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16", "i8"])
@pytest.mark.parametrize("planes", [2, 3, 4, 5])
def test_interleaved_planes(planes: int, dtype: str) -> None:
    """Rows before, in and behind whole vectors; of five planes by square tiles."""
    for rows in (1, 5, 16, 35, 64):
        kernel = KernelText(
            {"a": memref([2, planes, rows], dtype), "c": memref([2, rows, planes], dtype)}
        )
        kernel.generic([("a", "d0, d2, d1"), ("c", "d0, d1, d2")], 1, "ppp", [], f"%x0 : {dtype}")
        a = draw(np.random.default_rng(rows), (2, planes, rows), dtype)
        c = np.zeros((2, rows, planes), _NUMPY[dtype])
        compile_kernel(kernel)(a, c)
        np.testing.assert_array_equal(c, a.transpose(0, 2, 1))


@pytest.mark.parametrize("planes", [2, 3])
def test_interleaved_planes_of_run_time_length(planes: int) -> None:
    kernel = KernelText({"a": memref([planes, None]), "c": memref([None, planes])})
    kernel.generic([("a", "d1, d0"), ("c", "d0, d1")], 1, "pp", [], "%x0 : f32")
    compiled = compile_kernel(kernel)
    assert "vector.shuffle" in compiled.vector_text
    rng = np.random.default_rng(1)
    for rows in (0, 1, 7, 8, 16, 31, 70):
        a = draw(rng, (planes, rows))
        # What lies behind the result stays as it is.
        memory = np.full(rows * planes + 40, 7, np.float32)
        c = memory[: rows * planes].reshape(rows, planes)
        compiled(a, c)
        np.testing.assert_array_equal(c, a.T)
        assert (memory[rows * planes :] == 7).all()


def test_sum_of_interleaved_planes() -> None:
    """A row that all planes share, and one element a plane."""
    types = {"a": memref([3, 37]), "row": memref([37]), "each": memref([3])}
    kernel = KernelText({**types, "c": memref([37, 3])})
    kernel.generic(
        [("a", "d1, d0"), ("row", "d0"), ("each", "d1"), ("c", "d0, d1")],
        1,
        "pp",
        ["%s = arith.addf %x0, %x1 : f32", "%r = arith.mulf %s, %x2 : f32"],
        "%r : f32",
    )
    rng = np.random.default_rng(1)
    a, row, each = draw(rng, (3, 37)), draw(rng, (37,)), draw(rng, (3,))
    c = np.zeros((37, 3), np.float32)
    compiled = compile_kernel(kernel)
    assert "vector.shuffle" in compiled.vector_text
    compiled(a, row, each, c)
    np.testing.assert_array_equal(c, (a.T + row[:, None]) * each)


def test_shuffle_of_groups() -> None:
    """Channels in two groups taken in turn, by quotients."""
    kernel = KernelText({"a": memref([6, 40]), "c": memref([6, 40])})
    kernel.generic(
        [("a", "d0, (d1 mod 2) * 20 + d1 floordiv 2"), ("c", "d0, d1")], 1, "pp", [], "%x0 : f32"
    )
    a = draw(np.random.default_rng(1), (6, 40))
    c = np.zeros((6, 40), np.float32)
    compiled = compile_kernel(kernel)
    assert "vector.shuffle" in compiled.vector_text
    compiled(a, c)
    np.testing.assert_array_equal(c, a.reshape(6, 2, 20).transpose(0, 2, 1).reshape(6, 40))


def test_sum_with_a_transposed_operand() -> None:
    kernel = KernelText({"a": memref([33, 40]), "b": memref([40, 33]), "c": memref([33, 40])})
    kernel.generic(
        [("a", "d0, d1"), ("b", "d1, d0"), ("c", "d0, d1")],
        1,
        "pp",
        ["%r = arith.addf %x0, %x1 : f32"],
        "%r : f32",
    )
    rng = np.random.default_rng(1)
    a, b, c = draw(rng, (33, 40)), draw(rng, (40, 33)), draw(rng, (33, 40))
    compiled = compile_kernel(kernel)
    assert "vector.shuffle" in compiled.vector_text
    compiled(a, b, c)
    np.testing.assert_array_equal(c, a + b.T)


def test_reshape_copies_as_a_line() -> None:
    kernel = KernelText({"a": memref([6, 20]), "c": memref([120])})
    kernel.generic([("a", "d0 floordiv 20, d0 mod 20"), ("c", "d0")], 1, "p", [], "%x0 : f32")
    a = draw(np.random.default_rng(1), (6, 20))
    c = np.zeros(120, np.float32)
    compiled = compile_kernel(kernel)
    assert "vector.load" in compiled.vector_text
    compiled(a, c)
    np.testing.assert_array_equal(c, a.reshape(-1))


def test_concatenation_keeps_both_parts() -> None:
    kernel = KernelText({"a": memref([3, 10]), "b": memref([3, 7]), "c": memref([3, 18])})
    kernel.fill("c", "0.5")
    kernel.generic([("a", "d0, d1"), ("c", "d0, d1 + 1")], 1, "pp", [], "%x0 : f32")
    kernel.generic([("b", "d0, d1"), ("c", "d0, d1 + 11")], 1, "pp", [], "%x0 : f32")
    rng = np.random.default_rng(1)
    a, b, c = draw(rng, (3, 10)), draw(rng, (3, 7)), np.zeros((3, 18), np.float32)
    compile_kernel(kernel)(a, b, c)
    border = np.full((3, 1), 0.5, np.float32)
    np.testing.assert_array_equal(c, np.concatenate([border, a, b], 1))


def test_padding_keeps_the_fill() -> None:
    kernel = KernelText({"a": memref([3, 10]), "c": memref([5, 14])})
    kernel.fill("c", "7.0")
    kernel.generic([("a", "d0, d1"), ("c", "d0 + 1, d1 + 2")], 1, "pp", [], "%x0 : f32")
    a, c = draw(np.random.default_rng(1), (3, 10)), np.zeros((5, 14), np.float32)
    compile_kernel(kernel)(a, c)
    np.testing.assert_array_equal(c, np.pad(a, ((1, 1), (2, 2)), constant_values=7))


def test_strided_window_sum_falls_back_to_loops() -> None:
    kernel = KernelText({"a": memref([3, 20]), "w": memref([2]), "c": memref([3, 10])})
    kernel.fill("c", "0.0")
    kernel.generic(
        [("a", "d0, d1 * 2 + d2"), ("w", "d2"), ("c", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%r = arith.addf %p, %x2 : f32"],
        "%r : f32",
    )
    rng = np.random.default_rng(1)
    a, w, c = draw(rng, (3, 20)), draw(rng, (2,)), np.zeros((3, 10), np.float32)
    compile_kernel(kernel)(a, w, c)
    np.testing.assert_allclose(c, a[:, ::2] * w[0] + a[:, 1::2] * w[1], rtol=1e-5, atol=1e-6)


def softmax_text(rows: int | None, columns: int | None) -> KernelText:
    t, r = memref([rows, columns]), memref([rows])
    kernel = KernelText({"x": t, "y": t})
    hidden_rows = [("x", 0)] if rows is None else []
    hidden = hidden_rows + ([("x", 1)] if columns is None else [])
    kernel.alloc("m", r, hidden_rows)
    kernel.alloc("e", t, hidden)
    kernel.alloc("s", r, hidden_rows)
    kernel.fill("m", "0xFF800000")
    kernel.generic(
        [("x", "d0, d1"), ("m", "d0")], 1, "pr", ["%r = arith.maximumf %x0, %x1 : f32"], "%r : f32"
    )
    kernel.generic(
        [("x", "d0, d1"), ("m", "d0"), ("e", "d0, d1")],
        1,
        "pp",
        ["%d = arith.subf %x0, %x1 : f32", "%r = math.exp %d : f32"],
        "%r : f32",
    )
    kernel.fill("s", "0.0")
    kernel.generic(
        [("e", "d0, d1"), ("s", "d0")], 1, "pr", ["%r = arith.addf %x0, %x1 : f32"], "%r : f32"
    )
    kernel.generic(
        [("e", "d0, d1"), ("s", "d0"), ("y", "d0, d1")],
        1,
        "pp",
        ["%r = arith.divf %x0, %x1 : f32"],
        "%r : f32",
    )
    return kernel


@pytest.mark.parametrize("shape", [(1, 1), (3, 10), (20, 100), (5, 1000)], ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
def test_softmax(shape: tuple[int, int], dynamic: bool) -> None:
    x = (draw(np.random.default_rng(1), shape) * 20).astype(np.float32)
    y = np.zeros(shape, np.float32)
    compile_kernel(softmax_text(*((None, None) if dynamic else shape)))(x, y)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=2e-6, atol=1e-7)


def test_elementwise_chain_leaves_no_temporary() -> None:
    t = memref([10, 33])
    kernel = KernelText({"a": t, "b": t, "c": t})
    kernel.alloc("t", t)
    kernel.alloc("u", t)
    kernel.generic(
        [("a", "d0, d1"), ("b", "d0, d1"), ("t", "d0, d1")],
        1,
        "pp",
        ["%r = arith.addf %x0, %x1 : f32"],
        "%r : f32",
    )
    kernel.generic(
        [("t", "d0, d1"), ("u", "d0, d1")], 1, "pp", ["%r = arith.mulf %x0, %x0 : f32"], "%r : f32"
    )
    kernel.generic(
        [("u", "d0, d1"), ("t", "d0, d1"), ("c", "d0, d1")],
        1,
        "pp",
        ["%r = arith.subf %x0, %x1 : f32"],
        "%r : f32",
    )
    rng = np.random.default_rng(1)
    a, b, c = (draw(rng, (10, 33)) for _ in range(3))
    compiled = compile_kernel(kernel)
    assert "memref.alloc" not in compiled.vector_text
    compiled(a, b, c)
    s = a + b
    np.testing.assert_array_equal(c, s * s - s)


def test_producer_stays_when_its_input_changes_before_the_reader() -> None:
    t = memref([40])
    kernel = KernelText({"a": t, "c": t})
    kernel.alloc("t", t)
    kernel.generic([("a", "d0"), ("t", "d0")], 1, "p", ["%r = arith.negf %x0 : f32"], "%r : f32")
    kernel.fill("a", "5.0")
    kernel.generic(
        [("t", "d0"), ("c", "d0")], 1, "p", ["%r = arith.addf %x0, %x0 : f32"], "%r : f32"
    )
    a = draw(np.random.default_rng(1), (40,))
    before, c = a.copy(), np.zeros(40, np.float32)
    compile_kernel(kernel)(a, c)
    np.testing.assert_array_equal(c, -2 * before)
    np.testing.assert_array_equal(a, np.full(40, 5, np.float32))


def test_overlapping_arguments_keep_the_order_of_fills() -> None:
    """Without tir.noalias the same buffer may be passed twice."""
    t = memref([40])
    kernel = KernelText({"a": t, "b": t, "c": t}, noalias=False)
    kernel.fill("a", "5.0")
    kernel.generic([("b", "d0"), ("c", "d0")], 1, "p", [], "%x0 : f32")
    a = draw(np.random.default_rng(1), (40,))
    c = np.zeros(40, np.float32)
    compile_kernel(kernel)(a, a, c)
    np.testing.assert_array_equal(c, np.full(40, 5, np.float32))
