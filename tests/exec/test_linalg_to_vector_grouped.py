"""Products of bfloat16 and of bytes by dot-product instructions (or widened, where the CPU has
none) against numpy: signs, layouts, batches, epilogues, sizes that leave parts of groups."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relax_mlir.lowering.linalg_to_vector.cpu_target import host_cpu
from relax_mlir.testing.kernels import KernelText, compile_kernel, memref

SHAPES = [(33, 65, 77), (5, 17, 19), (70, 130, 1030)]
# Operation that widens A and B, or None where the product is of the elements themselves.
KINDS: dict[str, tuple[str, str, str, str | None, str | None]] = {
    "bf16": ("bf16", "bf16", "f32", "arith.extf", "arith.extf"),
    "bf16 rounded": ("bf16", "bf16", "bf16", None, None),
    "s8 s8": ("i8", "i8", "i32", "arith.extsi", "arith.extsi"),
    "u8 s8": ("i8", "i8", "i32", "arith.extui", "arith.extsi"),
    "s8 u8": ("i8", "i8", "i32", "arith.extsi", "arith.extui"),
}
DTYPES = {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32}


def _text(
    sizes: tuple[int | None, ...],
    kind: str,
    transposed: bool,
    batch: int = 0,
    bias: bool = False,
    panel: int = 0,
) -> KernelText:
    """panel: the width of the panels that B lies in, in groups along K; 0 for a plain matrix."""
    m, n, k = sizes
    a, b, c, widen_a, widen_b = KINDS[kind]
    lead, index = ([batch], "d3, ") if batch else ([], "")
    shapes = {
        "a": memref([*lead, m, k], a),
        "b": memref([*lead, n, k] if transposed else [*lead, k, n], b),
        "c": memref([*lead, m, n], c),
    }
    if bias:
        shapes["bias"] = memref([n], c)
    columns = "d1, d2" if transposed else "d2, d1"
    if panel and n and k:
        group = _group(kind)
        shapes["b"] = memref([n // panel, k // group, panel, group], b)
        columns = f"d1 floordiv {panel}, d2 floordiv {group}, d1 mod {panel}, d2 mod {group}"
    kernel = KernelText(shapes)
    target = "c"
    if bias:
        kernel.alloc("t", shapes["c"])
        target = "t"
    is_float = c != "i32"
    kernel.fill(target, "0.0" if is_float else "0", c)
    suffix = "f" if is_float else "i"
    body = [f"%wa = {widen_a} %x0 : {a} to {c}"] if widen_a else []
    body += [f"%wb = {widen_b} %x1 : {b} to {c}"] if widen_b else []
    left, right = ("%wa" if widen_a else "%x0"), ("%wb" if widen_b else "%x1")
    body += [f"%p = arith.mul{suffix} {left}, {right} : {c}"]
    body += [f"%s = arith.add{suffix} %x2, %p : {c}"]
    operands = [("a", f"{index}d0, d2"), ("b", index + columns), (target, f"{index}d0, d1")]
    kernel.generic(operands, 1, "pprp" if batch else "ppr", body, f"%s : {c}")
    if bias:
        added = [f"%s = arith.add{suffix} %x0, %x1 : {c}"]
        kernel.generic(
            [("t", "d0, d1"), ("bias", "d1"), ("c", "d0, d1")], 1, "pp", added, f"%s : {c}"
        )
    return kernel


def _group(kind: str) -> int:
    return 2 if kind.startswith("bf16") else 4


def _input(rng: np.random.Generator, shape: tuple[int, ...], kind: str, which: int) -> Any:
    if kind.startswith("bf16"):
        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
    dtype = np.uint8 if kind.split()[which] == "u8" else np.int8
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def _run(
    kernel: Any, kind: str, sizes: tuple[int, int, int], transposed: bool, batch: int = 0
) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(m + n + k)
    lead = (batch,) if batch else ()
    a = _input(rng, (*lead, m, k), kind, 0)
    b = _input(rng, (*lead, n, k) if transposed else (*lead, k, n), kind, 1)
    c = np.ones((*lead, m, n), DTYPES[KINDS[kind][2]])
    kernel(a.view(np.int8) if a.dtype == np.uint8 else a,
           b.view(np.int8) if b.dtype == np.uint8 else b, c)  # fmt: skip
    _compare(c, a, b.swapaxes(-1, -2) if transposed else b, kind)


def _compare(c: np.ndarray, a: Any, b: Any, kind: str, bias: Any = 0) -> None:
    if c.dtype == np.int32:
        np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64) + bias)
        return
    expected = a.astype(np.float64) @ b.astype(np.float64) + bias
    # Products of bfloat16 are exact in f32; their sum is rounded at every step.
    limit = 2e-6 * np.sqrt(a.shape[-1]) if c.dtype == np.float32 else 0.0
    relative = 2e-6 if c.dtype == np.float32 else 2.0**-8
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=relative, atol=limit + 1e-4)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", SHAPES)
def test_static(kind: str, transposed: bool, sizes: tuple[int, int, int]) -> None:
    _run(compile_kernel(_text(sizes, kind, transposed)), kind, sizes, transposed)


@pytest.mark.parametrize(("kind", "transposed"), [("bf16", False), ("s8 s8", True)])
def test_dynamic(kind: str, transposed: bool) -> None:
    kernel = compile_kernel(_text((None, None, None), kind, transposed))
    odd = [(7, 100, 30), (64, 32, 64), (1, 1, 1), (3, 2, 5), (17, 16, 15), (1, 40, 9)]
    for sizes in [*SHAPES, *odd]:
        _run(kernel, kind, sizes, transposed)


@pytest.mark.parametrize("kind", ["bf16", "s8 s8"])
def test_batched(kind: str) -> None:
    _run(compile_kernel(_text((9, 18, 21), kind, False, batch=3)), kind, (9, 18, 21), False, 3)


@pytest.mark.parametrize("kind", ["bf16 rounded", "s8 s8"])
@pytest.mark.parametrize("known", [True, False])
def test_elements_of_b_that_are_apart(kind: str, known: bool) -> None:
    """B's columns and rows both lie apart, as batches that are innermost leave them."""
    m, n, k, batch = 9, 37, 53, 3
    a_type, b_type, c_type, widen, _ = KINDS[kind]
    size = None if not known else k
    kernel = KernelText({
        "a": memref([batch, m, size], a_type),
        "b": memref([size, n, batch], b_type),
        "c": memref([batch, m, n], c_type),
    })  # fmt: skip
    is_float = c_type != "i32"
    kernel.fill("c", "0.0" if is_float else "0", c_type)
    suffix = "f" if is_float else "i"
    body = [f"%w{i} = {widen} %x{i} : {a_type} to {c_type}" for i in (0, 1)] if widen else []
    name = "w" if widen else "x"
    body += [f"%p = arith.mul{suffix} %{name}0, %{name}1 : {c_type}"]
    body += [f"%s = arith.add{suffix} %x2, %p : {c_type}"]
    operands = [("a", "d3, d0, d2"), ("b", "d2, d1, d3"), ("c", "d3, d0, d1")]
    kernel.generic(operands, 1, "pprp", body, f"%s : {c_type}")
    rng = np.random.default_rng(8)
    a, b = _input(rng, (batch, m, k), kind, 0), _input(rng, (k, n, batch), kind, 1)
    c = np.ones((batch, m, n), DTYPES[c_type])
    compile_kernel(kernel)(a, b, c)
    _compare(c, a, b.transpose(2, 0, 1), kind)


