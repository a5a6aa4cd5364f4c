"""Operators that make tensors, from shapes and numbers, and those that ask for sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from relax_mlir.relax.torch_functions.dtypes import torch_dtype

__all__ = ["CREATE"]

Shape = tuple[int, ...]


def _dtype_or(name: str | None, otherwise: torch.dtype) -> torch.dtype:
    return otherwise if name in (None, "", "void") else torch_dtype(name)


def _full(shape: Shape, value: Tensor, *, dtype: str | None) -> Tensor:
    return value.to(_dtype_or(dtype, value.dtype)).expand(shape).clone()


def _eye(n: int, m: int | None, k: int | None, *, dtype: str) -> Tensor:
    columns = n if m is None else m
    rows, places = torch.arange(n)[:, None], torch.arange(columns)[None]
    return (places - rows == (k or 0)).to(torch_dtype(dtype))


def _eye_like(x: Tensor, k: int | None, *, dtype: str | None) -> Tensor:
    name = dtype or str(x.dtype).removeprefix("torch.")
    return _eye(x.shape[0], x.shape[1], k, dtype=name)


def _arange(start: Any, end: Any, step: Any, *, dtype: str | None) -> Tensor:
    first, last = (0, start) if end is None else (start, end)
    values = torch.arange(first, last, 1 if step is None else step)
    return values.to(_dtype_or(dtype, values.dtype))


def _hamming_window(size: Any, periodic: Any, alpha: Any, beta: Any, *, dtype: str) -> Tensor:
    return torch.hamming_window(
        int(size), bool(periodic), float(alpha), float(beta), dtype=torch_dtype(dtype)
    )


def _alloc_storage(size: Shape, **_: Any) -> Tensor:
    return torch.empty(size, dtype=torch.uint8)


def _alloc_tensor_of(storage: Tensor, offset: int, shape: Shape, *, dtype: str, **_: Any) -> Tensor:
    kind = torch_dtype(dtype)
    count = torch.Size(shape).numel() * kind.itemsize
    return storage.flatten()[int(offset) : int(offset) + count].view(kind).reshape(shape)


def _view(x: Tensor, shape: Shape | None, offset: int | None, *, dtype: str | None) -> Tensor:
    kind = _dtype_or(dtype, x.dtype)
    sizes = tuple(x.shape) if shape is None else shape
    stored = x.contiguous().flatten().view(torch.uint8)[int(offset or 0) :]
    return stored[: torch.Size(sizes).numel() * kind.itemsize].view(kind).reshape(sizes)


def _broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    return tuple(torch.broadcast_shapes(*shapes))


CREATE: dict[str, Callable[..., Any]] = {
    "full": _full,
    "full_like": lambda x, value, *, dtype: _full(
        tuple(x.shape), value.to(_dtype_or(dtype, x.dtype)), dtype=None
    ),
    "zeros": lambda shape, *, dtype: torch.zeros(shape, dtype=torch_dtype(dtype)),
    "ones": lambda shape, *, dtype: torch.ones(shape, dtype=torch_dtype(dtype)),
    "zeros_like": lambda x, *, dtype: torch.zeros(x.shape, dtype=_dtype_or(dtype, x.dtype)),
    "ones_like": lambda x, *, dtype: torch.ones(x.shape, dtype=_dtype_or(dtype, x.dtype)),
    "eye": _eye,
    "eye_like": _eye_like,
    "arange": _arange,
    "tril": lambda x, k: torch.tril(x, k or 0),
    "triu": lambda x, k: torch.triu(x, k or 0),
    "hamming_window": _hamming_window,
    "builtin.alloc_tensor": lambda shape, *, dtype, **_: torch.empty(
        shape, dtype=torch_dtype(dtype)
    ),
    "memory.alloc_storage": _alloc_storage,
    "memory.alloc_tensor": _alloc_tensor_of,
    "vm.alloc_storage": _alloc_storage,
    "vm.alloc_tensor": _alloc_tensor_of,
    "memory.view": _view,
    **dict.fromkeys(("memory.kill_storage", "memory.kill_tensor", "vm.kill_object"), lambda _: ()),
    "null_value": lambda: None,
    "shape_of": lambda x: tuple(x.shape),
    "shape_to_tensor": lambda shape: torch.tensor(shape, dtype=torch.int64),
    "tensor_to_shape": lambda x: tuple(int(size) for size in x),
    "size": lambda x: torch.tensor(x.numel(), dtype=torch.int64),
    "broadcast_shapes": _broadcast_shapes,
    "inspect.tensor_ndim": lambda x: x.ndim,
    "inspect.tensor_shape_i": lambda x, axis: x.shape[int(axis)],
    "inspect.tensor_stride_i": lambda x, axis: x.stride(int(axis)),
    "inspect.tensor_byte_offset": lambda _: 0,
    "inspect.tensor_elem_offset": lambda _: 0,
}
