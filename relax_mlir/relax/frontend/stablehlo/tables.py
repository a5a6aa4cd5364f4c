"""The table of all converters, from the families' tables."""

from __future__ import annotations

from relax_mlir.relax.frontend.stablehlo import (
    ops_complex,
    ops_contraction,
    ops_control_flow,
    ops_elementwise,
    ops_index,
    ops_linear_systems,
    ops_normalization,
    ops_random,
    ops_reduction,
    ops_shape,
)
from relax_mlir.relax.frontend.stablehlo.operation import Converter

_FAMILIES = (
    ops_complex,
    ops_contraction,
    ops_control_flow,
    ops_elementwise,
    ops_index,
    ops_linear_systems,
    ops_normalization,
    ops_random,
    ops_reduction,
    ops_shape,
)

CONVERTERS: dict[str, Converter] = {}
for _family in _FAMILIES:
    CONVERTERS.update(_family.CONVERTERS)

CONTROL_FLOW = ("stablehlo.if", "stablehlo.case", "stablehlo.while")
"""Operations that no dataflow block can hold."""
