"""What a function costs in the layouts that it has: convolutions and transpositions, roughly.

Only the order of two layouts of the same function matters, so the rates are those of one core of a
present machine in round numbers, and sizes that are not known are taken for typical ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.relax.functions import walk
from relax_mlir.lowering.relax.rewriting import defining, dims_of, dtype_of
from relax_mlir.mlir import ir

CONVOLUTIONS = frozenset(
    f"nn.conv{ndim}d{suffix}" for ndim in layouts.SPATIAL for suffix in ("", "_transpose")
)
_PEAK = 100e9
"""Multiply-adds a second."""
_BANDWIDTH = 8e9
"""Bytes a second that a transposition reads and writes."""
_SHARE = {"C": 0.8, "W": 0.3}
"""The share of the peak that a convolution reaches whose innermost axis is channels or pixels."""
_LANES = 16
_UNKNOWN = 32


def spatial_rank(name: str) -> int:
    """How many spatial axes the operator of this name among `CONVOLUTIONS` has."""
    return int(name.removeprefix("nn.conv")[0])


def is_channels_last(attributes: Mapping[str, Any], ndim: int) -> bool:
    """Whether a convolution reads and writes NHWC images by an HWIO kernel (or the same of `ndim`
    spatial axes) of one group."""
    spatial = layouts.SPATIAL[ndim]
    data, out = attributes["data_layout"], attributes["out_layout"]
    return (
        data == f"N{spatial}C"
        and out in (None, data)
        and attributes["kernel_layout"] == f"{spatial}IO"
        and attributes["groups"] == 1
    )


def layout_cost(function: ir.Operation) -> float:
    """Seconds for what depends on the layout: convolutions, and transpositions of what is not
    constant."""
    total = 0.0
    for op in walk(function):
        spec = spec_of(op)
        if spec is None:
            continue
        if spec.name in CONVOLUTIONS:
            total += _convolution(op)
        elif spec.name == "permute_dims" and defining(op.operands[0], "relax.constant") is None:
            total += 2 * _bytes(op.results[0]) / _BANDWIDTH
    return total


def _convolution(op: ir.Operation) -> float:
    attributes = attributes_of(op)
    layout = attributes["out_layout"] or attributes["data_layout"]
    kernel = _sizes(op.operands[1])
    out = _sizes(op.results[0])
    if len(layout) != len(out) or "O" not in attributes["kernel_layout"]:
        return 0.0
    multiply_adds = (
        math.prod(out) * math.prod(kernel) / kernel[attributes["kernel_layout"].find("O")]
    )
    lanes = out[-1]
    if op.name.endswith("_transpose"):
        # The outputs of every remainder by the strides are channels of one convolution.
        strides = attributes["strides"]
        phases = math.prod(layouts.per_dimension(strides, len(layout) - 2, "strides"))
        multiply_adds /= phases * attributes["groups"]
        lanes *= phases if layout[-1] == "C" else 1
    used = lanes / (math.ceil(lanes / _LANES) * _LANES) if lanes else 1.0
    return multiply_adds / (_PEAK * _SHARE.get(layout[-1], 0.1) * max(used, 1 / _LANES))


def _sizes(value: ir.Value) -> list[int]:
    return [dim if isinstance(dim, int) else _UNKNOWN for dim in dims_of(value) or ()]


def _bytes(value: ir.Value) -> float:
    return math.prod(_sizes(value)) * dtypes.bits(dtype_of(value) or "float32") / 8


__all__ = ["CONVOLUTIONS", "is_channels_last", "layout_cost", "spatial_rank"]
