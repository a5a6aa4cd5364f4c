"""Functions in sixteen pieces, each a polynomial, whose coefficients one instruction looks up.

A register of AVX-512 holds sixteen floats, and permuting it by a register of positions looks up
sixteen coefficients at once.  Polynomials of short pieces have a low degree, so that this takes
about half the instructions of one approximation of the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

__all__ = ["ERF_END", "PIECES", "erf_pieces"]

PIECES = 16
_DEGREE = 5
_HALF = 0.125
"""Half a piece: piece n is what is at most this far from n / 4."""

ERF_END = float(np.nextafter(np.float32((PIECES - 1) / 4 + _HALF), np.float32(0)))
"""The end of the last piece, where erf is 1 but for less than half a unit in the last place."""


@cache
def erf_pieces() -> tuple[tuple[float, ...], ...]:
    """Coefficients of erf(n / 4 + r) - r in r: a row a power, in it a column a piece.

    Without the r, what is looked up and rounded is small against the sum where erf(x) is nearly x.
    """
    columns = [_fit(piece) for piece in range(PIECES)]
    return tuple(zip(*columns, strict=True))


def _fit(piece: int) -> Sequence[float]:
    """Least squares of the relative error; each coefficient is rounded to f32 before those of
    higher powers are fitted, so that these make up for it."""
    low, high = (-_HALF, _HALF) if piece else (0.0, _HALF)
    nodes = np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    r = (low + high) / 2 + (high - low) / 2 * nodes
    values = np.array([math.erf(piece / 4 + x) for x in r])
    weights = 1 / values
    if piece == PIECES - 1:  # rises to 1, which is what larger arguments get
        values += (1 - math.erf(ERF_END)) * ((r - low) / (high - low)) ** 2
    coefficients = [] if piece else [0.0]  # erf(0) is 0
    while len(coefficients) <= _DEGREE:
        known = sum(c * r**power for power, c in enumerate(coefficients))
        powers = np.stack([r**power for power in range(len(coefficients), _DEGREE + 1)], axis=1)
        target = (values - r - known) * weights
        solution = np.linalg.lstsq(powers * weights[:, None], target, rcond=None)[0]
        coefficients.append(float(np.float32(solution[0])))
    return coefficients
