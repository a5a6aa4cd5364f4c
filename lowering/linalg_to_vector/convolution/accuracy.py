"""How exact the forms of convolutions are, and how much of it a network may give up for speed.

Rounding errors of a form follow from the interpolation points of its axes (`Bilinear.points`) and
from the length of its sums, which are made in blocks of about their square root: the square of the
error is `a + b * sqrt(channels)`.  The numbers are fitted to errors of compiled 3x3, 5x5 and 7x7
convolutions of images after a ReLU against float64, relative root mean square, in 1e-7; `by 2` is
a stride (`python -m benchmarks.convolution_errors`):

| channels | libraries, 3x3 | direct | F(2,3) | F(4,3) by 2 | F(4,3) | F(2,5) | F(4,5) |
|---|---|---|---|---|---|---|---|
| points |   | 1   | 4   | 5   | 6   | 6   | 8   |
| 16  | 1.5 | 1.1 | 1.3 | 3.1 | 3.8 | 4.1 | 14.6 |
| 64  | 1.5 | 1.2 | 1.5 | 3.4 | 4.4 | 4.7 | 15.9 |
| 128 | 1.6 | 1.3 | 1.6 | 3.5 | 4.5 | 5.0 | 18.4 |
| 256 | 1.8 | 1.6 | 1.8 | 3.9 | 5.1 | 5.3 | 19.5 |
| 512 | 1.9 | 1.9 | 2.1 | 4.4 | 5.8 | 6.5 | 23.3 |

Along one axis, whose other axis counts as one point:

| channels | F(4,3) | F(3,5), F(4,4), F(4,7) by 2 or in two runs | F(4,5) |
|---|---|---|---|
| points | 6 | 7 | 8 |
| 4   | 1.6 | 2.6 | 3.6 |
| 16  | 1.7 | 2.7 | 3.6 |
| 64  | 2.1 | 3.3 | 4.5 |
| 256 | 3.0 | 5.0 | 7.3 |
| 512 | 3.4 | 5.6 | 7.8 |

So seven points are as exact along one axis as six along two; along two they have 8 to 12.

A weight that is transformed in the call adds 0.2, more where positions are averaged later: what is
rounded in it is the same for all of them.  Two axes with different points have the geometric mean.
Errors of ONNX Runtime and PyTorch (the same) grow with the square root of the taps of the window.

Errors of a network's layers are independent, so that their squares add up.  Estimated so, a chain
of F(4,3) has 2.4 to 2.9 times the error of the libraries; measured are 1.4 to 2.0 times in whole
networks, whose layers average some of what those before them have rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

__all__ = ["choose_together", "direct_error", "error_limit", "library_error", "winograd_error"]

# The constant part of a squared error and that for each square root of the channels, by the points.
_SQUARES = {
    1: (0.68e-14, 0.123e-14),
    2: (0.68e-14, 0.123e-14),
    3: (0.68e-14, 0.128e-14),
    4: (1.12e-14, 0.137e-14),
    5: (4.54e-14, 0.675e-14),
    6: (8.96e-14, 1.0e-14),
    7: (50e-14, 4.3e-14),
}
# That of libraries, for each tap.
_LIBRARY_SQUARES = (0.235e-14, 0.0065e-14)
# How much more error than the libraries a network may be estimated to have: so much that it is
# measured to have less than twice their error.
_MOST_ERROR = 2.4
_NETWORK = 8
"""Layers that make a network."""


def winograd_error(points: Sequence[int], channels: int) -> float:
    """The estimated square of the relative error of a convolution whose axes have so many points;
    KeyError for more points than those of F(4,4)."""
    product = 1.0
    for count in points:
        constant, growing = _SQUARES[count]
        product *= sqrt(constant + growing * sqrt(channels))
    return product


def direct_error(channels: int) -> float:
    """That of a direct convolution."""
    return winograd_error((1, 1), channels)


def library_error(taps: int, channels: int) -> float:
    """That of a convolution by the libraries, with a window of so many elements."""
    constant, growing = _LIBRARY_SQUARES
    return taps * (constant + growing * sqrt(channels))


def error_limit(library_errors: Sequence[float]) -> float:
    """What the squared errors of a function may add up to, if those of the libraries are these.  A
    few layers are no network: there is no limit for them."""
    return inf if len(library_errors) < _NETWORK else _MOST_ERROR**2 * sum(library_errors)


def choose_together(candidates: Sequence[Sequence[tuple[float, float]]], limit: float) -> list[int]:
    """Which candidate to take for each layer of a network: the fastest as far as their errors add
    up to no more than `limit`.

    Candidates are (cost, squared error).  As long as the sum is too large, the layer changes that
    loses least time for the error it saves; where nothing saves any more, it stays too large.
    """
    chosen = [min(range(len(own)), key=lambda i: own[i][0]) for own in candidates]
    total = sum(own[i][1] for own, i in zip(candidates, chosen, strict=True))
    while total > limit:
        changes = [
            ((cost - own[now][0]) / (own[now][1] - error), layer, i)
            for layer, (own, now) in enumerate(zip(candidates, chosen, strict=True))
            for i, (cost, error) in enumerate(own)
            if error < own[now][1]
        ]
        if not changes:
            break
        _, layer, i = min(changes)
        total -= candidates[layer][chosen[layer]][1] - candidates[layer][i][1]
        chosen[layer] = i
    return chosen
