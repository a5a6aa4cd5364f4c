"""Legalisation of operators that rearrange elements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from relax_mlir import te, topi
from relax_mlir.dialects.relax.layout_transform import map_text
from relax_mlir.lowering.relax_to_tir.rows import (
    ROWS,
    Result,
    Row,
    is_one,
    legalize,
    legalize_loops,
    positive_axis,
)
from relax_mlir.tir import expr as tir
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.schedule.index_map import IndexMap
from relax_mlir.topi.imperative import every


@legalize("permute_dims", "transpose")
def _permute_dims(x: te.Tensor, *, axes: Any) -> te.Tensor:
    return topi.transpose(x, axes)


@legalize("reshape", result=True)
def _reshape(x: te.Tensor, shape: Any, *, result: Result) -> te.Tensor:
    return topi.reshape(x, result.shape)


@legalize("nn.batch_flatten", "reshape", result=True)
@legalize("flatten", "reshape", result=True)
def _flatten(x: te.Tensor, *, result: Result) -> te.Tensor:
    return topi.reshape(x, result.shape)


@legalize("expand_dims", result=True)
def _expand_dims(x: te.Tensor, *, axis: Any, result: Result) -> te.Tensor:
    ndim = len(result.shape)
    new = {positive_axis(a, ndim) for a in ([axis] if isinstance(axis, int) else axis)}
    kept = [i for i in range(ndim) if i not in new]
    return te.compute(result.shape, lambda *index: x(*[index[i] for i in kept]), name="expand_dims")


@legalize("squeeze", result=True)
def _squeeze(x: te.Tensor, *, axis: Any, result: Result) -> te.Tensor:
    if len(result.shape) == x.ndim:
        return topi.identity(x)
    named = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = {positive_axis(a, x.ndim) for a in named}
    dropped = [a for a in axes if is_one(x.shape[a]) or not hasattr(x.shape[a], "value")]
    return topi.squeeze(x, sorted(dropped))


@legalize("broadcast_to", result=True)
def _broadcast_to(x: te.Tensor, shape: Any, *, result: Result) -> te.Tensor:
    return topi.broadcast_to(x, result.shape)


@legalize("concat", "concatenate")
def _concat(tensors: Sequence[te.Tensor], *, axis: int | None) -> te.Tensor:
    return topi.concatenate(list(tensors), 0 if axis is None else axis)


@legalize("stack")
def _stack(tensors: Sequence[te.Tensor], *, axis: int | None) -> te.Tensor:
    return topi.stack(list(tensors), axis or 0)


@legalize("split")
def _split(x: te.Tensor, *, indices_or_sections: Any, axis: int) -> list[te.Tensor]:
    return topi.split(x, indices_or_sections, axis)


@legalize("repeat", result=True)
def _repeat(x: te.Tensor, *, repeats: int, axis: int | None, result: Result) -> te.Tensor:
    if axis is None:
        count = te.const(1, "int64")
        for size in x.shape:
            count = count * size
        return topi.repeat(topi.reshape(x, [count]), repeats, 0)
    return topi.repeat(x, repeats, axis)


@legalize("tile")
def _tile(x: te.Tensor, *, repeats: Any) -> te.Tensor:
    return topi.tile(x, [repeats] if isinstance(repeats, int) else list(repeats))


ROWS["flip"] = Row("flip", topi.flip)
ROWS["reverse_sequence"] = Row("reverse_sequence", topi.reverse_sequence)


@legalize("meshgrid")
def _meshgrid(tensors: Sequence[te.Tensor], *, indexing: str | None) -> list[te.Tensor]:
    return topi.meshgrid(list(tensors), indexing or "ij")


@legalize("collapse_sum_like", "collapse_sum", result=True)
@legalize("collapse_sum_to", "collapse_sum", result=True)
def _collapse_sum(x: te.Tensor, target: Any, *, result: Result) -> te.Tensor:
    return topi.collapse_sum(x, result.shape)


_PADS = {
    "reflect": topi.nn.reflect_pad,
    "replicate": topi.nn.replicate_pad,
    "circular": topi.nn.circular_pad,
}


@legalize("nn.pad")
def _pad(
    x: te.Tensor, *, pad_width: Sequence[int], pad_mode: str | None, pad_value: float
) -> te.Tensor:
    before, after = list(pad_width[::2]), list(pad_width[1::2])
    if pad_mode in (None, "constant"):
        return topi.nn.pad(x, before, after, pad_value, name="T_pad")
    return _PADS[pad_mode](x, before, after)


ROWS["nn.pixel_shuffle"] = Row("pixel_shuffle", topi.nn.pixel_shuffle)


@legalize_loops("layout_transform")
def _layout_transform(
    build: PrimFuncBuilder,
    x: Buffer,
    out: Buffer,
    *,
    index_map: Any,
    pad_value: Any,
    **_: Any,
) -> None:
    """Fill what no element becomes, then put each element where the map says."""
    zero = O.const(0 if pad_value is None else pad_value, x.dtype)
    with ExitStack() as nest:
        build.store(out, zero, every(build, out.shape, nest, "o"))
    target = IndexMap.parse(map_text(index_map))
    with ExitStack() as nest:
        index = every(build, x.shape, nest, "i")
        values = dict(zip(target.initial_indices, index, strict=True))
        places = [tir.substitute(e, values) for e in target.final_indices]
        build.store(out, x[tuple(index)], places)
