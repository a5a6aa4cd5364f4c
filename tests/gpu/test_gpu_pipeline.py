"""Software pipelines: iterations that overlap, copies that do not wait."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir.errors import CompileError
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.gpu_programs import plain_matmul, scheduled
from tests.gpu.ptxas import assemble

RNG = np.random.default_rng(4)


def pipelined(stages, order=(0, 1, 2), async_stages=(), n=32, threads=4):
    """A matmul that copies tiles of 16 by 4 and 4 by 16 to shared memory, then multiplies them."""
    sch = scheduled(plain_matmul(n, n, n))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    bx, tx, ii = sch.split(i, [None, threads, 4])
    by, ty, jj = sch.split(j, [None, threads, 4])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(bx, by, tx, ty, k0, k1, ii, jj)
    for loop, axis in ((bx, "blockIdx.y"), (by, "blockIdx.x"), (tx, "threadIdx.y"),
                       (ty, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write(block, 0, "local"), ty)
    for operand in (0, 1):
        copy = sch.cache_read(block, operand, "shared")
        sch.compute_at(copy, k0)
        _, y, x, lane = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, threads, threads, 4])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lane)
    sch.decompose_reduction(block, k0)
    sch.annotate(k0, "software_pipeline_stage", list(stages))
    sch.annotate(k0, "software_pipeline_order", list(order))
    if async_stages:
        sch.annotate(k0, "software_pipeline_async_stages", list(async_stages))
    return sch.mod


@pytest.mark.parametrize(
    ("stages", "order", "async_stages", "versions"),
    [
        ((0, 0, 1), (0, 1, 2), (), 2),
        ((0, 0, 1), (0, 1, 2), (0,), 2),
        ((0, 0, 2), (0, 1, 2), (0,), 3),
        ((0, 0, 1), (2, 1, 0), (0,), 2),
        ((0, 0, 3), (0, 1, 2), (0,), 4),
    ],
)
def test_pipelines(stages, order, async_stages, versions):
    a, b = (RNG.standard_normal((32, 32)).astype("f") for _ in range(2))
    module = pipelined(stages, order, async_stages)
    for threads in ("forward", "reverse"):
        c = np.zeros((32, 32), "f")
        built = run_emulated(module, a, b, c, order=threads)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    text = kernels(built)
    assert f"memref<{versions}x16x4xf32, #gpu.address_space<workgroup>>" in text
    assert ("nvgpu.device_async_copy" in text) == bool(async_stages)


def test_asynchronous_copies_assemble():
    built = relax_mlir.build(pipelined((0, 0, 2), async_stages=(0,)), target="cuda")
    text = kernels(built, "ptx")
    for instruction in (
        "cp.async.cg.shared.global",
        "cp.async.commit_group",
        "cp.async.wait_group",
    ):
        assert instruction in text
    assert assemble(text, "sm_80")["main_kernel"].spills == 0


def test_older_gpus_copy_through_registers():
    target = {"kind": "cuda", "arch": "sm_75"}
    built = relax_mlir.build(pipelined((0, 0, 1), async_stages=(0,)), target=target)
    text = kernels(built, "ptx")
    assert "cp.async" not in text
    assemble(text, "sm_75")


def test_a_number_for_each_statement():
    with pytest.raises(CompileError, match=r"r_0 has 3 statements.* annotations are for 2"):
        relax_mlir.build(pipelined((0, 1), (0, 1)), target="cuda")
