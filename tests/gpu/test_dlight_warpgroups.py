"""Products by wgmma on sm_90a: every size of tiles, operands in either order, odd sizes, and
what the emulator says of kernels that lack a wait, a fence or a barrier."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, te
from relax_mlir.dlight.analysis.common_analysis import normalize_prim_func
from relax_mlir.dlight.gpu.matmul_form import (
    inline_consumers,
    normalize_matmul,
    reduction_block,
)
from relax_mlir.dlight.gpu.matmul_warpgroups import (
    WARPGROUP_TILES,
    WarpgroupTiles,
    schedule_on_warpgroups,
)
from relax_mlir.errors import CompileError
from relax_mlir.ir import IRModule
from relax_mlir.runtime import emulator
from relax_mlir.runtime.emulator import EmulatorError
from relax_mlir.script import from_source
from relax_mlir.script import tir as T
from relax_mlir.target import Target
from relax_mlir.testing.assemblers import Assembled, ToolMissing, assemble_ptx, disassemble
from relax_mlir.testing.mutations import kernel_operations, without_operation
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule
from relax_mlir.transform import PassContext
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.test_dlight_rules import (
    attention,
    attention_in_numpy,
    matmul_of,
    placeholders,
    prim_func,
    product,
    scheduled,
)

TARGET = Target({"kind": "cuda", "arch": "sm_90a"})
WAITS = {
    "gpu.barrier": ("race", "uninitialised", "no fence"),
    "nvvm.cp.async.wait.group": ("uninitialised",),
    "nvvm.fence.proxy": ("no fence",),
}
"""Operations of a pipeline -> what is reported when one is missing."""


def matrices(m: int, n: int, k: int, transposed: bool, dtype: str = "float16") -> Any:
    """Whole numbers, of which sums are exact, and their product."""
    kind, rng = getattr(ml_dtypes, dtype, dtype), np.random.default_rng(m + k)
    x = rng.integers(-2, 3, (m, k)).astype(kind)
    y = rng.integers(-2, 3, (n, k) if transposed else (k, n)).astype(kind)
    wanted = x.astype("float32") @ (y.T if transposed else y).astype("float32")
    return x, y, wanted


def product_of(m: int, n: int, k: int, transposed: bool = False) -> PrimFunc:
    a, b = placeholders((m, k), (n, k) if transposed else (k, n), dtype="float16")
    return prim_func([a, b], product(a, b, transposed))


def tiled(function: PrimFunc, tiles: WarpgroupTiles) -> IRModule:
    sch = Schedule(function)
    assert normalize_prim_func(sch) is not None
    block = reduction_block(sch)
    traits = None if block is None else normalize_matmul(sch, block)
    assert block is not None and traits is not None
    dtypes = ("float16", "float16")
    schedule_on_warpgroups(sch, block, dtypes, traits, inline_consumers, tiles)
    return sch.mod.verify()


def assembled(built: Any) -> Assembled:
    try:
        return assemble_ptx(kernels(built, "ptx"), "sm_90a")
    except ToolMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("tiles", WARPGROUP_TILES, ids=lambda t: f"{t.rows}x{t.columns}")
@pytest.mark.parametrize("transposed", [False, True])
def test_products(tiles: WarpgroupTiles, transposed: bool) -> None:
    """One tile and a part of another; a slice is the last of three and not full."""
    m, n, k = tiles.rows, tiles.columns + 8 * transposed, 136
    module = tiled(product_of(m, n, k, transposed), tiles)
    x, y, wanted = matrices(m, n, k, transposed)
    out = np.zeros((m, n), "float16")
    with PassContext(opt_level=0):
        run_emulated(module, x, y, out, target=TARGET, order="reverse")
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("m, n, k", [(70, 130, 75), (64, 64, 64), (65, 72, 264)])
def test_default_schedule(dtype: str, m: int, n: int, k: int) -> None:
    """Sums of float32, odd sizes, and an activation after."""
    module = scheduled(dlight.gpu.Matmul(), matmul_of(m, n, k, dtype, "float32"), TARGET)
    assert "ptx_wgmma" in module.script()
    x, y, wanted = matrices(m, n, k, False, dtype)
    out = np.zeros((m, n), "float32")
    run_emulated(module, x, y, out, target=TARGET, order="random", seed=m)
    np.testing.assert_array_equal(out, np.maximum(wanted, 1))


def test_rounding_of_float16_sums() -> None:
    """Sums of float16 are those of the instruction: rounded once a step of sixteen."""
    module = scheduled(dlight.gpu.Matmul(), product_of(64, 64, 64), TARGET)
    x, y = np.full((64, 64), 1, "float16"), np.full((64, 64), 1, "float16")
    x[:, 0] = 2048  # behind which a float16 has no odd numbers
    out = np.zeros((64, 64), "float16")
    run_emulated(module, x, y, out, target=TARGET)
    np.testing.assert_array_equal(out, np.full((64, 64), 2048 + 16 + 16 + 16 + 16, "float16"))


def test_attention() -> None:
    module = scheduled(dlight.gpu.ReductionChain(), attention(70, 64, 1, 64, "float16"), TARGET)
    assert module.script().count("T.ptx_wgmma") == 2
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((n, 1, 64)).astype("float16") for n in (70, 64, 64))
    out = np.zeros((70, 1, 64), "float16")
    built = run_emulated(module, q, k, v, out, target=TARGET, order="random", seed=1)
    wanted = attention_in_numpy(*(x.astype("float64") for x in (q, k, v)))
    np.testing.assert_allclose(out, wanted, atol=2e-2)  # of sums in float16
    assert not any(r.spills or r.stack for r in assembled(built).resources.values())


def test_batches_and_symbolic_sizes() -> None:
    """Products of a batch have their own tiles; sizes that only run time knows keep `mma.sync`,
    whose registers need no constant sizes."""
    a, b = placeholders((3, 64, 64), (3, 64, 64), dtype="float16")
    module = scheduled(dlight.gpu.Matmul(), prim_func([a, b], product(a, b)), TARGET)
    assert "ptx_wgmma" in module.script()
    x, y = np.random.default_rng(2).integers(-2, 3, (2, 3, 64, 64)).astype("float16")
    out = np.zeros((3, 64, 64), "float16")
    run_emulated(module, x, y, out, target=TARGET, order="forward")
    np.testing.assert_array_equal(out, x @ y)
    n = te.var("n", "int64")
    a, b = placeholders((n, 64), (64, 64), dtype="float16")
    module = scheduled(dlight.gpu.Matmul(), prim_func([a, b], product(a, b)), TARGET)
    assert "ptx_wgmma" not in module.script() and "tvm_mma_sync" in module.script()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a"])
def test_other_architectures_have_none(arch: str) -> None:
    target = Target({"kind": "cuda", "arch": arch})
    module = scheduled(dlight.gpu.Matmul(), product_of(64, 64, 64), target)
    assert "wgmma" not in module.script()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("size", [4096, 256])
def test_machine_code(size: int, transposed: bool) -> None:
    """The sums stay in registers, and instructions follow each other without waiting."""
    module = scheduled(dlight.gpu.Matmul(), product_of(size, size, size, transposed), TARGET)
    built = relax_mlir.build(module, target=TARGET)
    columns, threads = {4096: (256, 512), 256: (64, 128)}[size]
    ptx = kernels(built, "ptx")
    assert f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f16.f16.f16" in ptx
    assert ptx.count("fence.proxy.async.shared::cta") >= 2
    assert ".extern .shared .align 1024" in ptx
    assert f".maxntid 32, {threads // 32}, 1" in ptx
    made = assembled(built)
    (resources,) = made.resources.values()
    assert resources.spills == resources.stack == 0
    try:
        code = disassemble(made.cubin)
    except ToolMissing as missing:
        pytest.skip(str(missing))
    assert code.count("HGMMA.64x") % 4 == 0 and code.count("HGMMA.64x") >= 4
    assert (".tnspB" in code) == (not transposed)
    # A group is waited for once, not after each instruction.
    assert code.count("WARPGROUP.DEPBAR") <= code.count("HGMMA.64x") // 4


@pytest.fixture(scope="module")
def small() -> Any:
    return relax_mlir.build(
        scheduled(dlight.gpu.Matmul(), product_of(64, 64, 320), TARGET), target=TARGET
    )


def given() -> list[Any]:
    x, y, _ = matrices(64, 64, 320, False)
    arrays = (x, y, np.zeros((64, 64), "float16"))
    return [relax_mlir.runtime.tensor(a, relax_mlir.device("cuda-emu")) for a in arrays]


@pytest.mark.parametrize("operation", WAITS)
def test_every_wait_matters(small: Any, operation: str) -> None:
    """But the fences before the barriers that keep the next copies back from what is read."""
    count, reported = len(kernel_operations(small, operation)), 0
    assert count
    for number in range(count):
        broken = without_operation(small, operation, number)
        for order in ("forward", "reverse"):
            args = given()
            try:
                with emulator.options(order=order):
                    broken(*args)
            except EmulatorError as error:
                assert error.kind in WAITS[operation], (operation, number, str(error))
                reported += 1
            else:
                assert operation == "nvvm.fence.proxy", (operation, number)
                np.testing.assert_array_equal(args[2].numpy(), matrices(64, 64, 320, False)[2])
    assert reported >= 2


def test_report_of_a_missing_fence(small: Any) -> None:
    broken = small
    for _ in kernel_operations(small, "nvvm.fence.proxy"):
        broken = without_operation(broken, "nvvm.fence.proxy")
    with pytest.raises(EmulatorError, match=r"fence\.proxy\.async after the write") as caught:
        broken(*given())
    assert caught.value.buffer in ("A_reindex_shared_dyn", "B_reindex_shared_dyn")
    assert len(caught.value.accesses) == 2


@pytest.mark.parametrize(
    "operation", ["nvvm.wgmma.wait.group.sync.aligned", "nvvm.wgmma.commit.group.sync.aligned"]
)
def test_sums_are_waited_for(small: Any, operation: str) -> None:
    broken = without_operation(small, operation)
    with pytest.raises(CompileError, match=r"used before the group .* is waited for"):
        broken(*given())


WRONG_ROWS = """
@T.prim_func
def main(C: T.Buffer((64, 64), "float32")):
    a = T.alloc_buffer((64, 64), "float16", scope="shared.dyn")
    b = T.alloc_buffer((64, 64), "float16", scope="shared.dyn")
    for w in T.thread_binding(4, thread="threadIdx.y"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            sums = T.alloc_buffer((32, 32), "float32", scope="warp")
            T.evaluate(T.ptx_wgmma(
                "float32", "m64n64k16", "fp16", True, T.address_of(a[w * 8, 0]),
                T.address_of(b[0, 0]), sums.data, tx * 32,
            ))
            C[w, tx] = sums[tx, 0]
"""


def test_warps_of_a_group_have_its_rows() -> None:
    """Rows in another order than that of warps are refused."""
    with pytest.raises(CompileError, match="the four warps of a warpgroup"):
        relax_mlir.build(from_source(WRONG_ROWS, {"T": T}), target=TARGET)


OWN_TILES = """
@T.prim_func
def main(C: T.Buffer((64, 64), "float32")):
    a = T.alloc_buffer((64, 64), "float16", scope="shared.dyn")
    b = T.alloc_buffer((64, 72), "float16", scope="shared.dyn")
    for w in T.thread_binding(4, thread="threadIdx.y"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            sums = T.alloc_buffer((32, 32), "float32", scope="warp")
            for i, j in T.grid(16, 2):
                a[w * 16 + i, tx * 2 + j] = T.float16(1)
                b[w * 16 + i, tx * 2 + j] = T.float16(1)
            T.evaluate(T.ptx_wgmma(
                "float32", "m64n64k16", "fp16", True, T.address_of(a[w * 16, 0]),
                T.address_of(b[0, 0]), sums.data, tx * 32,
            ))
            C[w, tx] = sums[tx, 0]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b[w * 16 + i, tx * 2 + j]", "b[w * 16 + i, tx * 2 + 2 * j]", "in rows of 128 bytes"),
        (
            'b = T.alloc_buffer((64, 72), "float16", scope="shared.dyn")',
            'b = T.alloc_buffer((64, 72), "float16", scope="shared")',
            "not in memory of scope 'shared.dyn'",
        ),
    ],
)
def test_tiles_that_cannot_be_swizzled_are_refused(old: str, new: str, message: str) -> None:
    """Of the 72 columns as many are kept as are used: 64, or one more."""
    relax_mlir.build(from_source(OWN_TILES, {"T": T}), target=TARGET)
    with pytest.raises(CompileError, match=message):
        relax_mlir.build(from_source(OWN_TILES.replace(old, new), {"T": T}), target=TARGET)
