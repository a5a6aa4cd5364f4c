"""Rotary position embeddings (Su et al., "RoFormer", 2021) in numpy: their angles.

`scaling` is what models' configurations say of stretching them to longer texts: a dictionary with
`rope_type`, one of "default" (or none), "gptj", "llama3", "llama4", "longrope", "yarn".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["ROPE_TYPES", "rotations", "turns_neighbours"]

_Frequencies = Callable[[np.ndarray, float, Mapping[str, Any]], np.ndarray]


def _plain(exponents: np.ndarray, theta: float, scaling: Mapping[str, Any]) -> np.ndarray:
    return 1.0 / theta**exponents


def _llama3(exponents: np.ndarray, theta: float, scaling: Mapping[str, Any]) -> np.ndarray:
    """Low frequencies are divided by `factor`, high ones kept, those between blended."""
    frequencies = _plain(exponents, theta, scaling)
    factor, low, high = (
        float(scaling[key]) for key in ("factor", "low_freq_factor", "high_freq_factor")
    )
    turns = float(scaling["original_max_position_embeddings"]) * frequencies / (2 * math.pi)
    if high == low:
        return np.where(turns < low, frequencies / factor, frequencies)
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return (1 - kept) * frequencies / factor + kept * frequencies


def _yarn(exponents: np.ndarray, theta: float, scaling: Mapping[str, Any]) -> np.ndarray:
    """Interpolated and original frequencies, blended by how often they turn (Peng et al., 2023)."""
    frequencies = _plain(exponents, theta, scaling)
    longest = float(scaling["original_max_position_embeddings"])
    size = 2 * len(exponents)

    def dimension(rotations: float) -> float:
        return size * math.log(longest / (rotations * 2 * math.pi)) / (2 * math.log(theta))

    low = max(dimension(float(scaling["beta_fast"])), 0.0)
    high = min(dimension(float(scaling["beta_slow"])), size - 1.0)
    if low == high:
        high += 0.001
    interpolated = np.clip((np.arange(len(exponents)) - low) / (high - low), 0.0, 1.0)
    stretched = frequencies / float(scaling["factor"])
    return stretched * interpolated + frequencies * (1 - interpolated)


_FREQUENCIES: dict[str, _Frequencies] = {
    "default": _plain,
    "gptj": _plain,
    "llama3": _llama3,
    "llama4": _llama3,
    "longrope": _plain,
    "yarn": _yarn,
}
_INTERLEAVED = ("gptj", "llama4")

ROPE_TYPES = tuple(_FREQUENCIES)


def rotations(
    positions: np.ndarray,
    size: int,
    theta: float,
    scaling: Mapping[str, Any],
    factors: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(cosine, sine) of the angles of `size // 2` pairs at each position, as float32.

    `factors` divide the frequencies ("longrope").  Raises ValueError for a type not known.
    """
    kind = str(scaling.get("rope_type", "default"))
    if kind not in _FREQUENCIES:
        raise ValueError(f"rope_type is one of {', '.join(ROPE_TYPES)}, not '{kind}'")
    exponents = np.arange(0, size, 2, dtype=np.float64) / size
    frequencies = _FREQUENCIES[kind](exponents, theta, scaling)
    if factors is not None:
        frequencies = frequencies / np.asarray(factors, np.float64)[: size // 2]
    angles = np.multiply.outer(positions.astype(np.float64), frequencies)
    strength = _attention_factor(scaling) if kind == "longrope" else 1.0
    return (
        (np.cos(angles) * strength).astype(np.float32),
        (np.sin(angles) * strength).astype(np.float32),
    )


def _attention_factor(scaling: Mapping[str, Any]) -> float:
    original = float(scaling["original_max_position_embeddings"])
    stretch = float(scaling["max_position_embeddings"]) / original
    return math.sqrt(1 + math.log(stretch) / math.log(original)) if stretch > 1 else 1.0


def turns_neighbours(scaling: Mapping[str, Any]) -> bool:
    """Whether pairs are neighbouring elements, (0, 1), (2, 3), ...; the others are halves."""
    return scaling.get("rope_type") in _INTERLEAVED
