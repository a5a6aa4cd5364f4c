"""Image operators: resize2d, resize3d, affine_grid, grid_sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.relax import infer, layouts, types
from relax_mlir.dialects.relax.spec import Infer, InferError, define
from relax_mlir.mlir import ir

METHODS = ("nearest_neighbor", "linear", "cubic")
COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


def _resize(ndim: int) -> Infer:
    spatial = layouts.SPATIAL[ndim]

    def infer_type(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
        info, size = infer.tensor(kinds[0], "data"), infer.shape_dims(kinds[1], "size")
        layout = layouts.check(attributes["layout"], "NC" + spatial, "layout")
        layouts.require_rank(info, layout, kinds[0], "data")
        for name, allowed in (("method", METHODS), ("coordinate_transformation_mode", COORDINATES)):
            if attributes[name] not in allowed:
                raise InferError(f"{name} '{attributes[name]}' is none of {', '.join(allowed)}")
        if size.ndim not in (-1, ndim):
            raise InferError(f"size {types.describe(kinds[1])} must have {ndim} dimensions")
        info = info.with_dtype(infer.dtype_attribute(attributes, "out_dtype") or info.dtype)
        if info.dims is None or size.dims is None:
            return info.with_dims(None, ndim + 2).to_type()
        sizes = layouts.sizes_of(info.dims, layout)
        sizes.update(zip(spatial, size.dims, strict=True))
        return info.with_dims(layouts.dims_of(sizes, layout)).to_type()

    return infer_type


def _affine_grid(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    info, size = infer.tensor(kinds[0], "data"), infer.shape_dims(kinds[1], "size")
    infer.require_rank(info, 3, kinds[0], "data")
    if size.ndim not in (-1, 2):
        raise InferError(f"size {types.describe(kinds[1])} must have 2 dimensions")
    if info.dims is None or size.dims is None:
        return info.with_dims(None, 4).to_type()
    if dim_algebra.differ(info.dims[1], 2) or dim_algebra.differ(info.dims[2], 3):
        raise InferError(f"needs 2 by 3 matrices, got {types.describe(kinds[0])}")
    return info.with_dims((info.dims[0], 2, *size.dims)).to_type()


def _grid_sample(kinds: Sequence[ir.Type], attributes: Mapping[str, Any]) -> ir.Type:
    data, grid = infer.tensor(kinds[0], "data"), infer.tensor(kinds[1], "grid")
    allowed = {
        "method": ("bilinear", "nearest", "bicubic"),
        "layout": ("NCHW",),
        "padding_mode": ("zeros", "border", "reflection"),
    }
    for name, values in allowed.items():
        if attributes[name] not in values:
            raise InferError(f"{name} '{attributes[name]}' is none of {', '.join(values)}")
    for info, kind, what in ((data, kinds[0], "data"), (grid, kinds[1], "grid")):
        infer.require_float(info, kind)
        infer.require_rank(info, 4, kind, what)
    if data.dims is None or grid.dims is None:
        return data.with_dims(None, 4).to_type()
    if dim_algebra.differ(grid.dims[1], 2) or dim_algebra.differ(grid.dims[0], data.dims[0]):
        raise InferError(
            f"grid {types.describe(kinds[1])} must have the data's batch and two coordinates: "
            f"{types.describe(kinds[0])}"
        )
    return data.with_dims((*data.dims[:2], *grid.dims[2:])).to_type()


define(
    "image.affine_grid",
    ["data", "size"],
    _affine_grid,
    {"align_corners": True},
    kinds={"size": "shape"},
    doc="The coordinates in [-1, 1] that 2 by 3 matrices map the pixels of an image to.",
)
define(
    "image.grid_sample",
    ["data", "grid"],
    _grid_sample,
    {
        "method": "bilinear",
        "layout": "NCHW",
        "padding_mode": "zeros",
        "align_corners": False,
    },
    doc="An image read at the coordinates (x, y) in [-1, 1] of a grid.",
)

for _ndim, _rounding in ((2, "round"), (3, "")):
    define(
        f"image.resize{_ndim}d",
        ["data", "size"],
        _resize(_ndim),
        {
            "roi": None,
            "layout": "NC" + layouts.SPATIAL[_ndim],
            "method": "linear",
            "coordinate_transformation_mode": "half_pixel",
            "rounding_method": _rounding,
            "cubic_alpha": -0.75,
            "cubic_exclude": 0,
            "extrapolation_value": 0.0,
            "out_dtype": None,
        },
        kinds={"size": "shape"},
        doc="Resample to another size.",
    )
