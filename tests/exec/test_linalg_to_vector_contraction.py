"""Contractions through linalg-to-vector, compared with numpy (in float64, or exactly)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest

from relax_mlir.testing.kernels import KernelText, compile_kernel, memref

_NUMPY = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
}
_TOLERANCE = {"f32": 1e-5, "f64": 1e-13, "f16": 4e-3, "bf16": 2e-2}


@dataclass(frozen=True)
class Product:
    """`C = epilogue(A @ B)`, with any of the sizes hidden from the compiler."""

    m: int
    n: int
    k: int
    dynamic: str = ""
    transpose_a: bool = False
    transpose_b: bool = False
    dtype: str = "f32"
    epilogue: str = ""
    batch: int = 0
    width: int = 0
    initial: str = "0.0"

    def text(self) -> KernelText:
        sizes = zip("mnk", self._sizes(), strict=True)
        m, n, k = (None if letter in self.dynamic else size for letter, size in sizes)
        lead = [self.batch] if self.batch else []
        t = self.dtype
        a = memref([*lead, *((k, m) if self.transpose_a else (m, k))], t)
        b = memref([*lead, *((n, k) if self.transpose_b else (k, n))], t)
        c = memref([*lead, m, n], t)
        kernel = KernelText({"a": a, "b": b, "bias": memref([n], t), "c": c})
        target = "c"
        if self.epilogue:
            rank = len(lead)
            hidden = [("c", rank + i) for i, size in enumerate((m, n)) if size is None]
            kernel.alloc("t", c, hidden)
            target = "t"
        d = [f"d{i}" for i in range(3 + len(lead))]
        outer, (row, col, red) = d[:-3], d[-3:]
        ab = (red, row) if self.transpose_a else (row, red)
        bb = (col, red) if self.transpose_b else (red, col)
        is_float = t in _TOLERANCE
        mul, add = ("arith.mulf", "arith.addf") if is_float else ("arith.muli", "arith.addi")
        kernel.fill(target, self.initial if is_float else "0", t)
        kernel.generic(
            [
                ("a", ", ".join([*outer, *ab])),
                ("b", ", ".join([*outer, *bb])),
                (target, ", ".join([*outer, row, col])),
            ],
            1,
            "p" * (len(lead) + 2) + "r",
            [f"%p = {mul} %x0, %x1 : {t}", f"%s = {add} %x2, %p : {t}"],
            f"%s : {t}",
        )
        if self.epilogue:
            self._epilogue(kernel, len(lead))
        return kernel

    def _sizes(self) -> tuple[int, int, int]:
        return self.m, self.n, self.k

    def _epilogue(self, kernel: KernelText, lead: int) -> None:
        t = self.dtype
        dims = [f"d{i}" for i in range(lead + 2)]
        zero = kernel.constant("0.0", t)
        body = [f"%s = arith.addf %x0, %x1 : {t}"]
        if self.epilogue == "bias_relu":
            body.append(f"%r = arith.maximumf %s, {zero} : {t}")
        elif self.epilogue == "bias_tanh":
            body.append(f"%r = math.tanh %s : {t}")
        else:
            body.append(f"%r = arith.addf %s, {zero} : {t}")
        full = ", ".join(dims)
        kernel.generic(
            [("t", full), ("bias", dims[-1]), ("c", full)], 1, "p" * len(dims), body, f"%r : {t}"
        )

    def check(self) -> None:
        rng = np.random.default_rng(self.m * 7919 + self.n * 31 + self.k)
        kernel = compile_kernel(self.text(), vector_width=self.width)
        m, n, k = self._sizes()
        lead = (self.batch,) if self.batch else ()
        dtype = _NUMPY[self.dtype]

        def draw(*shape: int) -> np.ndarray:
            if self.dtype in _TOLERANCE:
                return rng.standard_normal(shape).astype(dtype)
            return rng.integers(-9, 9, shape).astype(dtype)

        a, b = draw(*lead, m, k), draw(*lead, k, n)
        bias = draw(n)
        c = np.full((*lead, m, n), 77, dtype)
        stored_a = np.ascontiguousarray(np.swapaxes(a, -1, -2) if self.transpose_a else a)
        stored_b = np.ascontiguousarray(np.swapaxes(b, -1, -2) if self.transpose_b else b)
        kernel(stored_a, stored_b, bias, c)
        if self.dtype not in _TOLERANCE:
            wide = a.astype(np.int64) @ b.astype(np.int64)
            np.testing.assert_array_equal(c, wide.astype(dtype))
            return
        expected = a.astype(np.float64) @ b.astype(np.float64) + float(self.initial)
        if self.epilogue:
            expected = expected + bias.astype(np.float64)
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        if self.epilogue == "bias_relu":
            expected = np.maximum(expected, 0)
        elif self.epilogue == "bias_tanh":
            expected = np.tanh(expected)
        error = np.abs(c.astype(np.float64) - expected).max(initial=0) / scale
        assert error < _TOLERANCE[self.dtype], error


SHAPES = [
    (1, 1, 1),
    (1, 256, 784),
    (1, 10, 256),
    (2, 3, 5),
    (7, 10, 128),
    (16, 16, 16),
    (33, 65, 77),
    (64, 64, 64),
    (5, 1, 9),
    (1, 40, 3),
    (40, 1, 31),
    (128, 128, 130),
    (3, 257, 1),
    (31, 17, 2),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("epilogue", ["", "bias_relu"])
def test_static(shape: tuple[int, int, int], epilogue: str) -> None:
    Product(*shape, epilogue=epilogue).check()


@pytest.mark.parametrize("transposed", ["a", "b", "ab"])
@pytest.mark.parametrize("shape", [(1, 40, 70), (5, 33, 64), (70, 50, 40), (16, 16, 16)], ids=str)
def test_transposed(shape: tuple[int, int, int], transposed: str) -> None:
    Product(
        *shape, transpose_a="a" in transposed, transpose_b="b" in transposed, epilogue="bias"
    ).check()


@pytest.mark.parametrize("dynamic", ["m", "n", "k", "mn", "mnk"])
def test_dynamic_sizes_compile_once(dynamic: str) -> None:
    kernel = compile_kernel(Product(1, 40, 23, dynamic=dynamic, epilogue="bias_relu").text())
    rng = np.random.default_rng(3)
    for factor in (0, 1, 2, 5, 17):
        m, n, k = (
            (factor * (3 if c == "m" else 11) if c in dynamic else size)
            for c, size in zip("mnk", (1, 40, 23), strict=True)
        )
        a, b, bias = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n), (n,)))
        c = np.full((m, n), np.nan, np.float32)
        kernel(a, b, bias, c)
        expected = np.maximum(a.astype(np.float64) @ b + bias, 0)
        np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("epilogue", ["", "bias_tanh"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_few_rows_and_one_column_found_at_run_time(dtype: str, epilogue: str) -> None:
    text = Product(1, 1, 1, dynamic="mnk", dtype=dtype, epilogue=epilogue).text()
    kernel, rng = compile_kernel(text), np.random.default_rng(11)
    for m, n, k in itertools.product((0, 1, 2, 3, 9), (1, 2, 63, 64, 130), (0, 1, 7, 8, 33, 200)):
        a, b, bias = (rng.standard_normal(s).astype(_NUMPY[dtype]) for s in ((m, k), (k, n), (n,)))
        c = np.full((m, n), np.nan, _NUMPY[dtype])
        kernel(a, b, bias, c)
        product = a.astype(np.float64) @ b
        expected = np.tanh(product + bias) if epilogue else product
        np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4, err_msg=f"{m}x{n}x{k}")


@pytest.mark.parametrize("dynamic", ["", "m", "mnk"])
def test_large_b_is_packed(dynamic: str) -> None:
    Product(150, 700, 900, dynamic=dynamic, epilogue="bias_relu").check()


def test_rows_of_b_that_share_cache_sets_are_packed() -> None:
    colliding = [Product(64, 1024, 40), Product(70, 2049, 33, epilogue="bias_relu")]
    apart = [Product(64, 1040, 40), Product(20, 1024, 40), Product(64, 1024, 9)]
    apart.append(Product(64, 2, 40, transpose_a=True))
    for product in colliding:
        assert "memref.alloc" in compile_kernel(product.text()).vector_text, product
        product.check()
    for product in apart:
        assert "memref.alloc" not in compile_kernel(product.text()).vector_text, product
    Product(70, 1025, 300, dynamic="mnk").check()


@pytest.mark.parametrize(("columns", "fetches"), [(1008, True), (1001, False)])
def test_a_large_output_in_whole_cache_lines_is_fetched_ahead(columns: int, fetches: bool) -> None:
    product = Product(70, columns, 300, epilogue="bias_relu")
    assert ("memref.prefetch" in compile_kernel(product.text()).vector_text) is fetches
    product.check()


def test_large_transposed_b_is_packed() -> None:
    Product(70, 500, 600, transpose_b=True).check()
    Product(70, 500, 603, transpose_b=True, dynamic="m").check()


@pytest.mark.parametrize(
    "product",
    [
        Product(33, 65, 77),
        Product(9, 66, 77, epilogue="bias_relu"),
        Product(20, 17, 100, epilogue="bias_tanh"),
        Product(12, 33, 64, batch=3, epilogue="bias"),
        Product(8, 17, 61, dtype="f64", initial="1.5"),
        Product(11, 18, 70, dtype="i32"),
        Product(10, 129, 90, width=256),
        Product(40, 17, 300, dynamic="m", epilogue="bias_relu"),
        Product(16, 33, 2500),
        Product(19, 7, 256),
        Product(18, 19, 400, epilogue="bias_tanh"),
        Product(9, 13, 600, dynamic="k", batch=2),
    ],
    ids=str,
)
def test_the_last_few_columns_are_dot_products(product: Product) -> None:
    whole = replace(product, n=product.n - product.n % 16 + 16)
    assert "vector.shuffle" in compile_kernel(product.text(), product.width).vector_text
    assert "vector.shuffle" not in compile_kernel(whole.text(), product.width).vector_text
    product.check()


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
def test_the_last_few_columns_found_at_run_time(dtype: str) -> None:
    """Few or many of them; K too short for dot products, or too long to copy a column of B."""
    kernel = compile_kernel(Product(1, 1, 1, dynamic="mnk", dtype=dtype).text())
    rng = np.random.default_rng(5)
    for m, n, k in itertools.product((7, 8, 33), (3, 17, 34, 38, 71), (5, 77, 300, 2600)):
        a, b = (rng.integers(-9, 9, s).astype(_NUMPY[dtype]) for s in ((m, k), (k, n)))
        c = np.full((m, n), 77, _NUMPY[dtype])
        kernel(a, b, np.zeros(n, _NUMPY[dtype]), c)
        np.testing.assert_array_equal(c, a @ b, err_msg=f"{m}x{n}x{k}")


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i8", "i32", "i64"])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_types(dtype: str, transpose_b: bool) -> None:
    Product(9, 37, 70, dtype=dtype, transpose_b=transpose_b).check()
    Product(1, 20, 33, dtype=dtype, transpose_b=transpose_b).check()


@pytest.mark.parametrize("width", [128, 256, 512])
def test_vector_widths(width: int) -> None:
    Product(13, 37, 29, width=width, epilogue="bias_relu").check()
    Product(13, 37, 29, width=width, transpose_b=True, dynamic="m").check()
    Product(1, 37, 29, width=width, transpose_b=True).check()


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("epilogue", ["bias_relu", "bias_tanh"])
def test_few_rows_times_a_transposed_matrix(rows: int, epilogue: str) -> None:
    Product(rows, 37, 100, transpose_b=True, epilogue=epilogue).check()
    Product(rows, 3, 40, transpose_b=True, epilogue=epilogue, width=256).check()


@pytest.mark.parametrize("shape", [(1, 8, 9), (4, 33, 20), (20, 64, 30)], ids=str)
def test_batched(shape: tuple[int, int, int]) -> None:
    Product(*shape, batch=3, epilogue="bias_relu").check()
    Product(*shape, batch=3, transpose_b=True).check()
    Product(*shape, batch=2, dynamic="m").check()


def test_expensive_epilogue() -> None:
    Product(40, 50, 30, epilogue="bias_tanh").check()
    Product(40, 50, 3000, epilogue="bias_tanh").check()
    Product(3, 50, 30, epilogue="bias_tanh", transpose_b=True).check()


def test_initial_value() -> None:
    Product(20, 30, 10, initial="1.5").check()
    Product(70, 640, 700, initial="1.5", epilogue="bias").check()


@pytest.mark.parametrize("columns", [49, 55])
def test_nan_and_infinity_reach_only_their_row_and_column(columns: int) -> None:
    a = np.ones((20, 40), np.float32)
    b = np.ones((40, columns), np.float32)
    a[3, 5], b[7, 11], b[39, 48] = np.nan, np.inf, -np.inf
    c = np.zeros((20, columns), np.float32)
    compile_kernel(Product(20, columns, 40).text())(a, b, np.zeros(columns, np.float32), c)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("rows", [6, 9])
def test_accumulates_into_what_the_output_holds(rows: int) -> None:
    shapes = {"a": (rows, 20), "b": (20, 33), "c": (rows, 33)}
    kernel = KernelText({name: memref(shape) for name, shape in shapes.items()})
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("c", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %p, %x2 : f32"],
        "%s : f32",
    )
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(s).astype(np.float32) for s in shapes.values())
    expected = c + a.astype(np.float64) @ b
    compile_kernel(kernel)(a, b, c)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("factor", [0, 1])
def test_the_square_of_one_operand_is_no_product_of_both(dtype: str, factor: int) -> None:
    shapes = {"a": (9, 40), "b": (40, 33), "c": (9, 33)}
    kernel = KernelText({name: memref(shape, dtype) for name, shape in shapes.items()})
    kernel.fill("c", "0.0", dtype)
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("c", "d0, d1")],
        1,
        "ppr",
        [
            f"%p = arith.mulf %x{factor}, %x{factor} : {dtype}",
            f"%s = arith.addf %p, %x2 : {dtype}",
        ],
        f"%s : {dtype}",
    )
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal(s).astype(_NUMPY[dtype]) for s in shapes.values())
    squares = (a.astype("float64") ** 2).sum(1, keepdims=True) + np.zeros(33)
    if factor:
        squares = (b.astype("float64") ** 2).sum(0) + np.zeros((9, 1))
    compile_kernel(kernel)(a, b, c)
    tolerance = _TOLERANCE[dtype]
    np.testing.assert_allclose(c.astype("float64"), squares, rtol=tolerance, atol=tolerance)


def test_max_plus_product() -> None:
    kernel = KernelText({"a": memref([9, 20]), "b": memref([20, 33]), "c": memref([9, 33])})
    kernel.fill("c", "0xFF800000")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("c", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.addf %x0, %x1 : f32", "%s = arith.maximumf %p, %x2 : f32"],
        "%s : f32",
    )
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((9, 20), (20, 33)))
    c = np.zeros((9, 33), np.float32)
    compile_kernel(kernel)(a, b, c)
    np.testing.assert_array_equal(c, (a[:, :, None] + b[None]).max(1))


def test_int8_products_summed_in_int32() -> None:
    kernel = KernelText(
        {"a": memref([9, 40], "i8"), "b": memref([40, 33], "i8"), "c": memref([9, 33], "i32")}
    )
    kernel.fill("c", "0", "i32")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("c", "d0, d1")],
        1,
        "ppr",
        [
            "%l = arith.extsi %x0 : i8 to i32",
            "%r = arith.extsi %x1 : i8 to i32",
            "%p = arith.muli %l, %r : i32",
            "%s = arith.addi %p, %x2 : i32",
        ],
        "%s : i32",
    )
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((9, 40), (40, 33)))
    c = np.zeros((9, 33), np.int32)
    compile_kernel(kernel)(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("size", [21, 40])
def test_convolution_is_a_contraction_over_windows(stride: int, dilation: int, size: int) -> None:
    n, ci, co, kh, kw = 2, 3, 5, 3, 3
    oh = ow = (size - dilation * (kh - 1) - 1) // stride + 1
    kernel = KernelText(
        {
            "x": memref([n, ci, size, size]),
            "w": memref([co, ci, kh, kw]),
            "y": memref([n, co, oh, ow]),
        }
    )
    kernel.fill("y", "0.0")
    rows, columns = (f"d{i} * {stride} + d{i + 3} * {dilation}" for i in (2, 3))
    kernel.generic(
        [("x", f"d0, d4, {rows}, {columns}"), ("w", "d1, d4, d5, d6"), ("y", "d0, d1, d2, d3")],
        1,
        "pppprrr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %p, %x2 : f32"],
        "%s : f32",
    )
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, ci, size, size)).astype(np.float32)
    weight = rng.standard_normal((co, ci, kh, kw)).astype(np.float32)
    y = np.zeros((n, co, oh, ow), np.float32)
    compiled = compile_kernel(kernel)
    assert "vector<" in compiled.vector_text
    compiled(x, weight, y)
    span = dilation * (kh - 1) + 1
    windows = np.lib.stride_tricks.sliding_window_view(x, (span, span), (2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    np.testing.assert_allclose(
        y, np.einsum("nchwij,ocij->nohw", windows, weight), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_convolution(stride: int) -> None:
    channels, size = 6, 23
    out = (size - 3) // stride + 1
    kernel = KernelText(
        {
            "x": memref([channels, size, size]),
            "w": memref([channels, 3, 3]),
            "y": memref([channels, out, out]),
        }
    )
    kernel.fill("y", "0.0")
    kernel.generic(
        [
            ("x", f"d0, d1 * {stride} + d3, d2 * {stride} + d4"),
            ("w", "d0, d3, d4"),
            ("y", "d0, d1, d2"),
        ],
        1,
        "ppprr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %p, %x2 : f32"],
        "%s : f32",
    )
    rng = np.random.default_rng(0)
    x = rng.standard_normal((channels, size, size)).astype(np.float32)
    weight = rng.standard_normal((channels, 3, 3)).astype(np.float32)
    y = np.zeros((channels, out, out), np.float32)
    compile_kernel(kernel)(x, weight, y)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::stride, ::stride]
    np.testing.assert_allclose(
        y, np.einsum("chwij,cij->chw", windows, weight), rtol=1e-4, atol=1e-4
    )


def test_nothing_of_a_product_is_contiguous() -> None:
    """B strided along both of its dimensions, as in x[:, 0] of a rank-three operand."""
    kernel = KernelText(
        {"a": memref([9, 20]), "b": memref([20, 33, 2]), "i": memref([1]), "c": memref([9, 33])}
    )
    kernel.fill("c", "0.0")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1, 1"), ("c", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %p, %x2 : f32"],
        "%s : f32",
    )
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((9, 20), (20, 33, 2)))
    c = np.zeros((9, 33), np.float32)
    compile_kernel(kernel)(a, b, np.zeros(1, np.float32), c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b[:, :, 1], rtol=1e-4, atol=1e-4)


def test_transpose_before_a_product_is_read_in_place() -> None:
    kernel = KernelText({"x": memref([40, 30]), "w": memref([50, 30]), "y": memref([40, 50])})
    kernel.alloc("t", memref([30, 50]))
    kernel.generic([("w", "d1, d0"), ("t", "d0, d1")], 1, "pp", [], "%x0 : f32")
    kernel.fill("y", "0.0")
    kernel.generic(
        [("x", "d0, d2"), ("t", "d2, d1"), ("y", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %p, %x2 : f32"],
        "%s : f32",
    )
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((40, 30), (50, 30)))
    y = np.zeros((40, 50), np.float32)
    compiled = compile_kernel(kernel)
    assert "memref<30x50xf32>" not in compiled.vector_text
    compiled(x, w, y)
    np.testing.assert_allclose(y, x.astype(np.float64) @ w.T, rtol=1e-4, atol=1e-4)


def test_epilogue_leaves_no_temporary() -> None:
    text = compile_kernel(Product(64, 64, 64, epilogue="bias_relu").text()).vector_text
    assert "memref.alloc" not in text
    assert "linalg" not in text


def test_in_place_consumer_over_an_input_is_not_fused() -> None:
    """C = relu(A @ B) written over A: the product must be complete before A changes."""
    kernel = KernelText({"a": memref([20, 20]), "b": memref([20, 20])})
    kernel.alloc("t", memref([20, 20]))
    kernel.fill("t", "0.0")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("t", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%s = arith.addf %p, %x2 : f32"],
        "%s : f32",
    )
    zero = kernel.constant("0.0", "f32")
    kernel.generic(
        [("t", "d0, d1"), ("a", "d0, d1")],
        1,
        "pp",
        [f"%r = arith.maximumf %x0, {zero} : f32"],
        "%r : f32",
    )
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((20, 20)).astype(np.float32) for _ in range(2))
    expected = np.maximum(a.astype(np.float64) @ b, 0)
    compile_kernel(kernel)(a, b)
    np.testing.assert_allclose(a, expected, rtol=1e-4, atol=1e-4)


def test_random_shapes_and_layouts() -> None:
    rng = np.random.default_rng(11)
    for _ in range(25):
        m, n, k = (int(v) for v in rng.integers(1, 90, 3))
        Product(
            m,
            n,
            k,
            transpose_a=bool(rng.integers(2)),
            transpose_b=bool(rng.integers(2)),
            dynamic=["", "", "m", "n"][int(rng.integers(4))],
            epilogue=["", "bias_relu"][int(rng.integers(2))],
            width=[0, 256, 128][int(rng.integers(3))],
        ).check()
