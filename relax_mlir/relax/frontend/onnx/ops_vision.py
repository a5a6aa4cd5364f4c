"""Converters for detection: non-maximum suppression."""

# The kernel is TVMScript, which its parser reads, not Python's type checker.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportIndexIssue=false

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.onnx.node import Node, Row


def non_max_suppression(node: Node) -> Any:
    """Rows (batch, class, box) of the boxes that are kept, best first within batch and class."""
    boxes, scores, ops = node.tensor(0), node.tensor(1), node.ops
    batch, count, _ = node.static_shape(boxes)
    classes = node.static_shape(scores)[1]
    most = min(int(node.scalar(2, 0)), count)
    if most <= 0:
        return node.ops.zeros(node.importer.shape_expr([0, 3]), "int64")
    overlap = _overlaps(node, boxes, float(node.scalar(3, 0.0)))
    threshold = float(node.scalar(4, float("-inf")))
    kernel = _greedy(batch, classes, count, most, threshold)
    builder, relax = node.importer.block_builder, node.importer.relax
    function = builder.add_func(kernel, "non_max_suppression")
    kind = relax.TensorStructInfo([batch, classes, most], "int64")
    picked = node.emit(relax.op.call_tir(function, [overlap, scores], kind))
    places = ops.nonzero(ops.greater_equal(picked, node.const(0, "int64")))
    places = node.permute(places, [1, 0])
    box = ops.expand_dims(ops.gather_nd(picked, places), axis=[1])
    return ops.concat([node.slice(places, 1, 0, 2), box], axis=1)


def _overlaps(node: Node, boxes: Any, threshold: float) -> Any:
    """Which pairs of boxes overlap more than the threshold: (batch, boxes, boxes) of int8."""
    ops = node.ops
    first, second, third, fourth = node.split(boxes, 4, axis=2)
    two = node.like(2, boxes)
    if node.attr("center_point_box", 0):
        x, y, width, height = first, second, third, fourth
        half_w, half_h = ops.divide(width, two), ops.divide(height, two)
        left, right = ops.subtract(x, half_w), ops.add(x, half_w)
        top, bottom = ops.subtract(y, half_h), ops.add(y, half_h)
    else:  # two opposite corners, in any order
        top, bottom = ops.minimum(first, third), ops.maximum(first, third)
        left, right = ops.minimum(second, fourth), ops.maximum(second, fourth)
    zero = node.like(0, boxes)
    area = ops.multiply(ops.subtract(right, left), ops.subtract(bottom, top))

    def other(value: Any) -> Any:
        return node.permute(value, [0, 2, 1])

    width = ops.subtract(ops.minimum(right, other(right)), ops.maximum(left, other(left)))
    height = ops.subtract(ops.minimum(bottom, other(bottom)), ops.maximum(top, other(top)))
    shared = ops.multiply(ops.maximum(width, zero), ops.maximum(height, zero))
    union = ops.subtract(ops.add(area, other(area)), shared)
    over = ops.greater(shared, ops.multiply(union, node.like(threshold, boxes)))
    return ops.astype(over, "int8")


def _greedy(batch: int, classes: int, count: int, most: int, threshold: float) -> Any:
    """A TensorIR function that takes the best box left, drops what overlaps it, and repeats;
    -1 after the last one."""
    from relax_mlir.script import tir as T

    @T.prim_func(private=True)
    def kernel(
        overlap: T.Buffer((batch, count, count), "int8"),
        scores: T.Buffer((batch, classes, count), "float32"),
        selected: T.Buffer((batch, classes, most), "int64"),
    ):
        left = T.alloc_buffer((count,), "float32")
        top = T.alloc_buffer((1,), "float32")
        best = T.alloc_buffer((1,), "int64")
        for b in T.serial(batch):
            for c in T.serial(classes):
                for i in T.serial(count):
                    left[i] = T.if_then_else(
                        scores[b, c, i] > T.float32(threshold),
                        scores[b, c, i],
                        T.min_value("float32"),
                    )
                for k in T.serial(most):
                    top[0] = T.min_value("float32")
                    best[0] = T.int64(-1)
                    for i in T.serial(count):
                        if left[i] > top[0]:
                            top[0] = left[i]
                            best[0] = T.Cast("int64", i)
                    selected[b, c, k] = best[0]
                    if best[0] >= T.int64(0):
                        for i in T.serial(count):
                            if overlap[b, best[0], i] != T.int8(0):
                                left[i] = T.min_value("float32")
                        left[best[0]] = T.min_value("float32")

    return kernel


CONVERTERS: dict[str, Row] = {"NonMaxSuppression": non_max_suppression}
"""By operator; see `node.Row`."""
