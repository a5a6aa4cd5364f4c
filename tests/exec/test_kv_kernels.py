"""The compiled functions of paged caches, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from relax_mlir.runtime.kv_kernels import AttentionKernels, gathered, turned
from relax_mlir.runtime.numpy_bridge import numpy_dtype
from tests.exec.kv_references import attention, turned_by

SIZES = [(2, 3, 16, 16), (1, 4, 7, 5), (3, 1, 64, 32)]


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def given(
    kernels: AttentionKernels, count: int, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    heads = kernels.key_heads * kernels.group
    return (
        drawn(1, count, heads, kernels.size),
        drawn(2, length, kernels.key_heads, kernels.size),
        drawn(3, length, kernels.key_heads, kernels.v_size),
    )


def close(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.shape == wanted.shape and got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("length", [1, 9, 130])
def test_attention(sizes: tuple[int, int, int, int], length: int) -> None:
    kernels, whole = AttentionKernels(*sizes), np.ones((1, length), bool)
    arrays = given(kernels, 1, length)
    close(kernels.to_all(*arrays, 0.3), attention(*arrays, 0.3, whole)[0])
    arrays = given(kernels, length, length)
    below = np.tri(length, dtype=bool)
    close(kernels.causal(*arrays, 0.3), attention(*arrays, 0.3, below)[0])
    for count in (1, 6):
        arrays = given(kernels, count, length)
        mask = np.random.default_rng(0).random((count, length)) < 0.5
        mask[:, 0] = True
        result, sums = attention(*arrays, 0.3, mask)
        close(kernels.masked(*arrays, 0.3, mask), result)
        for got, wanted in zip(kernels.with_sums(*arrays, 0.3, mask), (result, sums), strict=True):
            close(got, wanted)


def test_large_scores_do_not_overflow() -> None:
    kernels = AttentionKernels(2, 2, 8, 8)
    queries, keys, values = given(kernels, 3, 40)
    arrays = (10 * queries, 10 * keys, values)
    mask = np.tri(3, 40, 37, dtype=bool)
    for got, wanted in zip(
        kernels.with_sums(*arrays, 1.0, mask), attention(*arrays, 1.0, mask), strict=True
    ):
        close(got, wanted)


def test_sums_of_more_rows_than_are_computed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relax_mlir.runtime.kv_kernels._CHUNK", 500)
    kernels = AttentionKernels(1, 4, 8, 8)
    arrays = given(kernels, 7, 50)
    expected = attention(*arrays, 0.3, np.ones((7, 50), bool))
    for got, wanted in zip(kernels.with_sums(*arrays, 0.3, None), expected, strict=True):
        close(got, wanted)


def test_latent_values_are_the_leading_part_of_the_keys() -> None:
    kernels = AttentionKernels(1, 4, 12, 8, latent=True)
    queries, keys, _ = given(kernels, 5, 33)
    mask = np.tri(5, 33, 28, dtype=bool)
    wanted, sums = attention(queries, keys, keys[..., :8], 0.3, mask)
    close(kernels.masked(queries, keys, keys, 0.3, mask), wanted)
    close(kernels.with_sums(queries, keys, keys, 0.3, mask)[1], sums)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_rows(dtype: str) -> None:
    rows = drawn(0, 20, 3, 10).astype(numpy_dtype(dtype))
    slots = np.array([3, 19, 0, 0, 7])
    found = gathered(rows, slots)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows[slots].astype("float32"))


@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize(("size", "pairs"), [(16, 8), (16, 3), (2, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rotations(neighbours: bool, size: int, pairs: int, dtype: str) -> None:
    rows = drawn(0, 9, 5, size).astype(dtype)
    angles = drawn(1, 9, pairs)
    cosine, sine = np.cos(angles), np.sin(angles)
    parts = (range(1, 4), range(4, 5))
    for heads, got in zip(parts, turned(rows, parts, cosine, sine, neighbours), strict=True):
        given = rows[:, heads.start : heads.stop].astype("float32")
        close(got, turned_by(given, cosine, sine, neighbours))
