"""Legalisation of the operators of object detection."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.relax_to_tir.dynamic import EXPANSIONS, Expansion
from relax_mlir.lowering.relax_to_tir.operands import (
    NotLegalizable,
    call_tensors,
    make_call,
    unnamed,
)
from relax_mlir.lowering.relax_to_tir.rows import ROWS, Row, legalize
from relax_mlir.mlir import ir

_ALL_CLASSES = "vision.all_class_non_max_suppression"

ROWS["vision.roi_align"] = Row("roi_align", topi.vision.roi_align)
ROWS["vision.roi_pool"] = Row("roi_pool", topi.vision.roi_pool)
ROWS["vision.get_valid_counts"] = Row("get_valid_counts", topi.vision.get_valid_counts)
ROWS["vision.non_max_suppression"] = Row("non_max_suppression", topi.vision.non_max_suppression)
ROWS["vision.multibox_transform_loc"] = Row(
    "multibox_transform_loc", topi.vision.multibox_transform_loc
)


@legalize(_ALL_CLASSES, immediate=(2,))
def _all_classes(
    boxes: te.Tensor,
    scores: te.Tensor,
    most: Any,
    overlap: Any,
    score: Any,
    *,
    output_format: str,
) -> list[te.Tensor]:
    return topi.vision.all_class_non_max_suppression(
        boxes, scores, most, overlap, score, output_format
    )


def _expand_all_classes(self: Expansion) -> ir.Value:
    """As ONNX has it, there are as many indices as boxes were selected."""
    op, row = self.op, ROWS[_ALL_CLASSES]
    if attributes_of(op)["output_format"] != "onnx":
        return make_call(op, row, self.state, self.made)
    scores = types.tensor_info(op.operands[1].type)
    if scores is None or scores.dims is None:
        raise NotLegalizable
    room = types.tensor_type((dim_algebra.product(scores.dims), 3), "int64")
    kind = types.tuple_type([room, types.tensor_type((1,), "int64")])
    location = unnamed(op.location)
    given = {name: op.attributes[name] for name in op.attributes}
    size = self.made.fresh_symbol("selected")
    chosen = types.tensor_type((size, 3), "int64")
    with ir.InsertionPoint(op):
        fixed = create(op.name, [kind], list(op.operands), given, loc=location)
    whole = make_call(fixed.operation, row, self.state, self.made)
    fixed.operation.erase()
    with ir.InsertionPoint(op):
        places, total = (_field(whole, i, location) for i in range(2))
        unknown = types.shape_type(None, 1)
        shape = create("relax.tensor_to_shape", [unknown], [total], loc=location).result
        create("relax.match_cast", [types.shape_type([size])], [shape], loc=location)
    values = call_tensors(op, "trim", _part, [places], chosen, self.state, self.made)
    with ir.InsertionPoint(op):
        both = types.tuple_type([chosen, total.type])
        joined = create("relax.tuple", [both], [values, total], loc=location).result
    return self.finish(joined)


def _part(x: te.Tensor, sizes: list[Any]) -> te.Tensor:
    return te.compute(sizes, lambda i, j: x(i, j), name="trim")


def _field(value: ir.Value, index: int, location: ir.Location) -> ir.Value:
    fields = types.tuple_fields(value.type) or []
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
    attributes: dict[str, ir.Attribute] = {"index": number}
    return create("relax.tuple_get_item", [fields[index]], [value], attributes, loc=location).result


EXPANSIONS[_ALL_CLASSES] = _expand_all_classes
