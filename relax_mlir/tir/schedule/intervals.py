"""Arithmetic of intervals: the least and the largest value of integers, None where not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Bounds: TypeAlias = "tuple[int | None, int | None]"
UNBOUNDED: Bounds = (None, None)


def of_function(function: str, left: Bounds, right: Bounds) -> Bounds:
    """Of `min`, `max`, `mod` or `floordiv` of two values."""
    (a, b), (c, d) = left, right
    if function == "min":
        return (None if a is None or c is None else min(a, c)), _known(min, b, d)
    if function == "max":
        return _known(max, a, c), (None if b is None or d is None else max(b, d))
    if function == "mod":
        high = None if d is None else d - 1
        return 0, (high if b is None or a is None or a < 0 else _known(min, high, b))
    return _of_quotient(a, b, c, d)


def of_product(left: Bounds, right: Bounds) -> Bounds:
    """Of the product of two values."""
    (low, high), (lo, hi) = left, right
    if low is not None and high is not None and lo is not None and hi is not None:
        corners = [a * b for a in (low, high) for b in (lo, hi)]
        return min(corners), max(corners)
    if low is not None and lo is not None and low >= 0 and lo >= 0:
        return low * lo, None
    return UNBOUNDED


def _of_quotient(a: int | None, b: int | None, c: int | None, d: int | None) -> Bounds:
    if c is None or c <= 0:
        return (0, b) if a is not None and a >= 0 else UNBOUNDED
    low = None if a is None else (a // c if a < 0 else (a // d if d is not None else 0))
    high = None if b is None else (b // c if b >= 0 else (b // d if d is not None else -1))
    return low, high


def _known(pick: Callable[..., int], a: int | None, b: int | None) -> int | None:
    known = [x for x in (a, b) if x is not None]
    return pick(known) if known else None