@pytest.mark.parametrize("kind", ["bf16", "bf16 rounded", "s8 s8"])
@pytest.mark.parametrize("transposed", [False, True])
def test_blocks_of_a_large_b(kind: str, transposed: bool) -> None:
    """B beyond the second-level cache, in blocks of rows, of columns and of the reduction."""
    sizes = (67, 333, 3333)
    for known in (sizes, (None, None, None)):
        _run(compile_kernel(_text(known, kind, transposed)), kind, sizes, transposed)


@pytest.mark.parametrize("kind", ["bf16", "bf16 rounded", "s8 s8"])
def test_epilogue(kind: str) -> None:
    sizes = m, n, k = 19, 37, 50
    rng = np.random.default_rng(4)
    a, b = _input(rng, (m, k), kind, 0), _input(rng, (k, n), kind, 1)
    dtype = DTYPES[KINDS[kind][2]]
    bias = (rng.standard_normal(n) * 100).astype(dtype)
    c = np.zeros((m, n), dtype)
    compile_kernel(_text(sizes, kind, False, bias=True))(a, b, c, bias)
    if kind == "bf16 rounded":  # rounded before and after the addition
        product = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
        expected = product.astype(np.float32) + bias.astype(np.float32)
        np.testing.assert_allclose(c.astype(np.float32), expected, rtol=2e-2, atol=0.3)
    else:
        _compare(c, a, b, kind, bias)


@pytest.mark.skipif(
    not {"avx512_bf16", "avx512_vnni"} <= host_cpu().features, reason="needs both instructions"
)
@pytest.mark.parametrize(("kind", "rows"), [("bf16 rounded", 6), ("s8 s8", 4)])
def test_few_rows_are_not_worth_groups(kind: str, rows: int) -> None:
    for m in (rows - 1, rows):
        kernel = compile_kernel(_text((m, 40, 50), kind, False))
        assert ("llvm.call_intrinsic" in kernel.vector_text) == (m == rows)
        _run(kernel, kind, (m, 40, 50), False)


@pytest.mark.parametrize("kind", ["bf16", "s8 s8"])
def test_narrow_vectors(kind: str) -> None:
    """With 256-bit vectors the elements are widened."""
    kernel = compile_kernel(_text((20, 33, 45), kind, False), vector_width=256)
    _run(kernel, kind, (20, 33, 45), False)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(
    ("sizes", "panel"), [((7, 96, 36), 32), ((1, 64, 100), 16), ((21, 80, 5000), 80)]
)
@pytest.mark.parametrize("width", [0, 256])
def test_a_weight_in_groups(kind: str, sizes: tuple[int, int, int], panel: int, width: int) -> None:
    """B in panels of groups is read where it lies; with narrow vectors it is widened."""
    m, n, k = sizes
    group, rng = _group(kind), np.random.default_rng(m + n + k)
    a, b = _input(rng, (m, k), kind, 0), _input(rng, (k, n), kind, 1)
    panels = b.reshape(k // group, group, n // panel, panel).transpose(2, 0, 3, 1).copy()
    kernel = compile_kernel(_text(sizes, kind, False, panel=panel), vector_width=width)
    c = np.ones((m, n), DTYPES[KINDS[kind][2]])
    kernel(*(x.view(np.int8) if x.dtype == np.uint8 else x for x in (a, panels)), c)
    _compare(c, a, b, kind)
    if width == 0 and kind != "s8 u8" and {"avx512_bf16", "avx512_vnni"} <= host_cpu().features:
        assert "llvm.call_intrinsic" in kernel.vector_text
        assert "vector.interleave" not in kernel.vector_text
