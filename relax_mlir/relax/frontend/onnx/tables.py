"""The table of all converters, from the families' tables."""

from __future__ import annotations

from relax_mlir.relax.frontend.onnx import (
    ops_elementwise,
    ops_index,
    ops_reduction,
    ops_shape,
)
from relax_mlir.relax.frontend.onnx.node import Row

_FAMILIES = (
    ops_elementwise,
    ops_reduction,
    ops_shape,
    ops_index,
)

CONVERTERS: dict[str, Row] = {}
for _family in _FAMILIES:
    CONVERTERS.update(_family.CONVERTERS)
