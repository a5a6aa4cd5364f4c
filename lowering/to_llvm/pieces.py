"""Functions in sixteen pieces, each a polynomial, whose coefficients one instruction looks up.

A register of AVX-512 holds sixteen floats, and permuting it by a register of positions looks up
sixteen coefficients at once.  Polynomials of short pieces have a low degree, so that this takes
about half the instructions of one approximation of the whole range, and no division.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

__all__ = ["ERF_END", "PIECES", "TANH_END", "TANH_SCALE", "erf_pieces", "tanh_pieces"]

PIECES = 16
_DEGREE = 5
_HALF = 0.125
"""Half a piece: piece n is what is at most this far from n / 4."""

ERF_END = float(np.nextafter(np.float32((PIECES - 1) / 4 + _HALF), np.float32(0)))
"""The end of the last piece, where erf is 1 but for less than half a unit in the last place."""


TANH_END = float(np.float32(9.1))
"""From here on tanh rounds to 1."""
TANH_SCALE = float(np.float32(1.648))
"""Pieces of tanh are four to an octave of 1 + x * TANH_SCALE, which goes from 1 to less than 16."""

# How many numbers about the middle of a piece are tried as its centre, and how far apart.
_CENTERS, _CENTER_STEP = 400, 16 * np.finfo(np.float32).eps


@cache
def erf_pieces() -> tuple[tuple[float, ...], ...]:
    """Coefficients of erf(n / 4 + r) - r in r: a row a power, in it a column a piece.

    Without the r, what is looked up and rounded is small against the sum where erf(x) is nearly x.
    """
    columns = [_erf_piece(piece) for piece in range(PIECES)]
    return tuple(zip(*columns, strict=True))


@cache
def tanh_pieces() -> tuple[tuple[float, ...], ...]:
    """Centres, then coefficients of tanh(centre + r) in r: a row a power, a column a piece."""
    columns = [_tanh_piece(piece) for piece in range(PIECES)]
    return tuple(zip(*columns, strict=True))


def _erf_piece(piece: int) -> list[float]:
    low, high = (-_HALF, _HALF) if piece else (0.0, _HALF)
    r = _nodes(low, high)
    values = np.array([math.erf(piece / 4 + x) for x in r])
    weights = 1 / values
    if piece == PIECES - 1:  # rises to 1, which is what larger arguments get
        values += (1 - math.erf(ERF_END)) * ((r - low) / (high - low)) ** 2
    return _fitted(r, values - r, weights, [] if piece else [0.0])  # erf(0) is 0


def _tanh_piece(piece: int) -> list[float]:
    octave, quarter = divmod(piece, 4)
    low, high = ((2.0**octave * (1 + (quarter + i) / 4) - 1) / TANH_SCALE for i in (0, 1))
    # Small arguments are what they give.  Elsewhere the value at the centre is nearly an f32.
    center = _center((low + high) / 2) if piece else 0.0
    x = _nodes(low, high)
    known = [_rounded(math.tanh(center))] if piece else [0.0, 1.0]
    return [center, *_fitted(x - center, np.tanh(x), 1 / np.tanh(x), known)]


def _center(middle: float) -> float:
    """A number near the middle of a piece at which rounding tanh to f32 changes it the least."""
    steps = np.arange(-_CENTERS // 2, _CENTERS // 2) * _CENTER_STEP
    tried = (middle * (1 + steps)).astype(np.float32).astype(float)
    values = np.tanh(tried)
    return float(tried[np.abs(values.astype(np.float32) - values).argmin()])


def _nodes(low: float, high: float) -> np.ndarray[Any, Any]:
    """Chebyshev's nodes between two numbers."""
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(64) + 0.5) / 64)


def _rounded(value: float) -> float:
    return float(np.float32(value))


def _fitted(
    r: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    weights: np.ndarray[Any, Any],
    known: list[float],
) -> list[float]:
    """Coefficients after the `known` ones, by least squares of the weighted error; each is rounded
    to f32 before those of higher powers are fitted, so that these make up for it."""
    coefficients = list(known)
    while len(coefficients) <= _DEGREE:
        done = sum(c * r**power for power, c in enumerate(coefficients))
        powers = np.stack([r**power for power in range(len(coefficients), _DEGREE + 1)], axis=1)
        target = (values - done) * weights
        solution = np.linalg.lstsq(powers * weights[:, None], target, rcond=None)[0]
        coefficients.append(_rounded(solution[0]))
    return coefficients
