"""Products of a constant matrix and vectors in registers, in few operations.

Rows of the Winograd matrices come in pairs `e + o` and `e - o`: the even part, the odd part and
their factors are shared, so that a transform of six elements takes twelve operations, not thirty.
The columns of the matrices that transform back, which have fewer rows, come in such pairs too: the
sums and differences of the elements are shared then, and six elements take thirteen operations to
become four.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.lowering.linalg_to_vector.builder import Builder
from relax_mlir.mlir import ir

__all__ = ["LinearMap"]

_Row = tuple[float, ...]


@dataclass(frozen=True)
class LinearMap:
    """`matrix @ x` for a vector `x` of `lanes`-wide values."""

    matrix: np.ndarray

    def emit(self, b: Builder, values: Sequence[ir.Value | None]) -> list[ir.Value | None]:
        """One value a row; None stands for zero, in and out."""
        matrix = self.matrix
        if all(value is None for value in values):
            return [None] * len(matrix)
        if matrix.shape[0] < matrix.shape[1]:
            matrix, values = _with_paired_columns(b, matrix, values)
        emitter = _Emitter(b, values)
        rows = [_row(row) for row in matrix]
        results: list[ir.Value | None] = [None] * len(rows)
        done: set[int] = set()
        for i, row in enumerate(rows):
            if i in done:
                continue
            partner = next((j for j in range(i + 1, len(rows)) if _pair(row, rows[j])), None)
            if partner is None or partner in done:
                results[i] = emitter.row(row)
                continue
            done.add(partner)
            even = tuple((x + y) / 2 for x, y in zip(row, rows[partner], strict=True))
            odd = tuple((x - y) / 2 for x, y in zip(row, rows[partner], strict=True))
            results[i], results[partner] = emitter.sum_and_difference(even, odd)
        return results


def _row(elements: np.ndarray) -> _Row:
    return tuple(float(x) for x in elements)


def _with_paired_columns(
    b: Builder, matrix: np.ndarray, values: Sequence[ir.Value | None]
) -> tuple[np.ndarray, Sequence[ir.Value | None]]:
    """The same product with the sum and the difference of two elements in the place of those whose
    columns agree up to signs."""
    made, elements = matrix.copy(), list(values)
    columns = [_row(column) for column in matrix.T]
    free = [i for i, value in enumerate(elements) if value is not None]
    while free:
        i = free.pop(0)
        j = next((j for j in free if _pair(columns[i], columns[j])), None)
        first, second = elements[i], None if j is None else elements[j]
        if j is None or first is None or second is None:
            continue
        free.remove(j)
        elements[i] = b.op("arith.addf", first.type, [first, second])
        elements[j] = b.op("arith.subf", first.type, [first, second])
        made[:, i] = (matrix[:, i] + matrix[:, j]) / 2
        made[:, j] = (matrix[:, i] - matrix[:, j]) / 2
    return made, elements


def _pair(first: _Row, second: _Row) -> bool:
    """Whether two rows agree up to the signs of some elements, and not of all or none."""
    if any(abs(x) != abs(y) for x, y in zip(first, second, strict=True)):
        return False
    same = sum(x == y != 0 for x, y in zip(first, second, strict=True))
    opposite = sum(x == -y != 0 for x, y in zip(first, second, strict=True))
    return same > 0 and opposite > 0 and same + opposite > 2


class _Emitter:
    def __init__(self, b: Builder, values: Sequence[ir.Value | None]):
        self.b = b
        self.values = values
        self.type = next(value.type for value in values if value is not None)
        self.sums: dict[_Row, ir.Value | None] = {}

    def row(self, row: _Row) -> ir.Value | None:
        """A sum of multiples, those with factor one first."""
        factor, sum_ = self.normalized(row)
        return None if sum_ is None else self.scaled(factor, sum_)

    def normalized(self, row: _Row) -> tuple[float, ir.Value | None]:
        """A factor and a sum that make the row together; sums are shared between rows."""
        used = [x if value is not None else 0.0 for x, value in zip(row, self.values, strict=True)]
        nonzero = [x for x in used if x]
        if not nonzero:
            return 1.0, None
        ones = [x for x in nonzero if abs(x) == 1.0]
        factor = (1.0 if 1.0 in ones else ones[0]) if ones else nonzero[-1]
        key = tuple(x / factor for x in used)
        if key not in self.sums:
            self.sums[key] = self.sum(key)
        return factor, self.sums[key]

    def sum(self, row: _Row) -> ir.Value:
        terms = [
            (x, value) for x, value in zip(row, self.values, strict=True) if x and value is not None
        ]
        terms.sort(key=lambda term: (abs(term[0]) != 1.0, term[0] != 1.0))
        total = self.scaled(*terms[0])
        for factor, value in terms[1:]:
            total = self.added(total, factor, value)
        return total

    def sum_and_difference(self, even: _Row, odd: _Row) -> tuple[ir.Value | None, ir.Value | None]:
        (e_factor, e), (o_factor, o) = self.normalized(even), self.normalized(odd)
        if e is None or o is None:
            one = None if e is None else self.scaled(e_factor, e)
            other = None if o is None else self.scaled(o_factor, o)
            negative = None if o is None else self.scaled(-o_factor, o)
            return (one, one) if o is None else (other, negative)
        base = self.scaled(e_factor, e)
        return self.added(base, o_factor, o), self.added(base, -o_factor, o)

    # Operations

    def scaled(self, factor: float, value: ir.Value) -> ir.Value:
        if factor == 1.0:
            return value
        if factor == -1.0:
            return self.b.op("arith.negf", self.type, [value])
        return self.b.op("arith.mulf", self.type, [self.constant(factor), value])

    def added(self, total: ir.Value, factor: float, value: ir.Value) -> ir.Value:
        """`total + factor * value`."""
        if factor == 1.0:
            return self.b.op("arith.addf", self.type, [total, value])
        if factor == -1.0:
            return self.b.op("arith.subf", self.type, [total, value])
        return self.b.fma(self.constant(factor), value, total)

    def constant(self, factor: float) -> ir.Value:
        element = ir.VectorType(self.type).element_type
        attribute = ir.FloatAttr.get(element, factor)
        return self.b.constant(self.type, ir.DenseElementsAttr.get_splat(self.type, attribute))
