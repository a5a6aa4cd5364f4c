"""Arrays on cache lines, and the tensors that take them over without a copy."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir.dialects.aligned_arrays import ALIGNMENT, aligned_copy, aligned_empty
from relax_mlir.runtime.tensor import constant_tensor


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (3, 7, 2), (1 << 20,)])
def test_arrays_begin_on_a_cache_line(shape: tuple[int, ...], dtype: str) -> None:
    made = aligned_empty(shape, dtype)
    assert made.shape == shape
    assert made.dtype == dtype
    assert made.flags.c_contiguous and made.flags.writeable
    assert made.ctypes.data % ALIGNMENT == 0 or made.size == 0


def test_a_copy_lies_row_by_row() -> None:
    array = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    made = aligned_copy(array)
    np.testing.assert_array_equal(made, array)
    assert made.strides == (48, 24, 8)


def test_tensors_of_constants_share_the_memory() -> None:
    made = aligned_copy(np.arange(100, dtype="float32"))
    assert constant_tensor(made).data_ptr() == made.ctypes.data
