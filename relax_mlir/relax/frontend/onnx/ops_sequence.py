"""Converters for sequences and optionals, which exist only while importing."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.relax.frontend.known import Known
from relax_mlir.relax.frontend.onnx.node import Node, Row
from relax_mlir.relax.frontend.onnx.ops_control_flow import stack
from relax_mlir.relax.frontend.onnx.ops_shape import slices


class Sequence(list[Any]):
    """A sequence as the one result of a node."""


def _sequence(node: Node, index: int = 0) -> list[Any]:
    value = node.value(index)
    if not isinstance(value, list):
        node.refuse(f"input {index} must be a sequence of known length")
    return value


def _position(node: Node, index: int, length: int, default: int | None = None) -> int:
    if not node.has(index) and default is not None:
        return default
    place = int(node.array(index, "the position").reshape(-1)[0])
    return place + length if place < 0 else place


def construct(node: Node) -> Any:
    return [Sequence(node.inputs)]


def empty(node: Node) -> Any:
    return [Sequence()]


def at(node: Node) -> Any:
    items = _sequence(node)
    return [items[_position(node, 1, len(items))]]


def insert(node: Node) -> Any:
    items = Sequence(_sequence(node))
    items.insert(_position(node, 2, len(items), len(items)), node.value(1))
    return [items]


def erase(node: Node) -> Any:
    items = Sequence(_sequence(node))
    del items[_position(node, 1, len(items), len(items) - 1)]
    return [items]


def length(node: Node) -> Any:
    return Known(np.asarray(len(_sequence(node)), "int64"))


def concat(node: Node) -> Any:
    items = _sequence(node)
    axis = node.attr("axis")
    if node.attr("new_axis", 0):
        return stack(node, items, node.axis(axis, node.rank(items[0]) + 1))
    tensors = [node.importer.expr(item) for item in items]
    return node.ops.concat(tensors, axis=node.axis(axis, node.rank(tensors[0])))


def split(node: Node) -> Any:
    """Parts of one size, of given sizes, or single slices that lose the axis if asked."""
    x = node.tensor(0)
    axis = node.axis(node.attr("axis", 0), node.rank(x))
    size = node.static_shape(x)[axis]
    if not node.has(1):
        keep = node.attr("keepdims", 1)
        return [Sequence(node.slice(x, axis, i, i + 1, squeeze=not keep) for i in range(size))]
    sizes = node.array(1, "the split")
    if sizes.ndim == 0:
        part = int(sizes)
        sizes = np.array([min(part, size - i) for i in range(0, size, part)])
    return [Sequence(slices(node, x, axis, [int(s) for s in sizes]))]


def optional(node: Node) -> Any:
    return [node.value(0)]


def has_element(node: Node) -> Any:
    return Known(np.asarray(node.value(0) is not None))


def get_element(node: Node) -> Any:
    if node.value(0) is None:
        node.refuse("the element of an optional that has none")
    return [node.value(0)]


CONVERTERS: dict[str, Row] = {
    "ConcatFromSequence": concat,
    "Optional": optional,
    "OptionalGetElement": get_element,
    "OptionalHasElement": has_element,
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
    "SplitToSequence": split,
}
"""By operator; see `node.Row`."""
