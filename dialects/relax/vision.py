"""Operators of object detection: pooling of regions, boxes, non-maximum suppression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import infer, layouts, types
from relax_mlir.dialects.relax.spec import REQUIRED, InferError, define
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.mlir import ir

Kinds = Sequence[ir.Type]
Attributes = Mapping[str, Any]


def _roi(kinds: Kinds, attributes: Attributes) -> ir.Type:
    data, rois = infer.tensor(kinds[0], "data"), infer.tensor(kinds[1], "rois")
    infer.require_float(data, kinds[0])
    infer.same_dtype([data, rois], kinds)
    layout = layouts.check(attributes["layout"], "NCHW", "layout")
    layouts.require_rank(data, layout, kinds[0], "data")
    infer.require_rank(rois, 2, kinds[1], "rois")
    pooled = layouts.per_dimension(attributes["pooled_size"], 2, "pooled_size")
    if attributes.get("mode", "avg") not in ("avg", "max"):
        raise InferError(f"mode '{attributes['mode']}' is none of avg, max")
    if rois.dims is not None and dim_algebra.differ(rois.dims[1], 5):
        raise InferError(f"rois has rows (batch, x1, y1, x2, y2), got {types.describe(kinds[1])}")
    if data.dims is None or rois.dims is None:
        return data.with_dims(None, 4).to_type()
    sizes = layouts.sizes_of(data.dims, layout)
    sizes.update({"N": rois.dims[0], "H": pooled[0], "W": pooled[1]})
    return data.with_dims(layouts.dims_of(sizes, layout)).to_type()


def _boxes(kind: ir.Type, what: str = "data") -> TensorInfo:
    info = infer.tensor(kind, what)
    infer.require_float(info, kind)
    infer.require_rank(info, 3, kind, what)
    return info


def _valid_counts(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = _boxes(kinds[0])
    width = info.dims[2] if info.dims is not None else None
    for name in ("score_index", "id_index"):
        if isinstance(width, int) and attributes[name] >= width:
            raise InferError(f"{name} {attributes[name]} is outside {types.describe(kinds[0])}")
    dims = info.dims
    counts = TensorInfo(None if dims is None else dims[:1], "int32", 1)
    places = TensorInfo(None if dims is None else dims[:2], "int32", 2)
    return types.tuple_type([counts.to_type(), info.to_type(), places.to_type()])


def _suppression(kinds: Kinds, attributes: Attributes) -> ir.Type:
    info = _boxes(kinds[0])
    counts, indices = infer.tensor(kinds[1], "valid_count"), infer.tensor(kinds[2], "indices")
    for other, kind, rank, what in (
        (counts, kinds[1], 1, "valid_count"),
        (indices, kinds[2], 2, "indices"),
    ):
        infer.require_integer(other, kind, what)
        infer.require_rank(other, rank, kind, what)
        if other.dims is not None and info.dims is not None:
            infer.require_same_dims(other.dims, info.dims[:rank], [kind, kinds[0]])
    width = info.dims[2] if info.dims is not None else None
    last = max(attributes["score_index"], attributes["id_index"], attributes["coord_start"] + 3)
    if isinstance(width, int) and last >= width:
        raise InferError(f"element {last} of a box is outside {types.describe(kinds[0])}")
    if not attributes["return_indices"]:
        return info.to_type()
    dims = info.dims
    found = [
        TensorInfo(None if dims is None else dims[:2], "int32", 2).to_type(),
        TensorInfo(None if dims is None else (dims[0], 1), "int32", 2).to_type(),
    ]
    return types.tuple_type([info.to_type(), *found] if attributes["soft_nms_sigma"] > 0 else found)


def _all_class(kinds: Kinds, attributes: Attributes) -> ir.Type:
    boxes, scores = _boxes(kinds[0], "boxes"), _boxes(kinds[1], "scores")
    infer.same_dtype([boxes, scores], kinds[:2])
    if boxes.dims is not None and scores.dims is not None:
        pairs = ((boxes.dims[0], scores.dims[0]), (boxes.dims[1], scores.dims[2]))
        if dim_algebra.differ(boxes.dims[2], 4) or any(dim_algebra.differ(*p) for p in pairs):
            raise InferError(
                f"boxes (batch, N, 4) and scores (batch, classes, N) do not fit: "
                f"{types.describe(kinds[0])} and {types.describe(kinds[1])}"
            )
    if attributes["output_format"] == "onnx":
        return types.tuple_type(
            [TensorInfo(None, "int64", 2).to_type(), types.tensor_type((1,), "int64")]
        )
    if attributes["output_format"] != "tensorflow":
        raise InferError("output_format is 'onnx' or 'tensorflow'")
    batch, room = None, None
    if scores.dims is not None:
        batch = scores.dims[0]
        room = dim_algebra.multiply(scores.dims[1], scores.dims[2])
    known = batch is not None and room is not None
    shapes: list[tuple[Any, ...]] = [(batch, room, 2), (batch, room), (batch,)]
    outputs = zip(shapes, ("int64", "float32", "int64"), strict=True)
    return types.tuple_type(
        [TensorInfo(s if known else None, d, len(s)).to_type() for s, d in outputs]
    )


def _multibox(kinds: Kinds, attributes: Attributes) -> ir.Type:
    names = ("cls_pred", "loc_pred", "anchor")
    infos = [infer.tensor(kind, what) for kind, what in zip(kinds, names, strict=True)]
    infer.same_dtype(infos, kinds)
    for info, kind, rank, what in zip(infos, kinds, (3, 2, 3), names, strict=True):
        infer.require_float(info, kind)
        infer.require_rank(info, rank, kind, what)
    if len(attributes["variances"]) != 4:
        raise InferError("variances has four numbers")
    scores, offsets, anchor = (info.dims for info in infos)
    if scores is None:
        return types.tuple_type([infos[0].with_dims(None, 3).to_type()] * 2)
    wanted = [(scores[0], dim_algebra.multiply(scores[2], 4)), (1, scores[2], 4)]
    for given, expected, position in zip((offsets, anchor), wanted, (1, 2), strict=True):
        if given is not None:
            infer.require_same_dims(given, expected, [kinds[position], kinds[0]])
    boxes = infos[0].with_dims((scores[0], scores[2], 4))
    return types.tuple_type([boxes.to_type(), infos[0].to_type()])


_ROI = {"pooled_size": REQUIRED, "spatial_scale": REQUIRED}

define(
    "vision.roi_align",
    ["data", "rois"],
    _roi,
    {**_ROI, "sample_ratio": -1, "aligned": False, "layout": "NCHW", "mode": "avg"},
    doc="Each part of each region (batch, x1, y1, x2, y2), sampled between pixels.",
)
define(
    "vision.roi_pool",
    ["data", "rois"],
    _roi,
    {**_ROI, "layout": "NCHW"},
    doc="The maximum of each part of each region (batch, x1, y1, x2, y2).",
)
define(
    "vision.get_valid_counts",
    ["data"],
    _valid_counts,
    {"score_threshold": 0.0, "id_index": 0, "score_index": 1},
    doc="(counts, data with the valid boxes first, their indices).",
)
define(
    "vision.non_max_suppression",
    ["data", "valid_count", "indices"],
    _suppression,
    {
        "max_output_size": -1,
        "iou_threshold": 0.5,
        "force_suppress": False,
        "top_k": -1,
        "coord_start": 2,
        "score_index": 1,
        "id_index": 0,
        "return_indices": True,
        "invalid_to_bottom": False,
        "soft_nms_sigma": 0.0,
        "score_threshold": 0.0,
    },
    doc="The best boxes without those that overlap better ones too much.",
)
define(
    "vision.all_class_non_max_suppression",
    ["boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"],
    _all_class,
    {"output_format": "onnx"},
    doc="Non-maximum suppression for every class of its own, as ONNX's or TensorFlow's.",
)
define(
    "vision.multibox_transform_loc",
    ["cls_pred", "loc_pred", "anchor"],
    _multibox,
    {
        "clip": False,
        "threshold": 0.0,
        "variances": [1.0, 1.0, 1.0, 1.0],
        "keep_background": True,
        "apply_softmax": True,
    },
    doc="Boxes from anchors and offsets, and the scores of their classes.",
)
