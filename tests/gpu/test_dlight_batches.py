"""Batches of products, of which there may be more than a device has blocks for along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import dlight, te
from relax_mlir.lowering.tir_to_gpu.limits import DeviceLimits
from relax_mlir.runtime.emulator import options
from relax_mlir.target import Target
from tests.gpu.emulated import kernels, run_emulated
from tests.gpu.ptxas import assemble
from tests.gpu.test_dlight_rules import AMPERE, placeholders, prim_func, product, scheduled

FEW = (2**31 - 1, 3, 3)
"""Blocks along x, y and z of a device that has few along y and z."""

BATCH = te.var("b", "int64")


def batch_of(batch: Any, rows: Any, dtype: str, size: int = 64) -> Any:
    a, b = placeholders((batch, rows, size), (batch, size, size), dtype=dtype)
    return prim_func([a, b], product(a, b))


def operands(batch: int, rows: int, dtype: str, size: int = 64) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(rows)
    x = rng.integers(-2, 3, (batch, rows, size)).astype(dtype)
    y = rng.integers(-2, 3, (batch, size, size)).astype(dtype)
    return x, y, np.zeros((batch, rows, size), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_symbolic_batches_are_along_the_first_axis(dtype: str) -> None:
    """More products than the device has blocks along the other axes; float16 on tensor cores."""
    function = batch_of(BATCH, 70, dtype)
    module = scheduled(dlight.gpu.Matmul(), function, AMPERE)
    assert 'thread="blockIdx.x"' in module.script() and "blockIdx.z" not in module.script()
    x, y, out = operands(5, 70, dtype)
    built = run_emulated(module, x, y, out, target=AMPERE, order="random", max_blocks=FEW)
    np.testing.assert_array_equal(out, x @ y)
    resources = assemble(kernels(built, "ptx"), "sm_80").values()
    assert not any(r.spills or r.stack for r in resources)


def test_large_batches() -> None:
    """A batch of a constant size shares the axis of the tiles unless that has too few blocks."""
    most = DeviceLimits().largest("blockIdx.y") // 2
    target = Target({"kind": "cuda", "arch": "sm_75"})
    small = scheduled(dlight.gpu.Matmul(), batch_of(most, 64, "int8", 64), target)
    assert f'T.thread_binding({most}, thread="blockIdx.y")' in small.script()
    module = scheduled(dlight.gpu.Matmul(), batch_of(2 * most + 2, 64, "int8", 64), target)
    assert f'T.thread_binding({4 * most + 4}, thread="blockIdx.x")' in module.script()
    assert relax_mlir.build(module, target=target)


def test_symbolic_tiles_of_too_large_a_batch() -> None:
    """What cannot be folded is refused when it is launched."""
    function = batch_of(BATCH, te.var("m", "int64"), "float32")
    built: Any = relax_mlir.build(scheduled(dlight.gpu.Matmul(), function, AMPERE), target=AMPERE)
    device = relax_mlir.device("cuda-emu")
    given = [relax_mlir.runtime.tensor(array, device) for array in operands(5, 3, "float32")]
    message = "main_kernel: 5 blocks along blockIdx.z, at most 3 are possible"
    with options(max_blocks=FEW), pytest.raises(ValueError, match=message):
        built(*given)
    built(*given)
    x, y, _ = operands(5, 3, "float32")
    np.testing.assert_array_equal(given[2].numpy(), x @ y)
