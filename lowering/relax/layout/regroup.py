"""Reshapes in another layout: which axes they join and cut."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.lowering.relax.layout.moved_values import MovedValues, Order
from relax_mlir.lowering.relax.rewriting import dims_of
from relax_mlir.mlir import ir

Groups = list[tuple[list[int], list[int]]]
"""Axes of the old shape and the axes of the new one that hold the same elements."""


def reshape(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    """Join and cut axes of a moved value, which is transposed before where axes that are joined do
    not follow one another (a channel shuffle)."""
    value = op.operands[0]
    old, new = dims_of(value), dims_of(op.results[0])
    groups = None if old is None or new is None else axis_groups(old, new)
    if groups is None or old is None or new is None:
        return False
    sources = source_order(order, groups, old)
    if list(sources) == sorted(sources):
        return False  # the layout the operation was written for
    result = result_order(sources, groups, old)
    write = c.writer(op)
    source = c.into(write, value, sources)
    c.note(op, write.op("reshape", source, write.shape([new[i] for i in result])), result)
    return True


def axis_groups(old: Sequence[Dim], new: Sequence[Dim]) -> Groups | None:
    """The smallest runs of axes with as many elements before as after, None when sizes are not
    known well enough.  Axes of one element join the run in front of them."""
    groups: Groups = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and old[i] == 1 and not (j < len(new) and new[j] == 1):
            _last(groups)[0].append(i)
            i += 1
        elif j < len(new) and new[j] == 1 and not (i < len(old) and old[i] == 1):
            _last(groups)[1].append(j)
            j += 1
        else:
            taken = _run(old, new, i, j)
            if taken is None:
                return None
            groups.append((list(range(i, taken[0])), list(range(j, taken[1]))))
            i, j = taken
    return groups


def _last(groups: Groups) -> tuple[list[int], list[int]]:
    if not groups:
        groups.append(([], []))
    return groups[-1]


def _run(old: Sequence[Dim], new: Sequence[Dim], i: int, j: int) -> tuple[int, int] | None:
    """The ends of the shortest runs from i and j that hold as many elements."""
    if i >= len(old) or j >= len(new):
        return None
    left, right = old[i], new[j]
    i, j = i + 1, j + 1
    while left != right:
        if not isinstance(left, int) or not isinstance(right, int):
            return None
        if left < right and i < len(old):
            left, i = dim_algebra.product((left, old[i])), i + 1
        elif right < left and j < len(new):
            right, j = dim_algebra.product((right, new[j])), j + 1
        else:
            return None
    return i, j


def source_order(order: Order, groups: Groups, dims: Sequence[Dim]) -> Order:
    """The layout with the axes of each group together and in order, as close as can be.  Axes of
    one element may lie anywhere."""
    wide = {
        axis: [a for a in group if dims[a] != 1]
        for group, _ in groups
        for axis in group
        if dims[axis] != 1
    }
    placed: list[int] = []
    for axis in order:
        if axis not in placed:
            placed.extend(wide.get(axis, [axis]))
    return tuple(placed)


def result_order(sources: Order, groups: Groups, dims: Sequence[Dim]) -> Order:
    """The layout of what the groups become."""
    placed: list[int] = [axis for group, axes in groups if not group for axis in axes]
    starts = {
        next((axis for axis in group if dims[axis] != 1), group[0]): axes
        for group, axes in groups
        if group
    }
    return (*placed, *(axis for source in sources for axis in starts.get(source, ())))


__all__ = ["axis_groups", "reshape", "result_order", "source_order"]
