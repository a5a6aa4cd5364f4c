"""Tensors whose elements are known while importing, and arithmetic on the sizes among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim

SYMBOLIC_LIMIT = 4096
"""Elements of the largest tensor of symbolic sizes that is kept as such."""


class Known:
    """A tensor with known elements.

    `array` has numpy's (or ml_dtypes') dtype when all are numbers, else dtype object: its elements
    are dimensions (`int`, or `str` for an expression over symbols) and `dtype` says which integer
    type they have.  `expr` is a Relax expression of the same value once there is one; a weight that
    stays a parameter has its variable there and `is_parameter` set.
    """

    def __init__(
        self, array: Any, dtype: str | None = None, expr: Any = None, is_parameter: bool = False
    ):
        self.array = np.asarray(array)
        if self.array.dtype == object and all(isinstance(v, int) for v in self.array.flat):
            self.array = self.array.astype(dtype or "int64")
        self.dtype = dtype if self.is_symbolic and dtype else self.array.dtype.name
        if self.is_symbolic and not dtype:
            self.dtype = "int64"
        self.expr = expr
        self.is_parameter = is_parameter

    @property
    def is_symbolic(self) -> bool:
        """Whether an element is an expression over symbols."""
        return self.array.dtype == object

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    def elements(self) -> list[Dim]:
        """The elements of an integer tensor in order, as dimensions."""
        return [v if isinstance(v, str) else int(v) for v in self.array.reshape(-1)]

    def numbers(self) -> np.ndarray | None:
        """The array if all elements are numbers."""
        return None if self.is_symbolic else self.array


def object_array(values: Any, shape: Any = None) -> np.ndarray:
    """An array of dtype object from dimensions (a list keeps them apart, whatever they are)."""
    flat = list(values)
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array if shape is None else array.reshape(shape)


def is_non_negative(dim: Dim) -> bool:
    """Whether a dimension is provably at least 0, symbols being sizes."""
    return dim >= 0 if isinstance(dim, int) else "-" not in dim


def is_positive(dim: Dim) -> bool:
    """Whether a dimension is provably at least 1."""
    return is_non_negative(dim) and is_non_negative(dim_algebra.subtract(dim, 1))


def same(a: Dim, b: Dim) -> bool | None:
    """Whether two dimensions are equal; None when that depends on the symbols."""
    if dim_algebra.equal(a, b):
        return True
    difference = dim_algebra.subtract(a, b)
    if isinstance(difference, int) or is_positive(difference):
        return False
    return False if is_positive(dim_algebra.subtract(b, a)) else None


# -- arithmetic on dimensions -------------------------------------------------------------------


def divide(a: Dim, b: Dim) -> Dim | None:
    """Truncating division, where that is known to be flooring division."""
    if b == 0 or not is_non_negative(a):
        return None
    exact = dim_algebra.exact_divide(a, b)
    return exact if is_positive(b) or isinstance(exact, int) else None


def modulo(a: Dim, b: Dim) -> Dim | None:
    return dim_algebra.floormod(a, b) if is_non_negative(a) and is_positive(b) else None


def order(compare: Callable[[int], bool]) -> Callable[[Dim, Dim], bool | None]:
    """A comparison by the sign of the difference; `compare(0)` tells what equality gives."""

    def result(a: Dim, b: Dim) -> bool | None:
        difference = dim_algebra.subtract(a, b)
        if isinstance(difference, int):
            return compare(difference)
        opposite = dim_algebra.subtract(b, a)
        for known, sign in ((is_positive(difference), 1), (is_positive(opposite), -1)):
            if known:
                return compare(sign)
        for known, sign in ((is_non_negative(difference), 1), (is_non_negative(opposite), -1)):
            if known and compare(0) == compare(sign):
                return compare(sign)
        return None

    return result


def extreme(pick: Callable[[Dim, Dim], Dim], sign: int) -> Callable[..., Dim]:
    """Minimum (sign -1) or maximum (sign 1); one that is decided leaves no trace of the other."""

    def result(*values: Dim) -> Dim:
        best = values[0]
        for value in values[1:]:
            difference = dim_algebra.subtract(value, best)
            opposite = dim_algebra.subtract(best, value)
            if sign < 0:
                difference, opposite = opposite, difference
            if is_non_negative(difference):
                best = value
            elif not is_non_negative(opposite):
                best = pick(best, value)
        return best

    return result


def negative(a: Dim) -> Dim:
    return dim_algebra.subtract(0, a)


def absolute(a: Dim) -> Dim | None:
    return a if is_non_negative(a) else abs(a) if isinstance(a, int) else None


def total(*values: Dim) -> Dim:
    total: Dim = 0
    for value in values:
        total = dim_algebra.add(total, value)
    return total
