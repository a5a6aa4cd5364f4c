"""What benchmarks/gpu_paper says of kernels: against closed forms, and texts of which all is
known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from benchmarks.gpu import device_row
from benchmarks.gpu_paper.device import H200, Occupancy
from benchmarks.gpu_paper.estimate import estimate
from benchmarks.gpu_paper.instructions import mix_of_ptx, mix_of_sass
from benchmarks.gpu_paper.page import PAGE
from benchmarks.gpu_paper.work import KernelWork, kernel_works
from benchmarks.gpu_problems import GPU_PROBLEMS, RESOURCE_PROBLEMS, GpuProblem
from relax_mlir.script import tir as T
from relax_mlir.testing.assemblers import ToolMissing
from tests.gpu.gpu_programs import shared_matmul, vector_add

pytest.importorskip("llvmlite", reason="compiling for a GPU needs the extra 'gpu'")


def work_of(module: Any) -> KernelWork:
    (work,) = kernel_works(relax_mlir.build(module, target="cuda").mod.code.device_code).values()
    return work


# -- occupancy ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "threads, registers, shared, blocks, limit",
    [
        (256, 32, 0, 8, "warps"),
        (1024, 65, 0, 0, "registers"),  # 72 registers of 32 warps are more than there are
        (128, 64, 6912, 8, "registers"),
        (32, 16, 0, 32, "blocks"),
        (128, 32, 100 * 1024, 2, "shared"),
        (96, 40, 0, 17, "registers"),
    ],
)
def test_occupancy(threads: int, registers: int, shared: int, blocks: int, limit: str) -> None:
    found = Occupancy.of(H200, threads, registers, shared)
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.share == blocks * -(-threads // 32) / 64


# -- work --------------------------------------------------------------------------------------


def test_work_of_a_tiled_matmul() -> None:
    work = work_of(shared_matmul(64, 16))
    assert (work.blocks, work.threads, work.warps) == (16, 256, 128)
    assert work.flops == 2 * 64**3
    # Each of 4 steps, a thread brings an element of both factors; at the end it stores one.
    assert work.useful_bytes == 64 * 64 * 4 * (4 + 4 + 1)
    assert work.global_bytes == work.useful_bytes and work.coalescing == 1
    assert work.barriers == 2 * 4
    # A warp is two rows of a tile: it reads two elements of A, and a row of B that both have.
    assert work.bank_conflicts == 1
    assert work.shared_bytes == 128 * 4 * 32 * 4 * (2 + 2 * 16)


def test_work_of_strided_accesses() -> None:
    @T.prim_func
    def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 64), "float32")):
        for i in T.thread_binding(64, "blockIdx.x"):
            for j in T.thread_binding(32, "threadIdx.x"):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vj, vi] = A[vi, vj]

    work = work_of(main)
    # Rows are read as 4 sectors a warp; a column is written as a sector a lane.
    assert work.global_bytes == 64 * (4 + 32) * 32
    assert work.useful_bytes == 2 * 64 * 32 * 4


@pytest.mark.parametrize("padding, conflicts", [(0, 32), (1, 1), (2, 2)])
def test_work_of_banks(padding: int, conflicts: int) -> None:
    @T.prim_func
    def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        for j in T.thread_binding(32, "threadIdx.x"):
            s = T.alloc_buffer((32, 32), "float32", scope="shared")
            for i in range(32):
                with T.sblock("s"):
                    T.block_attr({"buffer_dim_align": [[0, 0, 32, padding]]})
                    vi, vj = T.axis.remap("SS", [i, j])
                    s[vj, vi] = A[vi, vj]
            for i in range(32):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = s[vj, vi]

    assert work_of(main).bank_conflicts == conflicts


@pytest.mark.parametrize("expression", ["R.matmul(x, y)", "R.matmul(x, R.permute_dims(y))"])
def test_tiles_for_tensor_cores_are_fetched_in_whole_sectors(expression: str) -> None:
    """However the second operand lies in memory."""
    size = (256, 256)
    problem = GpuProblem("", expression, (size, size), size, np.matmul, lambda _: None, "float16")
    target = {"kind": "cuda", "arch": "sm_80"}
    code = relax_mlir.compile(problem.module(), target=target).mod.code.device_code
    (work,) = (work for work in kernel_works(code).values() if work.tensor_flops)
    assert work.tensor_flops == 2 * 256**3 and work.coalescing == 1


def test_work_of_warpgroups() -> None:
    """Both factors of each instruction are read once by its four warps; swizzled tiles are written
    and read without conflicts."""
    size = (256, 256)
    problem = GpuProblem(
        "", "R.matmul(x, y)", (size, size), size, np.matmul, lambda _: None, "float16"
    )
    target = {"kind": "cuda", "arch": "sm_90a"}
    code = relax_mlir.compile(problem.module(), target=target).mod.code.device_code
    (work,) = kernel_works(code).values()
    assert work.warpgroup_flops == 2 * 256**3 and work.tensor_flops == 0
    assert work.coalescing == 1 and work.bank_conflicts == 1
    # Tiles of 64x64: as many bytes come from L2 and are multiplied, and the sums go out and in.
    factors, sums = 2 * 2 * 256**3 // 64, 2 * 256**2
    assert work.global_bytes == factors + sums
    assert work.shared_bytes == 2 * factors + 2 * sums


def test_sizes_that_are_not_known_have_no_work() -> None:
    code = relax_mlir.build(vector_add(), target="cuda").mod.code.device_code
    with pytest.raises(ValueError, match="main_kernel is launched over sizes"):
        kernel_works(code)


# -- instructions ------------------------------------------------------------------------------

SASS = """
.text.other:
        /*0000*/                   FADD R1, R1, R2 ;
