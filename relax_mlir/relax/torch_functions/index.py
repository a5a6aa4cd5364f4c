"""Operators that select or place elements by position, sort and sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from relax_mlir.relax.torch_functions.dtypes import torch_dtype
from relax_mlir.relax.torch_functions.rearrange import axes_of

__all__ = ["INDEX"]

SCATTER_REDUCTIONS = {"add": "sum", "mul": "prod", "mean": "mean", "min": "amin", "max": "amax"}
"""Relax's names and those of torch's scatter_reduce."""


def _take(x: Tensor, indices: Tensor, *, axis: int | None, mode: str) -> Tensor:
    """Out of range: "wrap" goes around, "nan" gives NaN, "clip" and "fast" the nearest entry."""
    at = 0 if axis is None else axis
    size = x.shape[at]
    places = torch.as_tensor(indices).to(torch.int64)
    wrapped = places.remainder(max(size, 1)) if mode == "wrap" else places
    within = wrapped.clamp(0, max(size - 1, 0))
    picked = x.index_select(at, within.flatten())
    start = at % x.ndim
    taken = picked.reshape(*x.shape[:start], *places.shape, *x.shape[start + 1 :])
    if mode != "nan":
        return taken
    valid = ((places >= -size) & (places < size)).reshape(
        *[1] * start, *places.shape, *[1] * (x.ndim - start - 1)
    )
    return torch.where(valid, taken, torch.nan)


def _slice(size: int, begin: int, end: int, step: int) -> range:
    """The positions of a Python slice."""
    return range(*slice(int(begin), int(end), int(step)).indices(size))


def _strided_slice(
    x: Tensor, axes: Any, begin: Any, end: Any, strides: Any, *, assume_inbound: bool
) -> Tensor:
    steps = [1] * len(axes) if strides is None else strides
    for axis, low, high, step in zip(axes_of(axes, x.ndim), begin, end, steps, strict=True):
        places = _slice(x.shape[axis], low, high, step)
        x = x.index_select(axis, torch.tensor(places, dtype=torch.int64))
    return x


def _dynamic_strided_slice(x: Tensor, begin: Tensor, end: Tensor, strides: Tensor) -> Tensor:
    axes = list(range(x.ndim))
    limits = (begin.tolist(), end.tolist(), strides.tolist())
    return _strided_slice(x, axes, *limits, assume_inbound=False)


def _gather_elements(x: Tensor, indices: Tensor, *, axis: int) -> Tensor:
    size = x.shape[axis]
    places = indices.to(torch.int64)
    return torch.gather(x, axis, torch.where(places < 0, places + size, places))


def _gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int) -> Tensor:
    columns = [*indices.to(torch.int64).movedim(-1, 0)]
    own: list[Tensor] = []
    for dim in range(batch_dims):
        shape = [1] * columns[0].ndim
        shape[dim] = x.shape[dim]
        own.append(torch.arange(x.shape[dim]).reshape(shape))
    return x[(*own, *columns)]


def _scatter_elements(
    x: Tensor, indices: Tensor, updates: Tensor, *, axis: int, reduction: str
) -> Tensor:
    places = indices.to(torch.int64)
    places = torch.where(places < 0, places + x.shape[axis], places)
    if reduction == "update":
        return torch.scatter(x, axis, places, updates)
    return torch.scatter_reduce(x, axis, places, updates, SCATTER_REDUCTIONS[reduction])


def _scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str) -> Tensor:
    """Slices are rows of a matrix, places numbers of rows; what is out of range is left out."""
    depth = indices.shape[-1]
    rows = torch.zeros(indices.shape[:-1], dtype=torch.int64)
    valid = torch.ones(indices.shape[:-1], dtype=torch.bool)
    for dim in range(depth):
        size, place = x.shape[dim], indices[..., dim].to(torch.int64)
        valid &= (place >= -size) & (place < size)
        rows = rows * size + torch.where(place < 0, place + size, place)
    count = torch.Size(x.shape[:depth]).numel()
    flat = x.reshape(count, -1)
    values = updates.reshape(-1, flat.shape[1])[valid.flatten()]
    number = rows[valid][:, None].expand(values.shape)
    return _scatter_elements(flat, number, values, axis=0, reduction=reduction).reshape(x.shape)


def _index_put(x: Tensor, indices: Sequence[Tensor], values: Tensor, *, accumulate: bool) -> Tensor:
    return x.index_put(_as_indices(indices), values, accumulate)


def _as_indices(indices: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(i if i.dtype == torch.bool else i.to(torch.int64) for i in indices)


def _slice_scatter(x: Tensor, source: Tensor, start: Any, end: Any, step: Any, *, axis: int) -> Any:
    places = torch.tensor(_slice(x.shape[axis], start, end, step), dtype=torch.int64)
    return x.index_copy(axis, places, source)


def _one_hot(indices: Tensor, on: Any, off: Any, *, depth: int, axis: int) -> Tensor:
    place = axis % (indices.ndim + 1)
    shape = [1] * (indices.ndim + 1)
    shape[place] = depth
    chosen = indices.unsqueeze(place) == torch.arange(depth).reshape(shape)
    return torch.where(chosen, torch.as_tensor(on), torch.as_tensor(off))


def _argsort(x: Tensor, *, axis: int, descending: bool, dtype: str = "int64") -> Tensor:
    order = torch.argsort(x, dim=axis, descending=descending, stable=True)
    return order.to(torch_dtype(dtype))


def _sort(x: Tensor, *, axis: int, descending: bool) -> Tensor:
    return torch.sort(x, dim=axis, descending=descending, stable=True).values


def _topk(
    x: Tensor, *, k: int, axis: int, ret_type: str, largest: bool, dtype: str
) -> Tensor | tuple[Tensor, Tensor]:
    size = x.shape[axis]
    order = torch.argsort(x, dim=axis, descending=largest, stable=True)
    order = order.narrow(axis, 0, min(k, size) if k > 0 else size)
    found = torch.gather(x, axis, order), order.to(torch_dtype(dtype))
    return found if ret_type == "both" else found[ret_type == "indices"]


def _unique(
    x: Tensor,
    *,
    sorted: bool,
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    axis: int | None,
) -> Any:
    """As numpy's: all NaN are one value, the largest."""
    wanted = (return_index, return_inverse, return_counts)
    values, *positions = np.unique(x.numpy(), True, True, True, axis=axis)
    chosen = [part for part, use in zip(positions, wanted, strict=True) if use]
    made = torch.from_numpy(values)
    return (made, *(torch.from_numpy(part).flatten() for part in chosen)) if chosen else made


def _multinomial(prob: Tensor, samples: Tensor, rows: Tensor, *, dtype: str) -> Tensor:
    row = rows[:, 0].to(torch.int64).clamp(0, len(prob) - 1)
    total = torch.cumsum(prob.to(torch.float32), 1)[row]
    above = total > samples.to(torch.float32)
    above[:, -1] = True
    return above.to(torch.int8).argmax(1, keepdim=True).to(torch_dtype(dtype))


INDEX: dict[str, Callable[..., Any]] = {
    "take": _take,
    "strided_slice": _strided_slice,
    "dynamic_strided_slice": _dynamic_strided_slice,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "index_tensor": lambda x, indices: x[_as_indices(indices)],
    "index_put": _index_put,
    "slice_scatter": _slice_scatter,
    "one_hot": _one_hot,
    "bucketize": lambda x, boundaries, *, out_int32, right: torch.bucketize(
        x, boundaries, out_int32=out_int32, right=right
    ),
    "argsort": _argsort,
    "sort": _sort,
    "topk": _topk,
    "nonzero": lambda x: torch.nonzero(x).T,
    "unique": _unique,
    "multinomial_from_uniform": _multinomial,
}
