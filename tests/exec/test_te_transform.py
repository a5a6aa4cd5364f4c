"""Data movement, indexing and creation in topi against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir import te, tir, topi
from relax_mlir.errors import Error

from .te_harness import check, run


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


RESHAPES = [
    ((4, 6), (6, 4)), ((4, 6), (24,)), ((24,), (2, 3, 4)), ((2, 3, 4), (2, 12)),
    ((2, 3, 4), (6, 4)), ((1, 5), (5,)), ((5,), (1, 5, 1)), ((4, 6), (-1, 3)),
    ((2, 3, 4, 5), (2, 4, 15)), ((1,), ()), ((), (1, 1)), ((0, 3), (3, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), RESHAPES, ids=str)
def test_reshape(old: tuple[int, ...], new: tuple[int, ...]) -> None:
    check(lambda x: topi.reshape(x, new), lambda x: x.reshape(new), draw(*old))


def test_reshape_refuses_another_number_of_elements() -> None:
    with pytest.raises(Error, match="24 elements"):
        topi.reshape(te.placeholder((4, 6)), (5, 5))


def test_transpose() -> None:
    x = draw(2, 3, 4)
    check(topi.transpose, np.transpose, x)
    for axes in [(0, 2, 1), (2, 0, 1), (-1, 0, 1)]:
        check(lambda v, a=axes: topi.transpose(v, a), lambda v, a=axes: v.transpose(a), x)
    with pytest.raises(Error, match="permutation"):
        topi.transpose(te.placeholder((2, 3)), (0, 0))


def test_axes_of_size_one() -> None:
    x = draw(1, 5, 1, 3)
    check(topi.squeeze, np.squeeze, x)
    check(lambda v: topi.squeeze(v, [2]), lambda v: v.squeeze(2), x)
    check(lambda v: topi.expand_dims(v, 1, 2), lambda v: v[:, None, None], x)
    check(lambda v: topi.expand_dims(v, -1), lambda v: v[..., None], x)
    check(lambda v: topi.expand_dims(v, [0, 2]), lambda v: np.expand_dims(v, (0, 2)), x)
    wide = (2, 5, 4, 3)
    check(lambda v: topi.broadcast_to(v, wide), lambda v: np.broadcast_to(v, wide), x)
    with pytest.raises(Error, match="size 5"):
        topi.squeeze(te.placeholder((5, 1)), [0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joining(axis: int) -> None:
    a, b, c = draw(2, 3), draw(2, 3, seed=1), draw(2, 3, seed=2)
    check(lambda *t: topi.concatenate(t, axis), lambda *t: np.concatenate(t, axis), a, b, c)
    check(lambda *t: topi.stack(t, axis), lambda *t: np.stack(t, axis), a, b, c)


def test_concatenate_of_different_sizes() -> None:
    check(
        lambda *t: topi.concatenate(t, 1),
        lambda *t: np.concatenate(t, 1),
        draw(2, 1), draw(2, 5, seed=1), draw(2, 2, seed=2),
    )  # fmt: skip
    with pytest.raises(Error, match="outside axis 1"):
        topi.concatenate([te.placeholder((2, 3)), te.placeholder((3, 3))], 1)


def test_split() -> None:
    x = draw(3, 12)
    check(lambda v: topi.split(v, 3, 1), lambda v: np.split(v, 3, 1), x)
    check(lambda v: topi.split(v, [2, 7], 1), lambda v: np.split(v, [2, 7], 1), x)
    check(lambda v: topi.split(v, 5, 1), lambda v: np.split(v, [3, 6, 9, 12], 1), x[:, :12])


def test_repetition() -> None:
    x = draw(2, 3)
    check(lambda v: topi.repeat(v, 3, 1), lambda v: np.repeat(v, 3, 1), x)
    check(lambda v: topi.tile(v, (2, 3)), lambda v: np.tile(v, (2, 3)), x)
    check(lambda v: topi.tile(v, (2, 1, 3)), lambda v: np.tile(v, (2, 1, 3)), x)
    check(lambda v: topi.tile(v, 2), lambda v: np.tile(v, 2), x)
    check(lambda v: topi.flip(v, 1), lambda v: np.flip(v, 1), x)


def test_reverse_sequence() -> None:
    x, lengths = draw(3, 6), np.array([0, 4, 9], "int32")

    def reference(v: np.ndarray, n: np.ndarray) -> np.ndarray:
        out = v.copy()
        for row, length in enumerate(n):
            out[row, :length] = v[row, :length][::-1]
        return out

    check(lambda v, n: topi.reverse_sequence(v, n, 1, 0), reference, x, lengths)


SLICES: list[tuple[Any, Any, Any]] = [
    ([1, 2], [7, 14], [2, 3]),
    ([0, 0], [8, 16], [1, 1]),
    ([-3, 1], [8, -1], [1, 2]),
    ([7, 14], [1, 2], [-2, -3]),
    ([7, 15], [-9, -17], [-1, -1]),
    ([5, 0], [100, 3], [1, 1]),
    ([5, 0], [2, 3], [1, 1]),
]


@pytest.mark.parametrize(("begin", "end", "strides"), SLICES, ids=str)
def test_strided_slice(begin: list[int], end: list[int], strides: list[int]) -> None:
    def python(stop: int, step: int, size: int) -> int | None:
        return None if step < 0 and stop < -size else stop

    def reference(v: np.ndarray) -> np.ndarray:
        entries = zip(begin, end, strides, v.shape, strict=True)
        return v[tuple(slice(b, python(e, s, n), s) for b, e, s, n in entries)]

    check(lambda v: topi.strided_slice(v, begin, end, strides), reference, draw(8, 16))


def test_strided_slice_of_some_axes() -> None:
    x = draw(4, 5, 6)
    check(lambda v: topi.strided_slice(v, [1], [5], [2], axes=[2]), lambda v: v[:, :, 1:5:2], x)
    check(
        lambda v: topi.strided_slice(v, [1, 2], [2, -1], slice_mode="size"),
        lambda v: v[1:3, 2:],
        x,
    )


def test_take() -> None:
    x, i = draw(4, 6), np.array([[0, 2, 5], [5, 1, 3]], "int32")
    check(lambda v, k: topi.take(v, k, 1), lambda v, k: np.take(v, k, 1), x, i)
    check(lambda v, k: topi.take(v, k), lambda v, k: np.take(v, k), x, i)
    outside = np.array([-1, 9, 3], "int64")
    check(lambda v, k: topi.take(v, k, 1, mode="clip"),
          lambda v, k: np.take(v, k, 1, mode="clip"), x, outside)  # fmt: skip
    check(lambda v, k: topi.take(v, k, 1, mode="wrap"),
          lambda v, k: np.take(v, k, 1, mode="wrap"), x, outside)  # fmt: skip
    nothing = np.full(4, np.nan, "float32")
    check(lambda v, k: topi.take(v, k, 1, mode="nan"),
          lambda v, k: np.stack([nothing, nothing, v[:, 3]], 1), x, outside)  # fmt: skip
    check(lambda v: topi.take(v, tir.const(2), 0), lambda v: v[2], x)


def test_gather() -> None:
    x, i = draw(4, 6), np.array([[0, 5], [1, 1], [2, 0], [3, 4]], "int64")
    check(lambda v, k: topi.gather(v, 1, k), lambda v, k: np.take_along_axis(v, k, 1), x, i)
    nd = np.array([[0, 3, 1], [5, 0, 2]], "int32")
    check(topi.gather_nd, lambda v, k: v[tuple(k)], x, nd)
    check(topi.gather_nd, lambda v, k: v[k[0]], x, nd[:1])
    rows, columns = np.array([[0], [-1]], "int32"), np.array([1, 5, 2], "int32")
    check(lambda v, *k: topi.index_tensor(v, k), lambda v, *k: v[k], x, rows, columns)


def test_where_and_one_hot() -> None:
    condition = np.random.default_rng(4).integers(0, 2, (3, 1)).astype(bool)
    check(topi.where, np.where, condition, draw(3, 5), draw(5, seed=1))
    check(lambda c, x: topi.where(c, x, 0.0), lambda c, x: np.where(c, x, 0), condition, draw(3, 5))
    i = np.array([2, 0, 5], "int32")
    for axis in (-1, 0):
        check(
            lambda k, a=axis: topi.one_hot(k, 1.0, 0.0, 4, a, "float32"),
            lambda k, a=axis: (
                (k[:, None] == np.arange(4)).astype("float32").T
                if a == 0
                else (k[:, None] == np.arange(4)).astype("float32")
            ),
            i,
        )


def test_sequence_mask() -> None:
    x, n = draw(5, 3), np.array([2, 5, 0], "int32")
    inside = np.arange(5)[:, None] < n
    check(lambda v, k: topi.sequence_mask(v, k, -1.0), lambda v, k: np.where(inside, v, -1), x, n)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_triangles(k: int) -> None:
    check(lambda v: topi.tril(v, k), lambda v: np.tril(v, k), draw(2, 4, 5))
    check(lambda v: topi.triu(v, k), lambda v: np.triu(v, k), draw(2, 4, 5))
    np.testing.assert_array_equal(run(topi.eye(4, 5, k), []), np.eye(4, 5, k, dtype="float32"))


RANGES: list[tuple[tuple[Any, ...], str]] = [
    ((10,), "float32"), ((2, 20, 3), "int32"), ((10, 0, -3), "int64"), ((5, 5), "int32"),
    ((0.0, 1.0, 0.25), "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "dtype"), RANGES, ids=str)
def test_arange(arguments: tuple[Any, ...], dtype: str) -> None:
    full = arguments if len(arguments) > 1 else (0, *arguments)
    got = run(topi.arange(*full, dtype=dtype), [])
    np.testing.assert_array_equal(got, np.arange(*full, dtype=dtype))


def test_full_and_meshgrid() -> None:
    np.testing.assert_array_equal(run(topi.full((2, 3), "int32", 7), []), np.full((2, 3), 7))
    check(lambda v: topi.full_like(v, 2), lambda v: np.full_like(v, 2), draw(3, 4))
    for indexing in ("ij", "xy"):
        check(
            lambda *t, i=indexing: topi.meshgrid(t, i),
            lambda *t, i=indexing: np.meshgrid(*t, indexing=i),
            draw(3), draw(4, seed=1),
        )  # fmt: skip


PADS = {"reflect_pad": "reflect", "replicate_pad": "edge", "circular_pad": "wrap"}


def test_padding() -> None:
    x = draw(4, 5)
    widths = ((1, 3), (2, 0))
    before, after = zip(*widths, strict=True)
    check(
        lambda v: topi.nn.pad(v, before, after, 1.5),
        lambda v: np.pad(v, widths, constant_values=1.5),
        x,
    )
    for name, mode in PADS.items():
        check(
            lambda v, n=name: getattr(topi.nn, n)(v, before, after),
            lambda v, m=mode: np.pad(v, widths, mode=m),
            x,
        )
    check(
        lambda v: topi.nn.mirror_pad(v, before, after), lambda v: np.pad(v, widths, "symmetric"), x
    )


LAYOUTS = [
    ("NCHW", "NHWC", lambda x: x.transpose(0, 2, 3, 1)),
    ("NCHW", "NCHW2c", lambda x: x.reshape(2, 2, 2, 3, 5).transpose(0, 1, 3, 4, 2)),
    ("NCHW", "NCHW4c", lambda x: x.reshape(2, 1, 4, 3, 5).transpose(0, 1, 3, 4, 2)),
]


@pytest.mark.parametrize(("source", "target", "reference"), LAYOUTS)
def test_layout_transform(source: str, target: str, reference: Any) -> None:
    check(lambda v: topi.layout_transform(v, source, target), reference, draw(2, 4, 3, 5))


def test_layout_transform_fills_with_zeros() -> None:
    def reference(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (0, 2), (0, 0), (0, 0)))
        return padded.reshape(1, 2, 4, 2, 2).transpose(0, 1, 3, 4, 2)

    x = draw(1, 6, 2, 2)
    check(lambda v: topi.layout_transform(v, "NCHW", "NCHW4c"), reference, x)
    check(lambda v: topi.layout_transform(v, "NCHW4c", "NCHW"),
          lambda v: v.transpose(0, 1, 4, 2, 3).reshape(1, 8, 2, 2),
          np.ascontiguousarray(reference(x)))  # fmt: skip
