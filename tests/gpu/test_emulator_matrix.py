"""Tensor cores and asynchronous copies on the emulator."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relax_mlir.runtime import emulator
from relax_mlir.runtime.emulator import EmulatorError, compile_kernels
from tests.gpu.emulator_kernels import WG, module

DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i32": np.int32,
}  # fmt: skip


def launch(text: str, args: list[Any], *, checks: bool = True, order: str = "forward") -> None:
    kernel = compile_kernels(text, checks=checks)["k"]
    with emulator.options(order=order, seed=3):
        kernel.launch((1,), (32,), 0, args)


def random(shape: tuple[int, ...], kind: str) -> np.ndarray:
    rng = np.random.default_rng(11)
    if kind == "i8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(np.float32).astype(DTYPES[kind])


# One tile of 16x8 by a warp: 16x16 of A and 8x16 of B (stored by columns) through shared memory.
STAGED = """
%t = gpu.thread_id x
%r = arith.divui %t, %c2 : index
%h = arith.remui %t, %c2 : index
%cc = arith.muli %h, %c8 : index
%tk0 = nvgpu.device_async_copy %A[%r, %cc], %sA[%r, %cc], 8 : memref<16x16xf16> to memref<16x16xf16, #WG>
%p = arith.cmpi ult, %t, %c16 : index
scf.if %p {
%tk1 = nvgpu.device_async_copy %B[%r, %cc], %sB[%r, %cc], 8 : memref<8x16xf16> to memref<8x16xf16, #WG>
}
%g = nvgpu.device_async_create_group %tk0
@wait nvgpu.device_async_wait %g {numGroups = 0 : i32}
@early nvgpu.device_async_wait %g {numGroups = 1 : i32}
@barrier gpu.barrier
%lr = arith.remui %t, %c16 : index
%lc0 = arith.divui %t, %c16 : index
%lc = arith.muli %lc0, %c8 : index
%fa = nvgpu.ldmatrix %sA[%lr, %lc] {numTiles = 4 : i32, transpose = false} : memref<16x16xf16, #WG> -> vector<4x2xf16>
%br = arith.remui %t, %c8 : index
%bc0 = arith.divui %lr, %c8 : index
%bc = arith.muli %bc0, %c8 : index
%fb = nvgpu.ldmatrix %sB[%br, %bc] {numTiles = 2 : i32, transpose = false} : memref<8x16xf16, #WG> -> vector<2x2xf16>
%z = arith.constant dense<0.0> : vector<2x2x#C>
%d = nvgpu.mma.sync (%fa, %fb, %z) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2x#C>) -> vector<2x2x#C>
%row = arith.divui %t, %c4 : index
%q = arith.remui %t, %c4 : index
%col = arith.muli %q, %c2 : index
%row8 = arith.addi %row, %c8 : index
%v0 = vector.extract %d[0] : vector<2x#C> from vector<2x2x#C>
%v1 = vector.extract %d[1] : vector<2x#C> from vector<2x2x#C>
vector.store %v0, %C[%row, %col] : memref<16x8x#C>, vector<2x#C>
vector.store %v1, %C[%row8, %col] : memref<16x8x#C>, vector<2x#C>
"""  # noqa: E501


def staged(total: str, *leave_out: str) -> str:
    body = STAGED.replace("#WG", WG).replace("#C", total)
    shared = f'%sA: memref<16x16xf16, {WG}> loc("A_shared"), %sB: memref<8x16xf16, {WG}>'
    signature = f"%A: memref<16x16xf16>, %B: memref<8x16xf16>, %C: memref<16x8x{total}>"
    return module(body, signature, shared=shared, leave_out=leave_out)


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("total", ["f32", "f16"])
@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
def test_tile_through_shared_memory(total: str, order: str, checks: bool) -> None:
    a, b = random((16, 16), "f16"), random((8, 16), "f16")
    c = np.zeros((16, 8), DTYPES[total])
    launch(staged(total, "early"), [a, b, c], order=order, checks=checks)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    tolerance = 1e-5 if total == "f32" else 1e-2
    np.testing.assert_allclose(c.astype(np.float32), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("order", ["forward", "reverse", "random"])
@pytest.mark.parametrize(
    "leave_out,kinds",
    [
        (("early", "wait"), ("uninitialised",)),
        (("wait",), ("uninitialised",)),
        (("early", "barrier"), ("race", "uninitialised")),
    ],
    ids=["no wait", "wait for too little", "no barrier"],
)
def test_missing_synchronisation(
    order: str, leave_out: tuple[str, ...], kinds: tuple[str, ...]
) -> None:
    args = [random((16, 16), "f16"), random((8, 16), "f16"), np.zeros((16, 8), np.float32)]
    with pytest.raises(EmulatorError) as caught:
        launch(staged("f32", *leave_out), args, order=order)
    assert caught.value.kind in kinds
    if "wait" in leave_out:
        assert "asynchronous copy" in str(caught.value)


def test_copies_of_later_groups_stay_under_way() -> None:
    """Two groups, of which one is waited for: its data is there, the other's is not."""
    body = """
    %t = gpu.thread_id x
    %i = arith.muli %t, %c4 : index
    %a = nvgpu.device_async_copy %x[%c0, %i], %s[%c0, %i], 4 : memref<2x128xf32> to memref<2x128xf32, #WG>
    %g0 = nvgpu.device_async_create_group %a
    %b = nvgpu.device_async_copy %x[%c1, %i], %s[%c1, %i], 4 : memref<2x128xf32> to memref<2x128xf32, #WG>
    %g1 = nvgpu.device_async_create_group %b
    nvgpu.device_async_wait %g0 {numGroups = 1 : i32}
    %v = vector.load %s[%row, %i] : memref<2x128xf32, #WG>, vector<4xf32>
    vector.store %v, %y[%c0, %i] : memref<1x128xf32>, vector<4xf32>
    nvgpu.device_async_wait %g1 {numGroups = 0 : i32}
    """.replace("#WG", WG)  # noqa: E501
    text = module(body, "%x: memref<2x128xf32>, %y: memref<1x128xf32>, %row: index",
                  shared=f"%s: memref<2x128xf32, {WG}>")  # fmt: skip
    x, y = random((2, 128), "f32"), np.zeros((1, 128), np.float32)
    launch(text, [x, y, 0])
    np.testing.assert_array_equal(y[0], x[0])
    with pytest.raises(EmulatorError, match="asynchronous copy"):
        launch(text, [x, y, 1])


