"""Helpers for tests, under the names of tvm.testing."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["assert_allclose"]


def _to_numpy(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError unless two arrays or tensors agree in shape and in every element.

    Elements agree when ``|actual - desired| <= atol + rtol * |desired|`` or both are NaN. Unlike
    numpy's function of this name, shapes are not broadcast. After tvm.testing.assert_allclose.
    """
    left, right = _to_numpy(actual), _to_numpy(desired)
    assert left.shape == right.shape, f"shapes differ: {left.shape} and {right.shape}"
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol)
