"""Constants of compiled programs in one block of memory."""

from __future__ import annotations

import gc
import mmap

import ml_dtypes
import numpy as np
import pytest

from relax_mlir.runtime import Tensor
from relax_mlir.runtime.constant_memory import constant_tensors

_KINDS = (np.float32, np.float64, np.int8, np.bool_, np.uint16, ml_dtypes.bfloat16, ml_dtypes.int4)


def _arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [(300, 400), (), (0, 3), (7,), (1, 5, 1), (1 << 20,), (513, 129)]
    return [
        rng.integers(0, 2, shape).astype(kind)
        for shape, kind in zip(shapes * 7, sorted(_KINDS * 7, key=str), strict=True)
    ]


def _address(made: Tensor) -> int:
    return np.from_dlpack(made).ctypes.data


def test_values() -> None:
    arrays = _arrays()
    tensors = constant_tensors(arrays)
    expected = [array.copy() for array in arrays]
    del arrays
    gc.collect()
    assert len(tensors) == len(expected)
    for made, array in zip(tensors, expected, strict=True):
        got = made.numpy()
        assert got.shape == array.shape and got.dtype == array.dtype
        np.testing.assert_array_equal(got.astype("float64"), array.astype("float64"))


def test_memory_outlives_the_other_constants() -> None:
    arrays = [np.full((600, 600), number, "float32") for number in range(8)]
    kept = constant_tensors(arrays)[5]
    del arrays
    gc.collect()
    other = np.ones(1 << 22, "float32")
    assert np.all(kept.numpy() == 5) and np.all(other == 1)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="huge pages are asked for on Linux")
def test_small_constants_lie_together() -> None:
    arrays = [np.full((512, 512), number, "float32") for number in range(4)]
    first, *rest = map(_address, constant_tensors(arrays))
    assert first % (2 << 20) == 0
    assert rest == [first + number * (1 << 20) for number in range(1, 4)]


def test_large_constants_stay_where_they_are() -> None:
    memory = np.zeros((4 << 20) + 16, "float32")
    start = -memory.ctypes.data % 64 // 4
    large = memory[start : start + (4 << 20)]
    small = np.zeros((1 << 20,), "float32")
    made = constant_tensors([small, large])
    assert _address(made[1]) == large.ctypes.data
