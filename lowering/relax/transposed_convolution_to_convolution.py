"""relax-transposed-convolution-to-convolution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import layouts
from relax_mlir.dialects.relax.spec import attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import CONVOLUTIONS, spatial_rank
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    dims_of,
    dtype_of,
    erase_dead,
    replace,
)
from relax_mlir.mlir import ir


@register_pass("relax-transposed-convolution-to-convolution")
@dataclass(frozen=True)
class TransposedConvolutionToConvolution(Pass):
    """Write transposed convolutions as convolutions.

    The outputs whose position has the same remainder by the stride are an ordinary convolution of
    the data, with every stride-th tap of the weight, backwards.  All of them are one convolution
    with `stride` times as many output channels an axis, whose channels are then put beside each
    other as pixels.  Taps are filled up with zeros to a multiple of the stride.  Sizes of the data
    may be symbols.  A constant weight is rearranged here and now, one that is an argument by
    operators in every call.
    """

    def run(self, state: ModuleState) -> None:
        for function in relax_functions(state):
            for op in list(walk(function)):
                spec = spec_of(op)
                name = "" if spec is None else spec.name
                if name not in CONVOLUTIONS or not name.endswith("_transpose"):
                    continue
                found = _transposed(op, spatial_rank(name))
                if found is not None:
                    replace(op, _Rewriting(found, op, state).result())


@dataclass(frozen=True)
class _Axis:
    """One spatial axis.  Output positions from `first * stride` on, a multiple of the stride, are
    computed: for each of `stride` remainders as many as the data have, and `more`.

    spread: how far apart the taps of the convolution for one remainder are.
    """

    stride: int
    before: int
    after: int
    extra: int
    taps: int
    dilation: int

    @property
    def all_taps(self) -> int:
        """Taps of the weight, with zeros between them where remainders divide dilated ones."""
        return self.taps if self.stride == 1 else self.taps * self.dilation

    @property
    def spread(self) -> int:
        return self.dilation if self.stride == 1 else 1

    @property
    def own_taps(self) -> int:
        """Taps of the convolution for one remainder."""
        return -(-self.all_taps // self.stride)

    @property
    def _reach(self) -> int:
        return (self.own_taps - 1) * self.spread

    @property
    def first(self) -> int:
        return min(self.before // self.stride, self._reach)

    @property
    def _beyond(self) -> int:
        """Output positions, the border in front counted, past `stride` for each of the data."""
        return (self.taps - 1) * self.dilation + 1 + self.extra - self.after - self.stride

    @property
    def more(self) -> int:
        return max(-(-self._beyond // self.stride), 0) - self.first

    @property
    def padding(self) -> tuple[int, int]:
        low = self._reach - self.first
        return low, self.more + self._reach - low

    @property
    def skipped(self) -> tuple[int, int]:
        """Computed positions ahead of the first output and behind the last."""
        ahead = self.before - self.first * self.stride
        return ahead, self.more * self.stride - ahead - self._beyond + self.before


@dataclass(frozen=True)
class _Transposed:
    """A transposed convolution: sizes of the data and the weight by their letters."""

    spatial: str
    layout: str
    kernel_layout: str
    out_layout: str
    groups: int
    sizes: Mapping[str, Dim]
    inputs: int
    outputs: int
    axes: tuple[_Axis, ...]


def _transposed(op: ir.Operation, ndim: int) -> _Transposed | None:
    """What an operator is, if no axis is in blocks and all sizes but those of images are known."""
    attributes = attributes_of(op)
    spatial, layout = layouts.SPATIAL[ndim], attributes["data_layout"]
    kernel_layout, out_layout = attributes["kernel_layout"], attributes["out_layout"] or layout
    data, weight = (dims_of(value) for value in op.operands)
    plain = sorted(layout) == sorted(out_layout) == sorted(f"NC{spatial}")
    if not plain or sorted(kernel_layout) != sorted(f"IO{spatial}"):
        return None
    if data is None or weight is None or dims_of(op.results[0]) is None:
        return None
    kernel = {x: dim for x, dim in zip(kernel_layout, weight, strict=True) if isinstance(dim, int)}
    if len(kernel) != ndim + 2 or 0 in kernel.values() or 0 in data:
        return None
    strides, dilation, extra = (
        layouts.per_dimension(attributes[name], ndim, name)
        for name in ("strides", "dilation", "output_padding")
    )
    around = layouts.padding_pairs(attributes["padding"], ndim)
    axes = tuple(
        _Axis(strides[i], *around[i], extra[i], kernel[x], dilation[i])
        for i, x in enumerate(spatial)
    )
    sizes = dict(zip(layout, data, strict=True))
    return _Transposed(
        spatial, layout, kernel_layout, out_layout, attributes["groups"], sizes, kernel["I"],
        kernel["O"], axes,
    )  # fmt: skip


class _Rewriting:
    """Writes one transposed convolution anew, in front of it."""

    def __init__(self, transposed: _Transposed, op: ir.Operation, state: ModuleState):
        self.made = transposed
        self.op = op
        self.state = state
        self.write = OperatorWriter(op, state.constants)
        self.strides = [axis.stride for axis in transposed.axes]
        self.groups = [transposed.groups] if transposed.groups > 1 else []
        self.counts = {
            x: dim_algebra.add(transposed.sizes[x], axis.more)
            for x, axis in zip(transposed.spatial, transposed.axes, strict=True)
        }

    def result(self) -> ir.Value:
        made, write = self.made, self.write
        padding = [axis.padding[end] for end in (0, 1) for axis in made.axes]
        attributes: dict[str, Any] = {
            "strides": [1] * len(made.axes),
            "padding": padding,
            "dilation": [axis.spread for axis in made.axes],
            "groups": made.groups,
            "data_layout": made.layout,
            "kernel_layout": f"{made.spatial}IO",
            "out_dtype": dtype_of(self.op.results[0]),
        }
        data, kernel = self.op.operands[0], self._kernel()
        value = write.op(f"nn.conv{len(made.axes)}d", data, kernel, **attributes)
        if any(stride != 1 for stride in self.strides):
            value = self._beside(value)
        value = self._cut(value)
        if made.out_layout != made.layout:
            order = [made.layout.index(x) for x in made.out_layout]
            value = write.op("permute_dims", value, axes=order)
        return value

    def _kernel(self) -> ir.Value:
        """The weight as [own taps..., I of a group, groups, strides..., O of a group], the last
        ones one axis, each remainder with its taps backwards."""
        made, write = self.made, self.write
        steps: list[ir.Value] = [self.op.operands[1]]

        def step(name: str, *operands: Any, **attributes: Any) -> None:
            steps.append(write.op(name, steps[-1], *operands, **attributes))

        order = [made.kernel_layout.index(x) for x in f"{made.spatial}IO"]
        if order != sorted(order):
            step("permute_dims", axes=order)
        channels = [made.inputs, made.outputs]
        if any(axis.all_taps != axis.taps for axis in made.axes):
            apart = [n for axis in made.axes for n in (axis.taps, 1)]
            step("reshape", write.shape([*apart, *channels]))
            zeros = [n for axis in made.axes for n in (0, 0, 0, axis.all_taps // axis.taps - 1)]
            step("nn.pad", pad_width=[*zeros, 0, 0, 0, 0])
            step("reshape", write.shape([*(axis.all_taps for axis in made.axes), *channels]))
        missing = [axis.own_taps * axis.stride - axis.all_taps for axis in made.axes]
        if any(missing):
            step("nn.pad", pad_width=[*(n for m in missing for n in (0, m)), 0, 0, 0, 0])
        taps = [axis.own_taps for axis in made.axes]
        split = [n for axis in made.axes for n in (axis.own_taps, axis.stride)]
        ndim, inner = len(taps), made.inputs // made.groups
        step("reshape", write.shape([*split, made.groups, inner, made.outputs]))
        order = [*range(0, 2 * ndim, 2), 2 * ndim + 1, 2 * ndim, *range(1, 2 * ndim, 2),
                 2 * ndim + 2]  # fmt: skip
        step("permute_dims", axes=order)
        columns = made.groups * math.prod(self.strides) * made.outputs
        step("reshape", write.shape([*taps, inner, columns]))
        for axis, count in enumerate(taps):
            if count > 1:
                step("flip", axis=axis)
        # Values of its own: it remembers those of operations that are erased here.
        array = ConstantValues(self.state).of(steps[-1])
        if array is None:
            return steps[-1]
        constant = write.constant(array, dtype_of(steps[0]) or "float32")
        erase_dead([value.owner.operation for value in steps[1:]])
        return constant

    def _beside(self, value: ir.Value) -> ir.Value:
        """The outputs of every remainder, which are channels, beside each other."""
        made, write = self.made, self.write
        strides = dict(zip(made.spatial, self.strides, strict=True))
        channels: list[Dim] = [*self.groups, *self.strides, made.outputs]
        apart: list[Dim] = []
        starts: dict[str, int] = {}
        for x in made.layout:
            starts[x] = len(apart)
            apart += channels if x == "C" else [self.counts.get(x, made.sizes[x])]
        first = starts["C"] + len(self.groups)
        order: list[int] = []
        whole: list[Dim] = []
        for x in made.layout:
            if x == "C":
                order += [*range(starts["C"], first), first + len(self.strides)]
                whole.append(made.groups * made.outputs)
            elif x == "N":
                order.append(starts["N"])
                whole.append(made.sizes["N"])
            else:
                order += [starts[x], first + made.spatial.index(x)]
                whole.append(dim_algebra.multiply(self.counts[x], strides[x]))
        value = write.op("reshape", value, write.shape(apart))
        value = write.op("permute_dims", value, axes=order)
        return write.op("reshape", value, write.shape(whole))

    def _cut(self, value: ir.Value) -> ir.Value:
        """Without the positions that are no outputs."""
        made, write = self.made, self.write
        skipped = {x: axis.skipped for x, axis in zip(made.spatial, made.axes, strict=True)}
        if not any(map(any, skipped.values())):
            return value
        axes = [made.layout.index(x) for x in made.spatial]
        dims = dims_of(value) or ()
        starts = [skipped[x][0] for x in made.spatial]
        ends = [
            dim_algebra.subtract(dims[axis], skipped[x][1])
            for x, axis in zip(made.spatial, axes, strict=True)
        ]
        bounds = [write.shape(numbers) for numbers in (axes, starts, ends, [1] * len(axes))]
        return write.op("strided_slice", value, *bounds, assume_inbound=True)


__all__ = ["TransposedConvolutionToConvolution"]
