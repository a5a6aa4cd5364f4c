"""What kernels of paged caches compute, in numpy and float64."""

from __future__ import annotations

import numpy as np


def turned_by(
    rows: np.ndarray, cosine: np.ndarray, sine: np.ndarray, neighbours: bool
) -> np.ndarray:
    """The leading elements of each head as complex numbers, turned; the rest as it is."""
    size, turn = 2 * cosine.shape[-1], (cosine + 1j * sine)[:, None]
    pairs = rows[..., :size].reshape(*rows.shape[:2], *((-1, 2) if neighbours else (2, -1)))
    axis = -1 if neighbours else -2
    real, imaginary = (pairs.take(i, axis) for i in (0, 1))
    numbers = (real + 1j * imaginary) * turn
    parts = np.stack([numbers.real, numbers.imag], axis).reshape(*rows.shape[:2], size)
    return np.concatenate([parts, rows[..., size:]], axis=-1)


def attention(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float, visible: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(weighted values, logarithms to the base 2 of the sums of weights).

    queries: (n, query heads, size); keys, values: (m, key heads, size); visible: (n, m).
    """
    group = queries.shape[1] // keys.shape[1]
    keys, values = (np.repeat(x.astype("float64"), group, axis=1) for x in (keys, values))
    scores = np.einsum("nhd,mhd->hnm", queries.astype("float64"), keys) * scale
    scores = np.where(visible, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True)
    result = np.einsum("hnm,mhd->nhd", weights / total, values)
    return result, ((largest + np.log(total)) / np.log(2))[..., 0].T
