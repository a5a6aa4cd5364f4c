"""Scans, sorts, searches and scatters of topi against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir import te, topi
from relax_mlir.errors import Error

from .te_harness import check


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_cumulative(axis: int | None) -> None:
    x = draw(4, 5, 3)
    check(lambda v: topi.cumsum(v, axis), lambda v: np.cumsum(v, axis), x, tolerance=1e-4)
    check(lambda v: topi.cumprod(v, axis), lambda v: np.cumprod(v, axis), x, tolerance=1e-4)


def test_exclusive_sum_in_another_dtype() -> None:
    x = np.array([[100, 100, 100], [1, 2, 3]], "int8")
    check(
        lambda v: topi.cumsum(v, 1, "int32", True),
        lambda v: np.array([[0, 100, 200], [0, 1, 3]], "int32"),
        x,
    )


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 33, 100])
def test_sort(size: int) -> None:
    x = np.round(draw(3, size) * 3)  # with equal elements
    check(lambda v: topi.sort(v), lambda v: np.sort(v), x)
    check(lambda v: topi.sort(v, is_ascend=False), lambda v: -np.sort(-v), x)
    check(lambda v: topi.argsort(v, dtype="int32"), lambda v: np.argsort(v, kind="stable"), x)


def test_sort_along_other_axes() -> None:
    x = draw(4, 6, 5)
    for axis in (0, 1):
        check(lambda v, a=axis: topi.sort(v, a), lambda v, a=axis: np.sort(v, a), x)


def test_nan_sorts_last() -> None:
    x = np.array([3, np.nan, -np.inf, 1, np.nan, np.inf], "float32")
    check(topi.sort, np.sort, x)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_topk(k: int) -> None:
    x = draw(4, 7)
    order = np.argsort(-x, 1, kind="stable")[:, :k]
    check(lambda v: topi.topk(v, k, 1), lambda v: [np.take_along_axis(v, order, 1), order], x)
    check(lambda v: topi.topk(v, k, 1, "indices", True, "int32"),
          lambda v: np.argsort(v, 1, kind="stable")[:, :k], x)  # fmt: skip
    with pytest.raises(Error, match="9 of 7"):
        topi.topk(te.placeholder((4, 7)), 9)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side: str) -> None:
    sequence = np.array([-2, 0, 0, 1, 5], "float32")
    values = np.array([[-3, 0, 7], [5, 0.5, -2]], "float32")
    check(
        lambda s, v: topi.searchsorted(s, v, side == "right"),
        lambda s, v: np.searchsorted(s, v, side),
        sequence, values,
    )  # fmt: skip


REDUCTIONS: dict[str, Any] = {
    "update": lambda old, new: new, "add": np.add, "mul": np.multiply,
    "min": np.minimum, "max": np.maximum,
}  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_elements(reduction: str, axis: int) -> None:
    x, updates = draw(4, 6), draw(3, 2, seed=1)
    indices = np.array([[0, -1], [2, 3], [0, 1]], "int64")

    def reference(data: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
        out = data.copy()
        for at in np.ndindex(*index.shape):
            place = list(at)
            place[axis] = index[at]
            out[tuple(place)] = REDUCTIONS[reduction](out[tuple(place)], values[at])
        return out

    check(
        lambda d, i, u: topi.scatter_elements(d, i, u, axis, reduction), reference,
        x, indices, updates,
    )  # fmt: skip


def test_scatter_nd_and_index_put() -> None:
    x, places = draw(4, 5), np.array([[0, 3, 0], [4, 1, 4]], "int32")
    values = draw(3, seed=1)

    def added(data: np.ndarray, index: np.ndarray, new: np.ndarray) -> np.ndarray:
        out = data.copy()
        np.add.at(out, tuple(index), new)
        return out

    check(lambda d, i, u: topi.scatter_nd(d, i, u, "add"), added, x, places, values)
    rows, columns = np.array([0, -1], "int64"), np.array([2, 4], "int64")

    def put(data: np.ndarray, new: np.ndarray, *index: np.ndarray) -> np.ndarray:
        out = data.copy()
        out[index] = new
        return out

    check(lambda d, v, *i: topi.index_put(d, i, v), put, x, values[:2].copy(), rows, columns)
    with pytest.raises(Error, match="reduction must be one of"):
        topi.scatter_nd(*[te.placeholder((2, 2))] * 3, "xor")


@pytest.mark.parametrize("step", [1, 2])
def test_slice_scatter(step: int) -> None:
    x = draw(3, 8)
    source = draw(3, len(range(1, 7, step)), seed=1)

    def reference(data: np.ndarray, new: np.ndarray) -> np.ndarray:
        out = data.copy()
        out[:, 1:7:step] = new
        return out

    check(lambda d, s: topi.slice_scatter(d, s, 1, 7, step, 1), reference, x, source)
