"""Arrays that begin on a cache line, as the memory of tensors does.

numpy's own large arrays begin 16 bytes behind one, so that a tensor of the same values has to copy
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

__all__ = ["ALIGNMENT", "aligned_copy", "aligned_empty"]

ALIGNMENT = 64


def aligned_empty(shape: Sequence[int], dtype: np.dtype | str) -> np.ndarray:
    """An array whose elements are not initialised."""
    kind = np.dtype(dtype)
    nbytes = prod(shape) * kind.itemsize
    block = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + nbytes].view(kind).reshape(shape)


def aligned_copy(array: np.ndarray) -> np.ndarray:
    """The elements of an array, of any strides, row by row."""
    made = aligned_empty(array.shape, array.dtype)
    made[...] = array
    return made