def test_copy_of_fewer_elements_fills_with_zeros() -> None:
    body = """
    %a = nvgpu.device_async_copy %x[%c4], %s[%c0], 4, %n : memref<6xf32> to memref<4xf32, #WG>
    %g = nvgpu.device_async_create_group %a
    nvgpu.device_async_wait %g
    %v = vector.load %s[%c0] : memref<4xf32, #WG>, vector<4xf32>
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
    vector.store %v, %y[%c0] : memref<4xf32>, vector<4xf32>
    }
    """.replace("#WG", WG)
    text = module(body, "%x: memref<6xf32>, %y: memref<4xf32>, %n: index",
                  shared=f"%s: memref<4xf32, {WG}>")  # fmt: skip
    x, y = np.arange(6, dtype=np.float32), np.full(4, 9, np.float32)
    kernel = compile_kernels(text)["k"]
    kernel.launch((1,), (1,), 0, [x, y, 2])
    assert y.tolist() == [4, 5, 0, 0]


# -- all shapes of mma.sync, operands straight from global memory ------------------------------
SHAPES = {
    # (m, n, k): dtype of A and B, of C, elements of A, B, C a lane, as nvgpu writes them
    "f16 m16n8k16": (16, 8, 16, "f16", "f32", (4, 2), (2, 2), ""),
    "f16 m16n8k8": (16, 8, 8, "f16", "f32", (2, 2), (1, 2), ""),
    "tf32 m16n8k8": (16, 8, 8, "f32", "f32", (4, 1), (2, 1), ", tf32Enabled"),
    "tf32 m16n8k4": (16, 8, 4, "f32", "f32", (2, 1), (1, 1), ", tf32Enabled"),
    "s8 m16n8k32": (16, 8, 32, "i8", "i32", (4, 4), (2, 4), ""),
    "s8 m16n8k16": (16, 8, 16, "i8", "i32", (2, 4), (1, 4), ""),
    "f64 m8n8k4": (8, 8, 4, "f64", "f64", (1, 1), (1, 1), ""),
}


