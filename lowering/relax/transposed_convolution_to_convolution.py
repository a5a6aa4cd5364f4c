"""relax-transposed-convolution-to-convolution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import (
    CONVOLUTIONS,
    is_channels_last,
    spatial_rank,
)
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of, dtype_of, replace
from relax_mlir.mlir import ir


@register_pass("relax-transposed-convolution-to-convolution")
@dataclass(frozen=True)
class TransposedConvolutionToConvolution(Pass):
    """Write transposed convolutions with constant weights, channels last, as convolutions.

    The outputs whose position has the same remainder by the stride are an ordinary convolution of
    the data, with every stride-th tap of the weight, backwards.  All of them are one convolution
    with `stride` times as many output channels an axis, whose channels are then put beside each
    other as pixels.  Taps are filled up with zeros to a multiple of the stride.
    """

    def run(self, state: ModuleState) -> None:
        values = ConstantValues(state)
        for function in relax_functions(state):
            for op in list(walk(function)):
                spec = spec_of(op)
                name = "" if spec is None else spec.name
                if name not in CONVOLUTIONS or not name.endswith("_transpose"):
                    continue
                axes = _axes(op, spatial_rank(name))
                weight = None if axes is None else values.of(op.operands[1])
                if axes is not None and weight is not None:
                    write = OperatorWriter(op, state.constants)
                    replace(op, _rewrite(op, axes, weight, write))


@dataclass(frozen=True)
class _Axis:
    """One spatial axis.  Output positions from `first * stride` on, a multiple of the stride, are
    computed, `count` times the stride of them."""

    size: int
    output: int
    taps: int
    stride: int
    before: int

    @property
    def own_taps(self) -> int:
        """Taps of the convolution for one remainder."""
        return -(-self.taps // self.stride)

    @property
    def first(self) -> int:
        return min(self.before // self.stride, self.own_taps - 1)

    @property
    def count(self) -> int:
        last = -(-(self.before + self.output) // self.stride)
        return max(last, self.size) - self.first

    @property
    def padding(self) -> tuple[int, int]:
        low = self.own_taps - 1 - self.first
        return low, self.count + self.own_taps - 1 - self.size - low

    @property
    def skipped(self) -> int:
        """Computed positions ahead of the first output."""
        return self.before - self.first * self.stride


def _axes(op: ir.Operation, ndim: int) -> list[_Axis] | None:
    """The spatial axes, if all but the number of images are known and the rest is as it is needed
    here."""
    attributes = attributes_of(op)
    data, weight, out = (dims_of(v) for v in (*op.operands, op.results[0]))
    plain = is_channels_last(attributes, ndim) and dtype_of(op.results[0]) == dtype_of(
        op.operands[0]
    ) == dtype_of(op.operands[1])
    if not plain or data is None or weight is None or out is None:
        return None
    sizes = [dim for dim in (*data[1:], *weight, *out[1:]) if isinstance(dim, int)]
    spread = layouts.per_dimension(attributes["dilation"], ndim, "dilation")
    if len(sizes) != 3 * ndim + 4 or 0 in sizes or any(d != 1 for d in spread):
        return None
    strides = layouts.per_dimension(attributes["strides"], ndim, "strides")
    befores = [low for low, _ in layouts.padding_pairs(attributes["padding"], ndim)]
    taps, outputs = sizes[ndim + 1 : 2 * ndim + 1], sizes[2 * ndim + 3 : 3 * ndim + 3]
    return [
        _Axis(*numbers) for numbers in zip(sizes[:ndim], outputs, taps, strides, befores,
                                           strict=True)
    ]  # fmt: skip


def _rewrite(
    op: ir.Operation, axes: list[_Axis], weight: np.ndarray, write: OperatorWriter
) -> ir.Value:
    ndim, spatial = len(axes), layouts.SPATIAL[len(axes)]
    outputs = weight.shape[-1]
    strides = [axis.stride for axis in axes]
    kernel = _phases(weight, axes)
    columns = math.prod(strides) * outputs
    constant = write.constant(
        np.ascontiguousarray(kernel.reshape(*kernel.shape[: ndim + 1], columns)),
        dtype_of(op.operands[1]) or "float32",
    )
    padding = [axis.padding[0] for axis in axes] + [axis.padding[1] for axis in axes]
    attributes: dict[str, Any] = {
        "strides": [1] * ndim,
        "padding": padding,
        "data_layout": f"N{spatial}C",
        "kernel_layout": f"{spatial}IO",
    }
    value = write.op(f"nn.conv{ndim}d", op.operands[0], constant, **attributes)
    images: Dim = (dims_of(op.operands[0]) or ("",))[0]
    counts = [axis.count for axis in axes]
    if any(stride != 1 for stride in strides):
        apart = write.op("reshape", value, write.shape([images, *counts, *strides, outputs]))
        order = [0, *(a for i in range(ndim) for a in (1 + i, 1 + ndim + i)), 2 * ndim + 1]
        beside = write.op("permute_dims", apart, axes=order)
        sizes = [count * stride for count, stride in zip(counts, strides, strict=True)]
        value = write.op("reshape", beside, write.shape([images, *sizes, outputs]))
    starts = [axis.skipped for axis in axes]
    ends = [axis.skipped + axis.output for axis in axes]
    whole = [axis.count * axis.stride for axis in axes]
    if not any(starts) and ends == whole:
        return value
    numbers = [list(range(1, ndim + 1)), starts, ends, [1] * ndim]
    return write.op("strided_slice", value, *(write.shape(n) for n in numbers))


def _phases(weight: np.ndarray, axes: list[_Axis]) -> np.ndarray:
    """A weight [taps..., I, O] as [own taps..., I, strides..., O], each with its taps backwards."""
    ndim = len(axes)
    missing = [(0, axis.own_taps * axis.stride - axis.taps) for axis in axes]
    padded = np.pad(weight, [*missing, (0, 0), (0, 0)])
    split = padded.reshape(
        *(n for axis in axes for n in (axis.own_taps, axis.stride)), *weight.shape[ndim:]
    )
    order = [*range(0, 2 * ndim, 2), 2 * ndim, *range(1, 2 * ndim, 2), 2 * ndim + 1]
    return np.flip(split.transpose(order), axis=tuple(range(ndim)))


__all__ = ["TransposedConvolutionToConvolution"]
