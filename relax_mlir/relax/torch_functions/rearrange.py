"""Operators that move elements without computing, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from relax_mlir.relax.torch_functions.dtypes import torch_dtype

__all__ = ["REARRANGE", "axes_of"]


def axes_of(axis: int | Sequence[int] | None, ndim: int) -> list[int]:
    """Axes as a list of numbers that are not negative; all of them for None."""
    if axis is None:
        return list(range(ndim))
    given = [axis] if isinstance(axis, int) else list(axis)
    return [a + ndim if a < 0 else a for a in given]


def _expand_dims(x: Tensor, *, axis: int | Sequence[int]) -> Tensor:
    count = 1 if isinstance(axis, int) else len(axis)
    for place in sorted(axes_of(axis, x.ndim + count)):
        x = x.unsqueeze(place)
    return x


def _squeeze(x: Tensor, *, axis: int | Sequence[int] | None) -> Tensor:
    return x.squeeze() if axis is None else x.squeeze(tuple(axes_of(axis, x.ndim)))


def _reshape(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A zero stands for the size that the tensor has there, unless the tensor is empty."""
    if x.numel():
        shape = tuple(size or x.shape[axis] for axis, size in enumerate(shape))
    return x.reshape(shape)


def _split(x: Tensor, *, indices_or_sections: int | Sequence[int], axis: int) -> tuple[Tensor, ...]:
    """Sections are of equal size but for the last, as in TVM, some maybe empty."""
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        step = -(-size // indices_or_sections)
        ends = [min(step * i, size) for i in range(indices_or_sections + 1)]
    else:
        ends = [0, *[min(end, size) for end in indices_or_sections], size]
    return tuple(x.narrow(axis, a, max(b - a, 0)) for a, b in pairwise(ends))


def _permute_dims(x: Tensor, *, axes: Sequence[int] | None) -> Tensor:
    return x.permute(*(range(x.ndim)[::-1] if axes is None else axes))


def _repeat(x: Tensor, *, repeats: int, axis: int | None) -> Tensor:
    return torch.repeat_interleave(x, repeats, axis)


def _reverse_sequence(x: Tensor, lengths: Tensor, *, seq_axis: int, batch_axis: int) -> Tensor:
    moved = x.movedim((batch_axis, seq_axis), (0, 1)).clone()
    for row, length in zip(moved, lengths, strict=True):
        row[: int(length)] = row[: int(length)].flip(0)
    return moved.movedim((0, 1), (batch_axis, seq_axis))


def _collapse_sum(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    return x.sum_to_size(shape) if tuple(x.shape) != shape else x


def _matmul(a: Tensor, b: Tensor, *, out_dtype: str | None) -> Tensor:
    if out_dtype in (None, "", "void"):
        return torch.matmul(a, b)
    dtype = torch_dtype(out_dtype)
    return torch.matmul(a.to(dtype), b.to(dtype))


REARRANGE: dict[str, Callable[..., Any]] = {
    "permute_dims": _permute_dims,
    "reshape": _reshape,
    "flatten": torch.flatten,
    "nn.batch_flatten": lambda x: torch.flatten(x, 1),
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "broadcast_to": torch.broadcast_to,
    "concat": lambda tensors, *, axis: torch.cat(
        [t.flatten() for t in tensors] if axis is None else tensors, axis or 0
    ),
    "stack": lambda tensors, *, axis: torch.stack(tensors, axis),
    "split": _split,
    "repeat": _repeat,
    "tile": lambda x, *, repeats: torch.tile(
        x, (repeats,) if isinstance(repeats, int) else tuple(repeats)
    ),
    "flip": lambda x, *, axis: torch.flip(x, axes_of(axis, x.ndim)),
    "reverse_sequence": _reverse_sequence,
    "meshgrid": lambda tensors, *, indexing: torch.meshgrid(*tensors, indexing=indexing),
    "collapse_sum_to": _collapse_sum,
    "collapse_sum_like": lambda x, like: _collapse_sum(x, tuple(like.shape)),
    "matmul": _matmul,
    "einsum": lambda tensors, *, subscripts: torch.einsum(subscripts, *tensors),
    "outer": torch.outer,
}