.text.f_kernel:
        /*0000*/                   LDG.E R1, [R2] ;
.L_x_1:
        /*0010*/                   MOV R9, R8 ;
.L_x_0:
        /*0020*/                   LDS.128 R4, [R2] ;
        /*0030*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0040*/              @!P0 FFMA R1, R4.reuse, R5, R1 ;
        /*0050*/                   FFMA R1, R4, R6, R1 ;
        /*0060*/                   IADD3 R7, R7, 0x1, RZ ;
        /*0070*/               @P1 BRA `(.L_x_0) ;
        /*0080*/               @P2 BRA `(.L_x_1) ;
        /*0090*/                   EXIT ;
.L_x_2:
        /*00a0*/                   BRA `(.L_x_2);
"""
PTX = """
.visible .entry f_kernel(
)
{
\tld.global.f32 \t%f1, [%rd1];
$L__BB0_1:
\tld.shared.f32 \t%f2, [%r1];
\tfma.rn.f32 \t%f3, %f1, %f2, %f3;
\tadd.s32 \t%r1, %r1, 4;
\t@%p1 bra \t$L__BB0_1;
\tret;
}
"""


def test_mix_of_the_innermost_loop_in_machine_code() -> None:
    mix = mix_of_sass(SASS, "f_kernel")
    assert mix.counts == {"arithmetic": 2, "shared": 2, "addresses and control": 2}
    assert mix.is_loop and mix.shared_bytes == 16 + 16 and mix.total == 6
    with pytest.raises(ValueError, match="no kernel g_kernel"):
        mix_of_sass(SASS, "g_kernel")
    assert not mix_of_sass(SASS, "other").is_loop


def test_mix_of_the_innermost_loop_in_ptx() -> None:
    mix = mix_of_ptx(PTX, "f_kernel")
    assert mix.counts == {"arithmetic": 1, "shared": 1, "addresses and control": 2}
    assert mix.is_loop and str(mix) == "1 arithmetic, 1 shared, 2 addresses and control"
    with pytest.raises(ValueError, match="no kernel g_kernel"):
        mix_of_ptx(PTX, "g_kernel")


# -- on a device -------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [False, True])
def test_a_row_of_a_device_run_checks_and_times(wrong: bool) -> None:
    """The run itself, on the emulated GPU."""
    problem = GpuProblem(
        "small",
        "R.matmul(x, y)",
        ((8, 8), (8, 8)),
        (8, 8),
        np.add if wrong else np.matmul,
        lambda _, x, y: x @ y,
        flops=1024.0,
    )
    target, device = {"kind": "cuda", "arch": "sm_80"}, relax_mlir.device("cuda-emu")
    row = device_row(problem, target, device, None)
    assert row.startswith("| small | ") and row.count("|") == 6
    assert ("WRONG" in row) == wrong


# -- together ----------------------------------------------------------------------------------


def test_an_estimate_is_not_below_any_bound() -> None:
    problem = next(p for p in GPU_PROBLEMS if p.name == "transpose 4096 x 4096")
    built = relax_mlir.compile(problem.module(), target={"kind": "cuda", "arch": H200.arch})
    try:
        (kernel,) = estimate(built.mod.code.device_code, H200, problem.moved)
    except ToolMissing as missing:
        pytest.skip(str(missing))
    assert kernel.seconds >= max(kernel.bounds.values())
    assert kernel.bounds["memory"] == pytest.approx(2 * 4096**2 * 4 / 4.8e12)
    assert kernel.bound == "memory" and 0.9 < kernel.filled <= 1
    assert kernel.work.global_bytes == problem.moved and kernel.resources.spills == 0


def test_the_page_has_all_problems_and_no_spills() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| {problem.name} |" in text for problem in (*GPU_PROBLEMS, *RESOURCE_PROBLEMS))
    assert "B spilled" not in text
