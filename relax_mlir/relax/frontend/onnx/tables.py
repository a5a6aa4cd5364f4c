"""The table of all converters, from the families' tables."""

from __future__ import annotations

from relax_mlir.relax.frontend.onnx import (
    ops_attention,
    ops_control_flow,
    ops_convolution,
    ops_elementwise,
    ops_image,
    ops_index,
    ops_nn,
    ops_normalization,
    ops_quantization,
    ops_random,
    ops_recurrent,
    ops_reduction,
    ops_sampling,
    ops_sequence,
    ops_shape,
    ops_signal,
    ops_vision,
)
from relax_mlir.relax.frontend.onnx.node import Row

_FAMILIES = (
    ops_attention,
    ops_control_flow,
    ops_convolution,
    ops_elementwise,
    ops_image,
    ops_index,
    ops_nn,
    ops_normalization,
    ops_quantization,
    ops_random,
    ops_recurrent,
    ops_reduction,
    ops_sampling,
    ops_sequence,
    ops_shape,
    ops_signal,
    ops_vision,
)

CONVERTERS: dict[str, Row] = {}
for _family in _FAMILIES:
    CONVERTERS.update(_family.CONVERTERS)
