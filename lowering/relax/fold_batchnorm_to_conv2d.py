"""relax-fold-batchnorm-to-conv2d."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.relax.constants import read_constant
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import batch_norm_terms
from relax_mlir.lowering.relax.functions import relax_functions
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    defining,
    dtype_of,
    has_one_use,
    replace,
)
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-fold-batchnorm-to-conv2d")
@dataclass(frozen=True)
class FoldBatchnormToConv2D(Pass):
    """Scale a convolution's weight, and add a bias, in place of the batch normalisation behind it.

    For inference: the running mean and variance are used.  The weight and the four parameters must
    be constants (`relax-bind-params`), the normalised axis that of the convolution's channels, and
    nobody else may use the convolution or the new running statistics.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in operations_named(function, ["relax.nn_batch_norm"]):
                _fold(op, state)


def _fold(norm: ir.Operation, state: ModuleState) -> None:
    conv = defining(norm.operands[0], "relax.nn_conv2d")
    if conv is None or not has_one_use(conv.results[0]):
        return
    items = [use.owner.operation for use in norm.results[0].uses]
    if not items or any(_index(item) != 0 for item in items):
        return
    attributes, own = attributes_of(norm), attributes_of(conv)
    layout = own["out_layout"] or own["data_layout"]
    kernel = own["kernel_layout"]
    if layout.find("C") != attributes["axis"] % len(layout) or len(kernel) != 4:
        return
    arrays = [_array(value, state) for value in (conv.operands[1], *list(norm.operands)[1:])]
    if any(array is None for array in arrays):
        return
    weight, bias = _folded(arrays, kernel.find("O"), attributes)
    dtype = dtype_of(conv.operands[1]) or "float32"
    write = OperatorWriter(conv, state.constants)
    scaled = write.op("nn.conv2d", conv.operands[0], write.constant(weight, dtype), **own)
    shape = [len(bias) if axis == "C" else 1 for axis in layout]
    shift = write.constant(bias.reshape(shape), dtype_of(scaled) or dtype)
    shifted = write.op("add", scaled, shift)
    for item in items:
        replace(item, shifted)
    norm.erase()
    conv.erase()


def _index(op: ir.Operation) -> int:
    if op.name != "relax.tuple_get_item":
        return -1
    return ir.IntegerAttr(op.attributes["index"]).value


def _array(value: ir.Value, state: ModuleState) -> np.ndarray | None:
    op = defining(value, "relax.constant")
    return None if op is None else read_constant(op, state.constants)


def _folded(
    arrays: list[np.ndarray | None], channel: int, attributes: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The scaled weight and the bias, computed in float64."""
    weight, *parameters = (np.asarray(a, np.float64) for a in arrays)
    factor, bias = batch_norm_terms(attributes, parameters)
    shape = [-1 if axis == channel else 1 for axis in range(weight.ndim)]
    return weight * factor.reshape(shape), bias


__all__ = ["FoldBatchnormToConv2D"]
