"""Parts of tensors that are set, windows, places counted in other ways: topi against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir import te, topi
from relax_mlir.errors import Error

from .te_harness import check

RNG = np.random.default_rng(12)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def test_sizes() -> None:
    x = draw(3, 4, 5)
    check(topi.shape, lambda x: np.array(x.shape, "int32"), x)
    check(lambda x: topi.shape(x, "int64"), lambda x: np.array(x.shape, "int64"), x)
    check(topi.tensor_size, lambda x: np.array(x.size, "int32"), x)
    check(lambda x: topi.tensor_size(x, "int64"), lambda x: np.array(0, "int64"), draw(0, 3))


def test_expanding() -> None:
    check(
        lambda a, b: topi.expand_like(a, b, [0, 2]),
        lambda a, b: np.broadcast_to(a[None, :, None], b.shape),
        draw(4),
        draw(3, 4, 5),
    )
    with pytest.raises(Error, match="1 axes and 1 more are not 3"):
        topi.expand_like(te.placeholder((4,)), te.placeholder((3, 4, 5)), 0)


def test_coordinates() -> None:
    places, sizes = RNG.integers(0, 60, (2, 7)), np.array([3, 4, 5])
    check(topi.unravel_index, lambda i, s: np.stack(np.unravel_index(i, tuple(s))), places, sizes)


def test_windows() -> None:
    def reference(x: np.ndarray) -> np.ndarray:
        whole = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (1, 2))
        return whole[:, ::2, ::3]

    check(lambda x: topi.sliding_window(x, 1, [3, 2], [2, 3]), reference, draw(2, 8, 9))
    with pytest.raises(Error, match="2 sizes and strides"):
        topi.sliding_window(te.placeholder((2, 8, 9)), 1, [3], [2])


@pytest.mark.parametrize(
    "slices",
    [
        (slice(1, 4), slice(0, 6)),
        (slice(0, 5, 2), slice(1, 6, 3)),
        (slice(-3, -1), slice(0, 6)),
        (slice(4, 0, -2), slice(5, 1, -1)),
        (slice(2, 4),),
        (slice(3, 3), slice(0, 6)),
    ],
)
def test_slices_are_set(slices: Any) -> None:
    a = draw(5, 6)
    v = draw(*a[slices].shape)
    numbers = [
        np.array([getattr(s, name) if getattr(s, name) is not None else 1 for s in slices])
        for name in ("start", "stop", "step")
    ]

    def reference(a: np.ndarray, v: np.ndarray, *_: Any) -> np.ndarray:
        out = a.copy()
        out[slices] = v
        return out

    check(topi.strided_set, reference, a, v, *numbers)


def test_diagonals() -> None:
    def single(k: int) -> Any:
        def reference(x: np.ndarray, d: np.ndarray) -> np.ndarray:
            out = x.copy()
            for place in range(d.shape[-1]):
                out[:, place - min(k, 0), place + max(k, 0)] = d[:, place]
            return out

        return reference

    x = draw(2, 4, 5)
    for k, length in ((0, 4), (1, 4), (-2, 2), (4, 1)):
        check(lambda x, d, k=k: topi.matrix_set_diag(x, d, k), single(k), x, draw(2, length))


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_several_diagonals(align: str) -> None:
    low, high, rows, columns = -2, 3, 4, 5
    above, below = align.split("_")

    def reference(x: np.ndarray, d: np.ndarray) -> np.ndarray:
        out = x.copy()
        for number in range(low, high + 1):
            length = min(columns + min(-number, 0), rows + min(number, 0))
            room = d.shape[-1] - length
            skipped = room * ((above if number >= 0 else below) == "RIGHT")
            for place in range(length):
                row, column = place - min(number, 0), place + max(number, 0)
                out[:, row, column] = d[:, high - number, place + skipped]
        return out

    check(
        lambda x, d: topi.matrix_set_diag(x, d, (low, high), align),
        reference, draw(2, rows, columns), draw(2, high - low + 1, 4),
    )  # fmt: skip


def test_sparse_values() -> None:
    def reference(i: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.full((4, 5), 7, "float32")
        out[tuple(i.T)] = v
        return out

    places = np.array([[0, 1], [3, 4], [2, 2]])
    check(lambda i, v: topi.sparse_to_dense(i, (4, 5), v, 7), reference, places, draw(3))

    def line(i: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.zeros(6, "float32")
        out[i] = v
        return out

    check(lambda i, v: topi.sparse_to_dense(i, (6,), v), line, np.array([5, 0, 3]), draw(3))
    check(lambda i, v: topi.sparse_to_dense(i, (6,), v), line, np.array(2), draw())
    with pytest.raises(Error, match="2 dimensions need indices for each"):
        topi.sparse_to_dense(te.placeholder((3,), "int64"), (4, 5), te.placeholder((3,)))
