"""The table of all converters, from the families' tables."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax.frontend.torch import (
    ops_activation,
    ops_complex,
    ops_conv,
    ops_create,
    ops_elementwise,
    ops_gradient,
    ops_index,
    ops_linalg,
    ops_norm,
    ops_random,
    ops_reduction,
    ops_rnn,
    ops_shape,
)
from relax_mlir.relax.frontend.torch.importer import Converter

FAMILIES = (
    ops_elementwise,
    ops_activation,
    ops_linalg,
    ops_shape,
    ops_reduction,
    ops_create,
    ops_index,
    ops_norm,
    ops_random,
    ops_conv,
    ops_rnn,
    ops_gradient,
    ops_complex,
)

CONVERTERS: dict[Any, Converter] = {}
for _family in FAMILIES:
    CONVERTERS.update(_family.CONVERTERS)
