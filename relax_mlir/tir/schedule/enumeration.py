"""Index expressions evaluated for every value of their variables.

Splits and fusions in any order, swizzles and padding need no rules of their own here: a tile that
the threads of a block copy together is small enough to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import Apply, Atom, Index, Leaf, value_domain

__all__ = ["evaluate", "fills_its_box"]

_MOST_POINTS = 1 << 17


def evaluate(index: Index, values: Mapping[ir.Value, np.ndarray], size: int) -> np.ndarray:
    """The value of an expression at `size` points, given those of its variables."""
    total = np.full(size, index.constant, np.int64)
    for monomial, k in index.terms.items():
        product = np.full(size, k, np.int64)
        for atom in monomial:
            product = product * _evaluate_atom(atom, values, size)
        total = total + product
    return total


def _evaluate_atom(atom: Atom, values: Mapping[ir.Value, np.ndarray], size: int) -> np.ndarray:
    if isinstance(atom, Leaf):
        return values[atom.value]
    assert isinstance(atom, Apply)
    left, right = (evaluate(part, values, size) for part in (atom.left, atom.right))
    return _FUNCTIONS[atom.function](left, right)


_FUNCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "min": np.minimum,
    "max": np.maximum,
}


def fills_its_box(
    region: Sequence[tuple[Index, Index]], inside: Callable[[ir.Value], bool]
) -> bool:
    """Whether the boxes `[(offset, size), ...]` together take every element of their hull as the
    variables inside run; False where that is not known."""
    offsets = [offset for offset, _ in region]
    sizes = [size.as_constant() for _, size in region]
    points = _points(offsets, inside)
    if points is None or any(size is None for size in sizes):
        return False
    count = len(next(iter(points.values()))) if points else 1
    places = []
    for offset in offsets:
        moving = {m: k for m, k in offset.terms.items() if any(map(inside, Index({m: 1}).leaves()))}
        if any(not inside(v) for v in Index(moving).leaves()):
            return False
        places.append(evaluate(Index(moving), points, count))
    known = [size for size in sizes if size is not None]
    return _fill(places, known)


def _points(
    offsets: Sequence[Index], inside: Callable[[ir.Value], bool]
) -> dict[ir.Value, np.ndarray] | None:
    """All combinations of the values of the variables inside."""
    variables = list(dict.fromkeys(v for o in offsets for v in o.leaves() if inside(v)))
    ranges: list[np.ndarray] = []
    total = 1
    for variable in variables:
        domain = value_domain(variable)
        ends = (None, None) if domain is None else (d.as_constant() for d in domain)
        low, extent = ends
        if low is None or extent is None or extent <= 0:
            return None
        total *= extent
        if total > _MOST_POINTS:
            return None
        ranges.append(np.arange(low, low + extent))
    grids = np.meshgrid(*ranges, indexing="ij")
    return {v: grid.reshape(-1) for v, grid in zip(variables, grids, strict=True)}


def _fill(places: Sequence[np.ndarray], sizes: Sequence[int]) -> bool:
    shape: list[int] = []
    for place, size in zip(places, sizes, strict=True):
        shape.append(int(place.max() - place.min()) + size)
    volume = int(np.prod(shape))
    boxes = int(np.prod(sizes))
    if volume > _MOST_POINTS or len(places[0]) * boxes > _MOST_POINTS:
        return False
    taken = np.zeros(shape, bool)
    starts = [place - place.min() for place in places]
    for step in np.ndindex(*sizes):
        taken[tuple(start + s for start, s in zip(starts, step, strict=True))] = True
    return bool(taken.all())
