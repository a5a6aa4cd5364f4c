"""Gradients of operators that move elements."""

from __future__ import annotations

from typing import Any

from relax_mlir.lowering.relax.gradients.rules import Gradient, Step, gradient
from relax_mlir.mlir import ir


def _reshaped(s: Step, grad: ir.Value) -> ir.Value:
    return s("reshape", grad, s.write.shape(s.dims(s.operands[0])))


@gradient("reshape")
def reshape(s: Step, grad: ir.Value) -> list[Gradient]:
    return [_reshaped(s, grad), None]


@gradient("flatten", "nn.batch_flatten", "expand_dims", "squeeze")
def regrouped(s: Step, grad: ir.Value) -> list[Gradient]:
    return [_reshaped(s, grad)]


@gradient("broadcast_to")
def broadcast_to(s: Step, grad: ir.Value) -> list[Gradient]:
    return [grad, None]  # the pass sums it to the operand's shape


@gradient("permute_dims")
def permute_dims(s: Step, grad: ir.Value) -> list[Gradient]:
    rank = len(s.dims(s.operands[0]))
    axes = s.attributes["axes"]
    if axes is None:
        return [s("permute_dims", grad)]
    order = [int(a) % rank for a in axes]
    return [s("permute_dims", grad, axes=[order.index(i) for i in range(rank)])]


@gradient("flip")
def flip(s: Step, grad: ir.Value) -> list[Gradient]:
    return [s("flip", grad, axis=s.attributes["axis"])]


@gradient("triu", "tril")
def triangle(s: Step, grad: ir.Value) -> list[Gradient]:
    name = s.op.name.removeprefix("relax.")
    return [s(name, grad, s.operands[1]), None]


@gradient("concat")
def concat(s: Step, grad: ir.Value) -> list[Gradient]:
    values = s.operands[0]
    axis = int(s.attributes["axis"] or 0) % len(s.dims(values[0]))
    ends: list[int] = []
    total = 0
    for value in values[:-1]:
        size = s.dims(value)[axis]
        if not isinstance(size, int):
            raise s.refuse(f"of parts whose size '{size}' is not known")
        total += size
        ends.append(total)
    if not ends:
        return [grad]
    parts = s("split", grad, indices_or_sections=ends, axis=axis)
    return [s.write.field(parts, i) for i in range(len(values))]


@gradient("stack")
def stack(s: Step, grad: ir.Value) -> list[Gradient]:
    values = s.operands[0]
    axis = int(s.attributes["axis"] or 0) % (len(s.dims(values[0])) + 1)
    if len(values) == 1:
        return [s("squeeze", grad, axis=[axis])]
    parts = s("split", grad, indices_or_sections=len(values), axis=axis)
    return [s("squeeze", s.write.field(parts, i), axis=[axis]) for i in range(len(values))]


@gradient("split")
def split(s: Step, grad: list[Any]) -> list[Gradient]:
    """Parts without a gradient of their own contribute zeros."""
    axis = int(s.attributes["axis"]) % len(s.dims(s.operands[0]))
    parts = [
        g if g is not None else s("zeros_like", s.write.field(s.result, i))
        for i, g in enumerate(grad)
    ]
    return [s("concat", parts, axis=axis)]


@gradient("take")
def take(s: Step, grad: ir.Value) -> list[Gradient]:
    """Each taken row is added to the row that it is of."""
    x, indices = s.operands
    dims, axis = s.dims(x), s.attributes["axis"]
    if axis is None:
        if len(dims) != 1:
            raise s.refuse("of a tensor of several axes without an axis")
        axis = 0
    axis = int(axis) % len(dims)
    count = len(s.dims(indices))
    order = [axis, *(i for i in range(len(dims)) if i != axis)]
    rows = s("permute_dims", x, axes=order) if axis else x
    taken = [
        *range(axis, axis + count),
        *(i for i in range(len(dims) - 1 + count) if not axis <= i < axis + count),
    ]
    updates = s("permute_dims", grad, axes=taken) if axis else grad
    positions = s("expand_dims", indices, axis=[count])
    summed = s("scatter_nd", s("zeros_like", rows), positions, updates, reduction="add")
    if axis:
        summed = s("permute_dims", summed, axes=[order.index(i) for i in range(len(dims))])
    return [summed, None]
