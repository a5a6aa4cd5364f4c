"""Image operators: resize2d, resize3d."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
        sizes = dict(zip(layout, info.dims, strict=True))
        sizes.update(zip(spatial, size.dims, strict=True))
        return info.with_dims(sizes[letter] for letter in layout).to_type()

    return infer_type


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
