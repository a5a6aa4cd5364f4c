"""relax-split-grouped-convolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import is_channels_last
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of, replace
from relax_mlir.mlir import ir

# More groups, or narrower ones, are faster together.
_MOST_GROUPS, _LEAST_INPUTS, _LEAST_OUTPUTS = 4, 16, 32


@register_pass("relax-split-grouped-convolution")
@dataclass(frozen=True)
class SplitGroupedConvolution(Pass):
    """Write convolutions of few wide groups as one for each, where Winograd's algorithms apply.

    Channels last, float32, constant weights.  The channels are taken apart and put together again,
    which takes far less time than the algorithms gain: 5x5 over 96 channels of 27 x 27 in two
    groups to 256 takes 2 ms in groups, 1.1 as two.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            values = ConstantValues(state)
            for op in list(walk(function)):
                spec = spec_of(op)
                if spec is None or spec.name != "nn.conv2d" or not _is_suited(op):
                    continue
                weight = values.of(op.operands[1])
                if weight is not None:
                    replace(op, _split(op, weight, OperatorWriter(op, state.constants)))


def _is_suited(op: ir.Operation) -> bool:
    attributes = attributes_of(op)
    groups = attributes["groups"]
    if not 1 < groups <= _MOST_GROUPS or not is_channels_last(attributes | {"groups": 1}, 2):
        return False
    values = [*op.operands, op.results[0]]
    kernel, images = dims_of(op.operands[1]), dims_of(op.operands[0])
    if kernel is None or images is None or any(dtype_of(v) != "float32" for v in values):
        return False
    sizes = [dim for dim in (*kernel, *images[1:3]) if isinstance(dim, int)]
    if len(sizes) != 6:
        return False
    strides, dilation = (
        layouts.per_dimension(attributes[name], 2, name) for name in ("strides", "dilation")
    )
    rows, columns, inputs, outputs = sizes[:4]
    wide = inputs >= _LEAST_INPUTS and outputs >= groups * _LEAST_OUTPUTS
    return wide and min(rows, columns) >= 3 and strides == (1, 1) and dilation == (1, 1)


def _split(op: ir.Operation, weight: np.ndarray, write: OperatorWriter) -> ir.Value:
    attributes = attributes_of(op)
    groups = attributes["groups"]
    attributes["groups"] = 1
    parts = write.op("split", op.operands[0], indices_or_sections=groups, axis=3)
    made = [
        write.op(
            "nn.conv2d",
            write.field(parts, number),
            write.constant(np.ascontiguousarray(kernel), "float32"),
            **attributes,
        )
        for number, kernel in enumerate(np.split(weight, groups, axis=3))
    ]
    return write.op("concat", made, axis=3)


__all__ = ["SplitGroupedConvolution"]
