"""Default schedules on tensor cores: every size of tiles, operands in either order, attention."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, te
from relax_mlir.dlight.analysis.common_analysis import normalize_prim_func
from relax_mlir.dlight.gpu.matmul_form import reduction_block
from relax_mlir.dlight.gpu.matmul_tensor_cores import (
    WARP_TILES,
    WarpTiles,
    schedule_on_tensor_cores,
)
from relax_mlir.ir import IRModule
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule
from relax_mlir.transform import PassContext
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.ptxas import assemble
from tests.gpu.test_dlight_rules import (
    AMPERE,
    attention,
    attention_in_numpy,
    matmul_of,
    placeholders,
    prim_func,
    product,
    scheduled,
)

HOPPER = Target({"kind": "cuda", "arch": "sm_90"})


def tiled(function: PrimFunc, tiles: WarpTiles) -> IRModule:
    sch = Schedule(function)
    assert normalize_prim_func(sch) is not None
    block = reduction_block(sch)
    assert block is not None and schedule_on_tensor_cores(sch, block, AMPERE, tiles=tiles)
    return sch.mod.verify()


@pytest.mark.parametrize("tiles", WARP_TILES, ids=lambda t: f"{t.rows}x{t.columns}")
@pytest.mark.parametrize("transposed", [False, True])
def test_products(tiles: WarpTiles, transposed: bool) -> None:
    """One tile and a part of another; whole numbers are exact."""
    m, n, k = tiles.rows, tiles.columns + 8 * transposed, 70
    a, b = placeholders((m, k), (n, k) if transposed else (k, n), dtype="float16")
    module = tiled(prim_func([a, b], product(a, b, transposed)), tiles)
    rng = np.random.default_rng(n)
    x = rng.integers(-2, 3, (m, k)).astype("float16")
    y = rng.integers(-2, 3, (n, k) if transposed else (k, n)).astype("float16")
    out = np.zeros((m, n), "float16")
    with PassContext(opt_level=0):
        run_emulated(module, x, y, out, target=AMPERE, order="reverse")
    np.testing.assert_array_equal(out, x @ (y.T if transposed else y))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_order_of_the_second_operand(dtype: str) -> None:
    """Elements of 16 bits come in vectors in either order, and asynchronously."""
    function = matmul_of(128, 128, 128, dtype, "float32")
    module = scheduled(dlight.gpu.Matmul(), function, AMPERE)
    x, y = np.random.default_rng(5).integers(-3, 4, (2, 128, 128))
    kind = getattr(ml_dtypes, dtype, dtype)
    got = np.zeros((128, 128), "float32")
    built = run_emulated(module, x.astype(kind), y.astype(kind), got, target=AMPERE)
    np.testing.assert_array_equal(got, np.maximum(x @ y, 1))
    text = kernels(built)
    assert text.count("bypassL1") >= 4  # A and B, before the loop and in it
    assert "transpose = true" in text


@pytest.mark.parametrize("size", [4096, 1024, 256])
def test_fragments_are_registers(size: int) -> None:
    a, b = placeholders((size, size), (size, size), dtype="float16")
    module = scheduled(dlight.gpu.Matmul(), prim_func([a, b], product(a, b)), HOPPER)
    built: Any = relax_mlir.build(module, target=HOPPER)
    (resources,) = assemble(kernels(built, "ptx"), "sm_90").values()
    assert resources.spills == resources.stack == 0


def test_attention() -> None:
    """Both products, with the softmax computed while the second one's operand is fetched."""
    function = attention(70, 64, 1, 64, dtype="float16")
    module = scheduled(dlight.gpu.ReductionChain(), function, AMPERE)
    assert module.script().count("T.tvm_mma_sync") == 2
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((n, 1, 64)).astype("float16") for n in (70, 64, 64))
    out = np.zeros((70, 1, 64), "float16")
    built = run_emulated(module, q, k, v, out, target=AMPERE, order="random", seed=1)
    wanted = attention_in_numpy(*(x.astype("float64") for x in (q, k, v)))
    np.testing.assert_allclose(out, wanted, atol=2e-2)  # of sums in float16
    ptx = kernels(built, "ptx")
    # Quotients of float16 need no division of float32.
    assert "div.rn" not in ptx and "rcp.approx" in ptx
    assert not any(r.spills or r.stack for r in assemble(ptx, "sm_80").values())


def test_attention_without_them() -> None:
    module = scheduled(dlight.gpu.ReductionChain(), attention(70, 64, 1, 32), AMPERE)
    assert "mma" not in module.script()


SYMBOLIC = [("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32")]


def rows_times_matrix(rows: tuple[Any, ...], dtype: str, sums: str) -> PrimFunc:
    """`[*rows, 128] @ [128, 192]`."""
    r = te.reduce_axis((0, 128), "r")
    a, b = placeholders((*rows, 128), (128, 192), dtype=dtype)

    def element(*at: Any) -> Any:
        return te.sum(a[(*at[:-1], r)].astype(sums) * b[r, at[-1]].astype(sums), axis=r)

    return prim_func([a, b], te.compute((*rows, 192), element))


@pytest.mark.parametrize("dtype, sums", SYMBOLIC)
@pytest.mark.parametrize("names", ["n", "bn"])
def test_symbolic_rows(dtype: str, sums: str, names: str) -> None:
    """Rows that only run time knows, of one size or of two."""
    symbols = tuple(te.var(name, "int64") for name in names)
    module = scheduled(dlight.gpu.Matmul(), rows_times_matrix(symbols, dtype, sums), AMPERE)
    assert "T.tvm_mma_sync" in module.script()
    rng, kind = np.random.default_rng(8), getattr(ml_dtypes, dtype, dtype)
    y = rng.integers(-2, 3, (128, 192)).astype(kind)
    for rows in ((1,), (130,)) if len(names) == 1 else ((1, 1), (3, 23)):
        x = rng.integers(-2, 3, (*rows, 128)).astype(kind)
        out = np.zeros((*rows, 192), sums)
        run_emulated(module, x, y, out, target=AMPERE, order="random", seed=rows[-1])
        np.testing.assert_array_equal(out, x.astype(sums) @ y.astype(sums))
    built: Any = relax_mlir.build(module, target=AMPERE)
    # Fragments are as large as a warp's part of the rows, whatever those are.
    (resources,) = assemble(kernels(built, "ptx"), "sm_80").values()
    assert resources.spills == resources.stack == 0
