"""Converters for operators that make tensors from sizes and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relax_mlir.relax.frontend.torch.importer import Converter, Importer, dtype_name, dtype_of
from relax_mlir.relax.frontend.torch.ops_shape import flat


def _chosen(dtype: Any, default: str = "float32") -> str:
    return default if dtype is None else dtype_name(dtype)


def _dtype_of_number(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "float32" if isinstance(value, float) else "int64"


def _filled(value: int) -> Converter:
    """zeros, ones; `empty` gives zeros."""

    def convert(imp: Importer, *size: Any, dtype: Any = None, **ignored: Any) -> Any:
        sizes = list(size[0]) if size and isinstance(size[0], (list, tuple)) else flat(size)
        maker = imp.op.ones if value else imp.op.zeros
        return maker(sizes, _chosen(dtype))

    return convert


def _filled_like(value: int) -> Converter:
    def convert(imp: Importer, x: Any, *unused: Any, dtype: Any = None, **ignored: Any) -> Any:
        maker = imp.op.ones if value else imp.op.zeros
        return maker(imp.shape_of(x), _chosen(dtype, dtype_of(x)))

    return convert


def _new_filled(value: int) -> Converter:
    def convert(imp: Importer, x: Any, *size: Any, dtype: Any = None, **ignored: Any) -> Any:
        maker = imp.op.ones if value else imp.op.zeros
        return maker(flat(size), _chosen(dtype, dtype_of(x)))

    return convert


def full(imp: Importer, size: Any, value: Any, *, dtype: Any = None, **ignored: Any) -> Any:
    if imp.is_tensor(value):
        return imp.op.broadcast_to(imp.cast(value, _chosen(dtype, dtype_of(value))), list(size))
    chosen = _chosen(dtype, _dtype_of_number(value))
    return imp.op.full(list(size), imp.relax.const(value, chosen), chosen)


def full_like(imp: Importer, x: Any, value: Any, *, dtype: Any = None, **ignored: Any) -> Any:
    return _full(imp, imp.shape_of(x), value, _chosen(dtype, dtype_of(x)))


def new_full(
    imp: Importer, x: Any, size: Any, value: Any, *, dtype: Any = None, **ignored: Any
) -> Any:
    return _full(imp, list(size), value, _chosen(dtype, dtype_of(x)))


def _full(imp: Importer, size: list[Any], value: Any, dtype: str) -> Any:
    if imp.is_tensor(value):
        return imp.op.broadcast_to(imp.cast(value, dtype), size)
    return imp.op.full(size, imp.relax.const(value, dtype), dtype)


def zero(imp: Importer, x: Any) -> Any:
    return imp.op.zeros(imp.shape_of(x), dtype_of(x))


def scalar_tensor(imp: Importer, value: Any, *, dtype: Any = None, **ignored: Any) -> Any:
    if imp.is_tensor(value):
        return imp.cast(value, _chosen(dtype, dtype_of(value)))
    if not isinstance(value, (bool, int, float)):
        return imp.cast(imp.symbol_tensor(value), _chosen(dtype, "int64"))
    return imp.relax.const(value, _chosen(dtype))


def arange(imp: Importer, *bounds: Any, dtype: Any = None, **ignored: Any) -> Any:
    default = "float32" if any(isinstance(b, float) for b in bounds) else "int64"
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if any(isinstance(bound, float) for bound in (start, end, step)):
        return imp.relax.const(np.arange(start, end, step).astype(_chosen(dtype, default)))
    return imp.op.arange(start, end, step, dtype=_chosen(dtype, default))


def linspace(
    imp: Importer, start: float, end: float, steps: int, *, dtype: Any = None, **ignored: Any
) -> Any:
    return imp.relax.const(np.linspace(start, end, steps).astype(_chosen(dtype)))


def logspace(
    imp: Importer,
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    **ignored: Any,
) -> Any:
    return imp.relax.const(np.logspace(start, end, steps, base=base).astype(_chosen(dtype)))


def eye(
    imp: Importer, rows: int, columns: int | None = None, *, dtype: Any = None, **ignored: Any
) -> Any:
    return imp.op.eye(rows, rows if columns is None else columns, 0, dtype=_chosen(dtype))


def tril(imp: Importer, x: Any, diagonal: int = 0) -> Any:
    return imp.op.tril(x, diagonal)


def triu(imp: Importer, x: Any, diagonal: int = 0) -> Any:
    return imp.op.triu(x, diagonal)


def _triangle_indices(name: str) -> Converter:
    def convert(
        imp: Importer, rows: int, columns: int, offset: int = 0, *, dtype: Any = None, **kw: Any
    ) -> Any:
        indices = getattr(np, name)(rows, offset, columns)
        return imp.relax.const(np.stack(indices).astype(_chosen(dtype, "int64")))

    return convert


def _cosine_window(alpha: float) -> Converter:
    """alpha - (1 - alpha) cos(2 pi i / n): Hann and Hamming."""

    def convert(
        imp: Importer,
        length: int,
        periodic: bool = True,
        first: float = alpha,
        second: float | None = None,
        *,
        dtype: Any = None,
        **ignored: Any,
    ) -> Any:
        beta = 1.0 - alpha if second is None else second
        period = length if periodic else max(length - 1, 1)
        i = np.arange(length)
        window = first - beta * np.cos(2 * math.pi * i / period)
        return imp.relax.const((window if length > 1 else np.ones(length)).astype(_chosen(dtype)))

    return convert


CONVERTERS: dict[str, Converter] = {
    **{name: _filled(0) for name in ("zeros", "empty", "empty_permuted", "empty_strided")},
    "ones": _filled(1),
    **{name: _filled_like(0) for name in ("zeros_like", "empty_like")},
    "ones_like": _filled_like(1),
    **{name: _new_filled(0) for name in ("new_zeros", "new_empty", "new_empty_strided")},
    "new_ones": _new_filled(1),
    "zero": zero,
    "full": full,
    "full_like": full_like,
    "fill": full_like,
    "new_full": new_full,
    "scalar_tensor": scalar_tensor,
    "arange": arange,
    "linspace": linspace,
    "logspace": logspace,
    "eye": eye,
    "tril": tril,
    "triu": triu,
    "tril_indices": _triangle_indices("tril_indices"),
    "triu_indices": _triangle_indices("triu_indices"),
    "hamming_window": _cosine_window(0.54),
    "hann_window": _cosine_window(0.5),
}
"""By the operator's name without namespace, overload and trailing underscore."""