def fragments(matrix: np.ndarray, registers: int, elements: int) -> np.ndarray:
    """Lane by lane what the registers of A (or, transposed, of B) hold, after the PTX ISA."""
    halves = matrix.shape[0] // 8
    out = np.zeros((32, registers, elements), matrix.dtype)
    for lane in range(32):
        group, within = divmod(lane, 4)
        for register in range(registers):
            row = group + 8 * (register % halves)
            first = within * elements + 4 * elements * (register // halves)
            out[lane, register] = matrix[row, first : first + elements]
    return out


@pytest.mark.parametrize("name", SHAPES)
def test_mma_shapes(name: str) -> None:
    m, n, k, kind, total, a_shape, b_shape, extra = SHAPES[name]
    rows = max(1, m // 8)
    a_kind, b_kind, c_kind = (
        f"vector<{r}x{e}x{t}>"
        for (r, e), t in ((a_shape, kind), (b_shape, kind), ((rows, 2), total))
    )
    loads = "\n".join(
        f"%v{v} = vector.transfer_read %{v}[%t, %c0, %c0], %p{v} : memref<32x{r}x{e}x{t}>, "
        f"vector<{r}x{e}x{t}>"
        for v, (r, e), t in (("a", a_shape, kind), ("b", b_shape, kind), ("c", (rows, 2), total))
    )
    zeros = "\n".join(
        f"%p{v} = arith.constant 0{'' if t.startswith('i') else '.0'} : {t}"
        for v, t in (("a", kind), ("b", kind), ("c", total))
    )
    body = f"""
    %t = gpu.thread_id x
    {zeros}
    {loads}
    %d = nvgpu.mma.sync (%va, %vb, %vc) {{mmaShape = [{m}, {n}, {k}]{extra}}} : ({a_kind}, {b_kind}, {c_kind}) -> {c_kind}
    vector.transfer_write %d, %o[%t, %c0, %c0] : {c_kind}, memref<32x{rows}x2x{total}>
    """  # noqa: E501
    signature = ", ".join((
        f"%a: memref<32x{a_shape[0]}x{a_shape[1]}x{kind}>",
        f"%b: memref<32x{b_shape[0]}x{b_shape[1]}x{kind}>",
        f"%c: memref<32x{rows}x2x{total}>", f"%o: memref<32x{rows}x2x{total}>",
    ))  # fmt: skip
    a, b, c = random((m, k), kind), random((n, k), kind), random((m, n), total_kind(total))
    c = c.astype(DTYPES[total])
    spread = [fragments(a, *a_shape), fragments(b, *b_shape), accumulators(c)]
    out = np.zeros_like(spread[2])
    launch(module(body, signature), [*spread, out], checks=True)
    if kind == "f32":  # tf32 keeps ten bits
        a, b = ((v.view(np.int32) & -(1 << 13)).view(np.float32) for v in (a, b))
    wide = np.int32 if kind == "i8" else np.float64
    expected = a.astype(wide) @ b.astype(wide).T + c.astype(wide)
    np.testing.assert_allclose(out, accumulators(expected), rtol=1e-5, atol=1e-5)


def total_kind(total: str) -> str:
    return "i8" if total == "i32" else "f32"


def accumulators(matrix: np.ndarray) -> np.ndarray:
    """Lane by lane what the registers of C hold."""
    rows = matrix.shape[0] // 8
    out = np.zeros((32, rows, 2), matrix.dtype)
    for lane in range(32):
        group, within = divmod(lane, 4)
        for half in range(rows):
            out[lane, half] = matrix[group + 8 * half, 2 * within : 2 * within + 2]
    return out


@pytest.mark.parametrize("kind,total", [("f16", "f32"), ("f16", "f16")])
@pytest.mark.parametrize("transposed", [False, True])
def test_subgroup_matrices(kind: str, total: str, transposed: bool) -> None:
    """Products of matrices of a warp, carried through a loop, with an operation on the result."""
    turn = "transpose, " if transposed else ""
    body = """
    %c64 = arith.constant 64 : index
    %half = arith.constant 0.5 : #C
    %h = gpu.subgroup_mma_constant_matrix %half : !gpu.mma_matrix<16x16x#C, "COp">
    %c = gpu.subgroup_mma_load_matrix %C[%c0, %c0] {leadDimension = 16 : index} : memref<16x16x#C> -> !gpu.mma_matrix<16x16x#C, "COp">
    %r = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %c) -> (!gpu.mma_matrix<16x16x#C, "COp">) {
    %a = gpu.subgroup_mma_load_matrix %A[%c0, %k] {leadDimension = 64 : index} : memref<16x64x#A> -> !gpu.mma_matrix<16x16x#A, "AOp">
    %b = gpu.subgroup_mma_load_matrix %B[#I] {#TleadDimension = #L : index} : memref<#Bx#A> -> !gpu.mma_matrix<16x16x#A, "BOp">
    %n = gpu.subgroup_mma_compute %a, %b, %acc : !gpu.mma_matrix<16x16x#A, "AOp">, !gpu.mma_matrix<16x16x#A, "BOp"> -> !gpu.mma_matrix<16x16x#C, "COp">
    scf.yield %n : !gpu.mma_matrix<16x16x#C, "COp">
    }
    %s = gpu.subgroup_mma_elementwise mulf %r, %h : (!gpu.mma_matrix<16x16x#C, "COp">, !gpu.mma_matrix<16x16x#C, "COp">) -> !gpu.mma_matrix<16x16x#C, "COp">
    gpu.subgroup_mma_store_matrix %s, %C[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16x#C, "COp">, memref<16x16x#C>
    """  # noqa: E501
    shape = "16x64" if transposed else "64x16"
    for name, text in (("#C", total), ("#A", kind), ("#T", turn), ("#Bx", f"{shape}x"),
                       ("#I", "%c0, %k" if transposed else "%k, %c0"),
                       ("#L", "64" if transposed else "16")):  # fmt: skip
        body = body.replace(name, text)
    signature = f"%A: memref<16x64x{kind}>, %B: memref<{shape}x{kind}>, %C: memref<16x16x{total}>"
    a, b = random((16, 64), kind), random((64, 16), kind)
    c = random((16, 16), total)
    expected = 0.5 * (a.astype(np.float64) @ b.astype(np.float64) + c)
    launch(module(body, signature), [a, b.T.copy() if transposed else b, c])
    tolerance = 1e-5 if total == "f32" else 3e-2
    np.testing.assert_allclose(c, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_nvvm_forms_with_bfloat16(order: str) -> None:
    """ldmatrix and mma.sync as the nvvm dialect has them, on bare addresses; B transposed."""
    body = """
    %t = gpu.thread_id x
    %sap = memref.extract_aligned_pointer_as_index %sa : memref<16x16xbf16, #WG> -> index
    %sbp = memref.extract_aligned_pointer_as_index %sb : memref<16x8xbf16, #WG> -> index
    %r = arith.divui %t, %c2 : index
    %h = arith.remui %t, %c2 : index
    %cc = arith.muli %h, %c8 : index
    %va = vector.load %a[%r, %cc] : memref<16x16xbf16>, vector<8xbf16>
    vector.store %va, %sa[%r, %cc] : memref<16x16xbf16, #WG>, vector<8xbf16>
    %low = arith.cmpi ult, %t, %c16 : index
    scf.if %low {
    %vb = vector.load %b[%t, %c0] : memref<16x8xbf16>, vector<8xbf16>
    vector.store %vb, %sb[%t, %c0] : memref<16x8xbf16, #WG>, vector<8xbf16>
    }
    gpu.barrier
    %lr = arith.remui %t, %c16 : index
    %lc0 = arith.divui %t, %c16 : index
    %la0 = arith.muli %lr, %c16 : index
    %la1 = arith.muli %lc0, %c8 : index
    %la2 = arith.addi %la0, %la1 : index
    %la3 = arith.muli %la2, %c2 : index
    %la = arith.addi %sap, %la3 : index
    %lai = arith.index_cast %la : index to i64
    %pa = llvm.inttoptr %lai : i64 to !llvm.ptr<3>
    %fa = nvvm.ldmatrix %pa {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %lb0 = arith.muli %lr, %c16 : index
    %lb = arith.addi %sbp, %lb0 : index
    %lbi = arith.index_cast %lb : index to i64
    %pb = llvm.inttoptr %lbi : i64 to !llvm.ptr<3>
    %fb = nvvm.ldmatrix %pb {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    %a0 = llvm.extractvalue %fa[0] : !llvm.struct<(i32, i32, i32, i32)>
    %a1 = llvm.extractvalue %fa[1] : !llvm.struct<(i32, i32, i32, i32)>
    %a2 = llvm.extractvalue %fa[2] : !llvm.struct<(i32, i32, i32, i32)>
    %a3 = llvm.extractvalue %fa[3] : !llvm.struct<(i32, i32, i32, i32)>
    %b0 = llvm.extractvalue %fb[0] : !llvm.struct<(i32, i32)>
    %b1 = llvm.extractvalue %fb[1] : !llvm.struct<(i32, i32)>
    %z = arith.constant 0.0 : f32
    %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%z, %z, %z, %z] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %row = arith.divui %t, %c4 : index
    %q = arith.remui %t, %c4 : index
    %col = arith.muli %q, %c2 : index
    %col1 = arith.addi %col, %c1 : index
    %row8 = arith.addi %row, %c8 : index
    %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
    %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
    %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
    %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
    memref.store %d0, %c[%row, %col] : memref<16x8xf32>
    memref.store %d1, %c[%row, %col1] : memref<16x8xf32>
    memref.store %d2, %c[%row8, %col] : memref<16x8xf32>
    memref.store %d3, %c[%row8, %col1] : memref<16x8xf32>
    """.replace("#WG", WG)  # noqa: E501
    text = module(
        body, "%a: memref<16x16xbf16>, %b: memref<16x8xbf16>, %c: memref<16x8xf32>",
        shared=f"%sa: memref<16x16xbf16, {WG}>, %sb: memref<16x8xbf16, {WG}>",
    )  # fmt: skip
    a, b, c = random((16, 16), "bf16"), random((16, 8), "bf16"), np.zeros((16, 8), np.float32)
    launch(text, [a, b, c], order=order)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)
