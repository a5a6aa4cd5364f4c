"""Matrix products by 8x8 elements a thread: right on the emulated GPU at any size, chosen for large
products, and as wide in memory as they are meant to be."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, te
from relax_mlir.dlight.analysis.common_analysis import normalize_prim_func
from relax_mlir.dlight.gpu.matmul_form import (
    Traits,
    inline_consumers,
    normalize_matmul,
    reduction_block,
)
from relax_mlir.dlight.gpu.matmul_register_tiles import (
    RegisterTiles,
    register_tiles,
    schedule_register_tiles,
)
from relax_mlir.ir import IRModule
from relax_mlir.script import tir as T
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule
from relax_mlir.transform import PassContext
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import symbolic_rows_matmul
from tests.gpu.ptxas import assemble
from tests.gpu.test_dlight_rules import placeholders, prim_func, product, scheduled

FLOATS = ("float32", "float32", "float32")


def tiled(function: PrimFunc, tiles: RegisterTiles) -> IRModule:
    sch = Schedule(function)
    assert normalize_prim_func(sch) is not None
    block = reduction_block(sch)
    assert block is not None and normalize_matmul(sch, block) is not None
    schedule_register_tiles(sch, block, tiles, inline_consumers)
    return sch.mod.verify()


def layers(m: int, n: int, k: int, batch: int, transposed: bool, dtype: str) -> PrimFunc:
    """`max(2 A @ B + bias, 0)`, with the factor before and the rest after the product."""
    b_shape = (batch, n, k) if transposed else (batch, k, n)
    a, b, bias = placeholders((batch, m, k), b_shape, (n,), dtype=dtype)
    twice = te.compute(a.shape, lambda *i: a(*i) * T.cast(2, dtype), name="twice")
    c = product(twice, b, transposed)
    biased = te.compute(c.shape, lambda s, i, j: c[s, i, j] + bias[j], name="biased")
    out = te.compute(c.shape, lambda *i: T.max(biased(*i), T.cast(0, dtype)), name="relu")
    return prim_func([a, b, bias], out)


@pytest.mark.parametrize(
    "tiles, m, n, k, transposed, dtype",
    [
        (RegisterTiles(8, 8), 64, 128, 24, False, "float32"),
        (RegisterTiles(8, 8), 70, 33, 19, True, "float32"),
        (RegisterTiles(8, 16), 65, 130, 7, False, "float32"),
        (RegisterTiles(16, 8), 128, 64, 16, True, "float16"),
        (RegisterTiles(16, 16), 130, 131, 33, False, "float32"),
    ],
    ids=str,
)
def test_products(
    tiles: RegisterTiles, m: int, n: int, k: int, transposed: bool, dtype: str
) -> None:
    module = tiled(layers(m, n, k, 2, transposed, dtype), tiles)
    rng = np.random.default_rng(k)
    x = rng.integers(-2, 3, (2, m, k))
    y = rng.integers(-2, 3, (2, n, k) if transposed else (2, k, n))
    bias, out = rng.integers(-2, 3, n), np.zeros((2, m, n), dtype)
    with PassContext(opt_level=0):
        run_emulated(module, *(v.astype(dtype) for v in (x, y, bias)), out, order="reverse")
    wanted = np.maximum(2 * x @ (y.swapaxes(1, 2) if transposed else y) + bias, 0)
    np.testing.assert_array_equal(out, wanted)


def test_any_order_of_threads() -> None:
    a, b = placeholders((64, 16), (16, 64))
    module = tiled(prim_func([a, b], product(a, b)), RegisterTiles(8, 8))
    rng = np.random.default_rng(0)
    x, y = rng.random((64, 16), np.float32), rng.random((16, 64), np.float32)
    out = np.zeros((64, 64), "float32")
    run_emulated(module, x, y, out)
    np.testing.assert_allclose(out, x @ y, rtol=1e-5)


def test_symbolic_rows() -> None:
    module = tiled(symbolic_rows_matmul(), RegisterTiles(8, 8))
    rng = np.random.default_rng(1)
    y = rng.random((20, 40), np.float32)
    for rows in (1, 100):
        x, out = rng.random((rows, 20), np.float32), np.zeros((rows, 40), "float32")
        run_emulated(module, x, y, out, order="random", seed=rows)
        np.testing.assert_allclose(out, x @ y, rtol=1e-5)


def test_which_tiles() -> None:
    def chosen(
        batch: object, rows: object, columns: object, dtypes: tuple[str, str, str] = FLOATS
    ) -> RegisterTiles | None:
        traits = Traits(list("SIJK"), [batch, rows, columns, 64], [], [], [])
        return register_tiles(traits, dtypes)

    assert chosen(1, 4096, 4096) == RegisterTiles(16, 16)
    assert chosen(1, 1024, 1024) == RegisterTiles(16, 8)
    assert chosen(2, 512, 512) == RegisterTiles(8, 8)
    assert chosen(1, 512, 512) is None
    assert chosen(1, "n", 4096) == RegisterTiles(16, 16)
    assert chosen(1, 4096, 4096, ("float64", "float64", "float64")) is None
    assert chosen(1, 4096, 4096, ("int8", "int8", "int32")) is None


def test_the_rule_chooses_them_and_moves_vectors() -> None:
    a, b = placeholders((1024, 256), (256, 1024))
    module = scheduled(dlight.gpu.Matmul(), prim_func([a, b], product(a, b)))
    built = relax_mlir.build(module, target={"kind": "cuda", "arch": "sm_80"})
    text = kernels(built)
    assert "known_block_size = array<i32: 8, 16, 1>" in text
    # Each of a thread's vectors of rows and columns, and of its results, in one access.
    assert text.count("vector<4xf32>") >= 8 and "nvgpu.device_async_copy" in text
    assert "ld.shared.v4" in kernels(built, "ptx") and "st.global.v4" in kernels(built, "ptx")


def test_pragmas_on_threads_hold_for_what_they_run() -> None:
    """Loops of up to so many steps are LLVM's to write out; longer ones stay."""

    @T.prim_func
    def main(A: T.Buffer((32, 4000), "float32"), B: T.Buffer((32, 4000), "float32")):
        for i in T.thread_binding(
            32,
            thread="threadIdx.x",
            annotations={"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": 0},
        ):
            for j, k in T.grid(500, 8):
                with T.block("B"):
                    vi = T.axis.spatial(32, i)
                    vj = T.axis.spatial(4000, j * 8 + k)
                    B[vi, vj] = A[vi, vj] * A[vi, vj]

    built = relax_mlir.build(main, target={"kind": "cuda", "arch": "sm_80"})
    assert kernels(built).count("llvm.loop_annotation = ") == 1
    ptx = kernels(built, "ptx")
    assert ptx.count("st.global") % 8 == 0 and ptx.count("bra") == 1


def test_batches_of_symbolic_sizes() -> None:
    """Three sizes that only run time knows: batches have blocks of their own."""
    s, m, n = (te.var(name, "int64") for name in "smn")
    a, b = placeholders((s, m, 19), (s, 19, n))
    module = scheduled(dlight.gpu.Matmul(), prim_func([a, b], product(a, b)))
    assert 'thread="blockIdx.z"' in module.script()
    rng = np.random.default_rng(9)
    x, y = (rng.integers(-3, 4, shape).astype("float32") for shape in ((2, 70, 19), (2, 19, 33)))
    out = np.zeros((2, 70, 33), "float32")
    with PassContext(opt_level=0):
        built = run_emulated(module, x, y, out, order="reverse")
    np.testing.assert_array_equal(out, x @ y)
    (resources,) = assemble(kernels(built, "ptx"), "sm_80").values()
    assert resources.spills == resources.stack == 0
