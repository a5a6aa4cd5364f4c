"""Loops of every kind as they are written: compiled, looked at, and compared with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.driver.build_module import build
from relax_mlir.ir import IRModule
from relax_mlir.lowering.pipeline import run
from relax_mlir.runtime.tensor import tensor
from relax_mlir.script import from_source
from relax_mlir.tir.schedule import Schedule

LOOPS = "tir-bool-to-byte,tir-to-linalg,tir-to-scf"


def program(body: str, **buffers: Any) -> IRModule:
    """A function of the named buffers (shape and dtype) with statements as its body."""
    parameters = ", ".join(f'{n}: T.Buffer({s}, "{d}")' for n, (s, d) in buffers.items())
    lines = "\n".join("        " + line for line in body.strip("\n").splitlines())
    return from_source(
        "@I.ir_module\nclass Module:\n    @T.prim_func\n"
        f"    def main({parameters}):\n"
        '        T.func_attr({"tir.noalias": True})\n'
        f"{lines}\n"
    )


def lowered(module: IRModule, pipeline: str = LOOPS) -> str:
    with mlir.scope():
        state = module.state.clone()
        run(state, pipeline)
        return str(state.module)


def check(module: IRModule, arrays: list[np.ndarray], expected: np.ndarray) -> None:
    """The last array is the result."""
    build(module, target="llvm")(*arrays)
    exact = np.issubdtype(expected.dtype, np.integer)
    np.testing.assert_allclose(arrays[-1], expected, rtol=0 if exact else 2e-6, atol=1e-6)


def floats(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


F32 = "float32"
S16, S64 = ((16,), F32), ((64,), F32)


# -- vectorised loops: statements, buffers, result, what the lowered text must have ------------

Case = tuple[str, dict[str, Any], Callable[..., np.ndarray], tuple[str, ...]]


def _scatter_rows(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    out = np.zeros(16, F32)
    out[x] = a
    return out


CASES: dict[str, Case] = {
    "contiguous": (
        "for i in T.vectorized(16):\n    B[i] = A[i] * T.float32(2)",
        {"A": S16, "B": S16}, lambda a: a * 2,
        ("vector.load", "vector.store", "vector<16xf32>"),
    ),
    "odd_length": (
        "for i in T.vectorized(7):\n    B[i] = A[i + 2] + T.float32(1)",
        {"A": S16, "B": ((7,), F32)}, lambda a: a[2:9] + 1, ("vector<7xf32>",),
    ),
    "min": (
        "for i in T.vectorized(3, 11):\n    B[i - 3] = A[i]",
        {"A": S16, "B": ((8,), F32)}, lambda a: a[3:11], ("vector.load", "vector<8xf32>"),
    ),
    "long": (
        "for i in T.vectorized(200):\n    B[i] = A[i] + T.float32(1)",
        {"A": ((200,), F32), "B": ((200,), F32)}, lambda a: a + 1,
        ("scf.for", "vector<64xf32>", "vector<8xf32>"),
    ),
    "long_from_two": (
        "for i in T.vectorized(2, 132):\n    B[i - 2] = A[i] + T.float32(1)",
        {"A": ((140,), F32), "B": ((130,), F32)}, lambda a: a[2:132] + 1,
        ("vector<64xf32>", "vector<2xf32>"),
    ),
    "strided": (
        "for i in T.vectorized(16):\n    B[i] = A[i * 3 + 1]",
        {"A": ((60,), F32), "B": S16}, lambda a: a[1:49:3], ("vector.gather", "vector.store"),
    ),
    "reversed": (
        "for i in T.vectorized(16):\n    B[15 - i] = A[i]",
        {"A": S16, "B": S16}, lambda a: a[::-1], ("vector.load", "vector.scatter"),
    ),
    "transposed": (
        "for j in range(4):\n    for i in T.vectorized(16):\n        B[j, i] = A[i, j]",
        {"A": ((16, 4), F32), "B": ((4, 16), F32)}, lambda a: a.T, ("vector.gather",),
    ),
    "indirect": (
        "for i in T.vectorized(16):\n    B[i] = A[X[i]]",
        {"A": S64, "X": ((16,), "int32"), "B": S16}, lambda a, x: a[x], ("vector.gather",),
    ),
    "indirect_store": (
        "for i in T.vectorized(16):\n    B[X[i]] = A[i]",
        {"A": S16, "X": ((16,), "int32"), "B": S16}, _scatter_rows, ("vector.scatter",),
    ),
    "invariant": (
        "for j in range(4):\n    for i in T.vectorized(16):\n        B[j, i] = A[j] * C[i]",
        {"A": ((4,), F32), "C": S16, "B": ((4, 16), F32)}, lambda a, c: np.outer(a, c),
        ("memref.load", "vector.broadcast"),
    ),
    "index_as_data": (
        "for i in T.vectorized(16):\n    B[i] = T.Cast('float32', i * 2) + A[i]",
        {"A": S16, "B": S16}, lambda a: a + 2 * np.arange(16, dtype=F32), ("arith.sitofp",),
    ),
    "quotient_and_remainder": (
        "for i in T.vectorized(16):\n    B[i // 5, i % 5] = A[i] + T.float32(1)",
        {"A": S16, "B": ((4, 5), F32)},
        lambda a: np.append(a + 1, np.zeros(4, F32)).reshape(4, 5), ("vector.scatter",),
    ),
    "aligned_remainder": (
        ("for j in range(4):\n    for i in T.vectorized(16):\n"
         "        B[(j * 16 + i) // 32, (j * 16 + i) % 32] = A[j * 16 + i]"),
        {"A": S64, "B": ((2, 32), F32)}, lambda a: a.reshape(2, 32),
        ("vector.load", "vector.store"),
    ),
    "predicate": (
        ("for j in range(3):\n    for i in T.vectorized(16):\n"
         "        with T.block('b'):\n            v = T.axis.spatial(40, j * 16 + i)\n"
         "            T.where(j * 16 + i < 40)\n            B[v] = A[v] * A[v]"),
        {"A": ((40,), F32), "B": ((40,), F32)}, lambda a: a * a,
        ("vector.maskedload", "vector.maskedstore"),
    ),
    "branch": (
        ("for i in T.vectorized(16):\n    if A[i] > T.float32(0):\n        B[i] = A[i]\n"
         "    else:\n        B[i] = A[i] * T.float32(0.1)"),
        {"A": S16, "B": S16}, lambda a: np.where(a > 0, a, a * np.float32(0.1)),
        ("vector.maskedstore", "arith.cmpf ogt"),
    ),
    "nested_branch": (
        ("for i in T.vectorized(16):\n    B[i] = T.float32(0)\n    if A[i] > T.float32(0):\n"
         "        if i < 9:\n            B[i] = A[i]\n        else:\n"
         "            B[i] = T.float32(7)"),
        {"A": S16, "B": S16},
        lambda a: np.where(a > 0, np.where(np.arange(16) < 9, a, np.float32(7)), np.float32(0)),
        ("vector.maskedstore",),
    ),
    "guarded_load": (
        ("for i in T.vectorized(16):\n"
         "    B[i] = T.if_then_else(i < 10, A[i + 54], T.float32(-1))"),
        {"A": S64, "B": S16}, lambda a: np.append(a[54:], np.full(6, -1, F32)),
        ("vector.maskedload", "arith.select"),
    ),
    "guarded_division": (
        ("for i in T.vectorized(16):\n    if X[i] != 0:\n        B[i] = 100 // X[i]\n"
         "    else:\n        B[i] = -1"),
        {"X": ((16,), "int32"), "B": ((16,), "int32")},
        lambda x: np.where(x != 0, 100 // np.where(x == 0, 1, x), -1).astype("int32"),
        ("vector.maskedstore",),
    ),
    "guarded_scalar_load": (
        ("for j in range(4):\n    for i in T.vectorized(16):\n"
         "        B[j, i] = T.if_then_else(j * 16 + i < 33, A[j * 16], T.float32(0))"),
        {"A": ((33,), F32), "B": ((4, 16), F32)},
        lambda a: np.where(np.arange(64).reshape(4, 16) < 33,
                           np.append(a, np.zeros(31, F32))[:64:16, None], 0).astype(F32),
        ("vector.gather",),
    ),
    "inner_loop": (
        ("for i in T.vectorized(16):\n    B[i] = T.float32(0)\n    for k in range(5):\n"
         "        B[i] = B[i] + A[k, i]"),
        {"A": ((5, 16), F32), "B": S16}, lambda a: a.sum(0), ("scf.for", "vector.load"),
    ),
    "reduction_block": (
        ("for i in T.vectorized(16):\n    for k in range(5):\n        with T.block('b'):\n"
         "            vi, vk = T.axis.remap('SR', [i, k])\n            with T.init():\n"
         "                B[vi] = T.float32(1)\n            B[vi] = B[vi] * A[vk, vi]"),
        {"A": ((5, 16), F32), "B": S16}, lambda a: a.prod(0), ("vector.store", "scf.if"),
    ),
    "two_stores_apart": (
        "for i in T.vectorized(16):\n    B[i * 2] = A[i]\n    B[i * 2 + 1] = A[i] * T.float32(3)",
        {"A": S16, "B": ((32,), F32)}, lambda a: np.stack([a, a * 3], 1).ravel(),
        ("vector.scatter",),
    ),
    "private_buffer": (
        ("for i in T.vectorized(16):\n    with T.block('b'):\n        v = T.axis.spatial(16, i)\n"
         "        L = T.alloc_buffer((3,), 'float32', scope='local')\n"
         "        for k in range(3):\n            L[k] = A[v] + T.Cast('float32', k)\n"
         "        B[v] = L[0] * L[1] + L[2]"),
        {"A": S16, "B": S16}, lambda a: a * (a + 1) + (a + 2), ("memref<3x16xf32>",),
    ),
    "bool_buffer": (
        "for i in T.vectorized(16):\n    B[i] = A[i] > T.float32(0)",
        {"A": S16, "B": ((16,), "bool")}, lambda a: a > 0, ("vector<16xi8>",),
    ),
    "int8": (
        "for i in T.vectorized(16):\n    B[i] = T.Cast('int32', A[i]) * 3",
        {"A": ((16,), "int8"), "B": ((16,), "int32")}, lambda a: a.astype("int32") * 3,
        ("vector<16xi8>",),
    ),
    "float64_math": (
        "for i in T.vectorized(8):\n    B[i] = T.exp(A[i])",
        {"A": ((8,), "float64"), "B": ((8,), "float64")}, np.exp, ("math.exp",),
    ),
    # -- the order of iterations matters: these stay scalar ------------------------------------
    "recurrence": (
        "for i in T.vectorized(15):\n    B[i + 1] = B[i] + A[i]",
        {"A": S16, "B": S16}, lambda a: np.append(0, np.cumsum(a[:15])).astype(F32),
        ("loop_annotation",),
    ),
    "sum": (
        "B[0] = T.float32(0)\nfor i in T.vectorized(16):\n    B[0] = B[0] + A[i]",
        {"A": S16, "B": ((1,), F32)}, lambda a: a.sum(keepdims=True), ("loop_annotation",),
    ),
    "shifted_read": (
        "for i in T.vectorized(15):\n    B[i] = A[i]\n    C[i] = B[i + 1]",
        {"A": S16, "B": S16, "C": ((15,), F32)}, lambda a, b: np.append(b[1:15], b[15:16]),
        ("loop_annotation",),
    ),
    "collision_in_inner_loop": (
        ("for i in T.vectorized(16):\n    for k in range(3):\n"
         "        B[i + k] = A[i] + T.Cast('float32', k)"),
        {"A": S16, "B": ((18,), F32)},
        lambda a: np.append(a, [a[15] + 1, a[15] + 2]).astype(F32), ("loop_annotation",),
    ),
    "triangle": (
        ("for i in T.vectorized(16):\n    B[i] = T.float32(0)\n    for k in range(i):\n"
         "        B[i] = B[i] + A[k]"),
        {"A": S16, "B": S16}, lambda a: np.append(0, np.cumsum(a[:15])).astype(F32),
        ("loop_annotation",),
    ),
    "loop_inside": (
        "for i in T.vectorized(4):\n    for j in T.vectorized(16):\n        B[i, j] = A[j, i]",
        {"A": ((16, 4), F32), "B": ((4, 16), F32)}, lambda a: a.T, ("vector<16xf32>",),
    ),
    "empty": (
        "for i in T.vectorized(0):\n    B[i] = A[i]",
        {"A": S16, "B": S16}, lambda a: np.zeros(16, F32), ("return",),
    ),
}  # fmt: skip


def _inputs(buffers: dict[str, Any]) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    arrays: list[np.ndarray] = []
    for n, (shape, dtype) in enumerate(buffers.values()):
        if n == len(buffers) - 1:
            arrays.append(np.zeros(shape, dtype))
        elif dtype.startswith("int"):
            arrays.append(rng.integers(0, 16, shape).astype(dtype))
        else:
            arrays.append(rng.standard_normal(shape).astype(dtype))
    return arrays


@pytest.mark.parametrize("name", CASES)
def test_vectorized(name: str) -> None:
    body, buffers, reference, wanted = CASES[name]
    module = program(body, **buffers)
    text = lowered(module)
    for part in wanted:
        assert part in text, f"{part} is not in\n{text}"
    assert "tir.for" not in text
    arrays = _inputs(buffers)
    check(module, arrays, reference(*[a.copy() for a in arrays[:-1]]))


DTYPES = ("int8", "int16", "int64", "uint8", "float16", "bfloat16", "float64")


@pytest.mark.parametrize("extent", [1, 3, 7, 33, 48, 65])
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_every_length_and_type(dtype: str, extent: int) -> None:
    """LLVM ends the process for some lengths of 16-bit floats, which are not made."""
    module = program(
        f"for i in T.vectorized({extent}):\n    B[i] = A[i] * A[i] + A[i]",
        A=((extent,), dtype), B=((extent,), dtype),
    )  # fmt: skip
    assert ("vector.load" in lowered(module)) == (extent > 1)  # one lane is no vector
    storage = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    a = np.random.default_rng(0).integers(-5, 6, extent).astype(storage)
    result = tensor(np.zeros(extent, storage))
    build(module, target="llvm")(tensor(a), result)
    np.testing.assert_array_equal(result.numpy(), a * a + a)


# -- schedules --------------------------------------------------------------------------------


def matmul(m: int, n: int, k: int) -> IRModule:
    return program(
        f"for i, j, k in T.grid({m}, {n}, {k}):\n    with T.block('C'):\n"
        "        vi, vj, vk = T.axis.remap('SSR', [i, j, k])\n        with T.init():\n"
        "            C[vi, vj] = T.float32(0)\n"
        "        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
        A=((m, k), F32), B=((k, n), F32), C=((m, n), F32),
    )  # fmt: skip


def tiled(sch: Schedule, rows: int, columns: int, depth: int) -> tuple[Any, ...]:
    """The loops (i_0, i_1, j_0, j_1, k_0, k_1) of a tiled product, in the order of the tutorial."""
    i, j, k = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, [None, rows])
    j_0, j_1 = sch.split(j, [None, columns])
    k_0, k_1 = sch.split(k, [None, depth])
    sch.reorder(j_0, i_0, k_0, k_1, i_1, j_1)
    return i_0, i_1, j_0, j_1, k_0, k_1


@pytest.mark.parametrize("shape", [(32, 64, 48), (33, 65, 77), (7, 3, 5), (1, 100, 1)], ids=str)
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("decomposed", [False, True])
def test_optimized_matmul(shape: tuple[int, int, int], cached: bool, decomposed: bool) -> None:
    m, n, k = shape
    sch = Schedule(matmul(*shape))
    block = sch.get_block("C")
    result = sch.cache_write(block, 0, "local") if cached else None
    i_0, i_1, j_0, j_1, k_0, k_1 = tiled(sch, 4, 16, 8)
    sch.vectorize(j_1)
    sch.unroll(i_1)
    if result is not None:
        sch.reverse_compute_at(result, i_0)
        sch.vectorize(sch.get_loops(result)[-1])
    sch.parallel(j_0)
    if decomposed:
        sch.decompose_reduction(block, k_0)
    a, b = floats(m, k), floats(k, n, seed=1)
    c = np.full((m, n), np.nan, F32)
    build(sch.mod, target="llvm")(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


KERNEL = (
    "tir-decompose-reduction,tir-plan-buffer-allocation,tir-compact-buffer-allocation,tir-to-scf,"
    "scf-promote-accumulators"
)


def test_accumulators_stay_in_registers() -> None:
    sch = Schedule(matmul(32, 64, 48))
    _, i_1, _, j_1, _, _ = tiled(sch, 4, 16, 8)
    sch.vectorize(j_1)
    sch.unroll(i_1)
    text = lowered(sch.mod, KERNEL)
    inner = text[text.rindex("scf.for") :]
    body = inner[: inner.index("scf.yield")]
    assert text.count("iter_args") == 2
    assert body.count("vector.store") == 0
    assert body.count("vector.load") == 4 or "vector.load" in body
    assert body.count("arith.mulf") == 4
    assert "scf.if" not in text


def test_buffers_shrink() -> None:
    """A producer computed at a loop of its consumer keeps what one iteration needs."""
    module = program(
        "P = T.alloc_buffer((66, 66), 'float32')\n"
        "for i, j in T.grid(66, 66):\n    with T.block('P'):\n"
        "        vi, vj = T.axis.remap('SS', [i, j])\n        P[vi, vj] = A[vi, vj] * A[vi, vj]\n"
        "for i, j in T.grid(64, 64):\n    with T.block('B'):\n"
        "        vi, vj = T.axis.remap('SS', [i, j])\n"
        "        B[vi, vj] = P[vi, vj] + P[vi + 1, vj + 2] + P[vi + 2, vj]",
        A=((66, 66), F32), B=((64, 64), F32),
    )  # fmt: skip
    sch = Schedule(module)
    i, j = sch.get_loops(sch.get_block("B"))
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.compute_at(sch.get_block("P"), j_0)
    sch.vectorize(j_1)
    sch.parallel(i_0)
    text = lowered(sch.mod, KERNEL)
    assert "memref.alloc() : memref<10x18xf32>" in text
    assert text.index("scf.parallel") < text.index("memref.alloc()")
    a, b = floats(66, 66), np.zeros((64, 64), F32)
    p = a * a
    check(sch.mod, [a, b], p[:64, :64] + p[1:65, 2:66] + p[2:66, :64])


@pytest.mark.parametrize("extent", [1, 3, 17])
def test_unrolled(extent: int) -> None:
    module = program(
        f"for i in T.unroll(2, {extent + 2}):\n    B[i - 2] = A[i] * T.float32(3)",
        A=((extent + 2,), F32), B=((extent,), F32),
    )  # fmt: skip
    assert "scf.for" not in lowered(module)
    a = floats(extent + 2)
    check(module, [a, np.zeros(extent, F32)], a[2:] * 3)


def test_unrolled_without_end() -> None:
    """A loop too long to write out, and one whose length is not known, stay loops."""
    module = from_source(
        "@I.ir_module\nclass Module:\n    @T.prim_func\n    def main(a: T.handle, b: T.handle):\n"
        "        n = T.int64()\n        A = T.match_buffer(a, (n,), 'float32')\n"
        "        B = T.match_buffer(b, (n,), 'float32')\n"
        "        for i in T.unroll(n):\n            B[i] = A[i] + T.float32(1)\n"
        "        for i in T.vectorized(n):\n            B[i] = B[i] * T.float32(2)\n"
    )
    assert lowered(module).count("scf.for") == 2
    for size in (0, 1, 1000):
        a = floats(size)
        check(module, [a, np.zeros(size, F32)], (a + 1) * 2)


@pytest.mark.parametrize("explicit", [0, 1])
def test_unroll_pragmas(explicit: int) -> None:
    sch = Schedule(matmul(4, 4, 4))
    (i, *_) = sch.get_loops(sch.get_block("C"))
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.annotate(i, "pragma_unroll_explicit", explicit)
    assert lowered(sch.mod).count("scf.for") == (1 if explicit else 3)
    a, b = floats(4, 4), floats(4, 4, seed=1)
    check(sch.mod, [a, b, np.zeros((4, 4), F32)], a @ b)
