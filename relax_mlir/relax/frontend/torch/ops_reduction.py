"""Converters for reductions, scans and sorting."""

from __future__ import annotations

import math
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.torch.importer import (
    Converter,
    Importer,
    dtype_name,
    dtype_of,
    is_float,
)
from relax_mlir.relax.frontend.torch.ops_shape import as_list, product


def _axes(dim: Any) -> list[int] | None:
    """PyTorch's `dim`: None or an empty list reduces over all axes."""
    return as_list(dim) if isinstance(dim, int) or dim else None


def _reduction(name: str, widens: bool = False) -> Converter:
    """`widens`: integers are reduced in int64."""

    def convert(
        imp: Importer, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, **kw: Any
    ) -> Any:
        if dtype is not None:
            x = imp.cast(x, dtype)
        elif widens and not is_float(dtype_of(x)):
            x = imp.cast(x, "int64")
        if imp.ndim(x) == 0:
            return x
        return getattr(imp.op, name)(x, axis=_axes(dim), keepdims=kw.get("keepdims", keepdim))

    return convert


def _extremum(name: str, position: str) -> Converter:
    """max and min: over everything, elementwise with a second tensor, or (values, indices)."""

    def convert(imp: Importer, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return getattr(imp.op, name)(x)
        if imp.is_tensor(dim):
            return getattr(imp.op, {"max": "maximum", "min": "minimum"}[name])(*imp.pair(x, dim))
        values = getattr(imp.op, name)(x, axis=dim, keepdims=keepdim)
        indices = getattr(imp.op, position)(x, axis=dim, keepdims=keepdim)
        return [imp.emit(values), imp.emit(indices)]

    return convert


def _argument(name: str) -> Converter:
    def convert(imp: Importer, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return getattr(imp.op, name)(x, axis=dim, keepdims=keepdim)

    return convert


def aminmax(imp: Importer, x: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    return [imp.emit(getattr(imp.op, n)(x, axis=dim, keepdims=keepdim)) for n in ("min", "max")]


def _count(imp: Importer, x: Any, dim: Any, keepdim: bool, zeros: bool) -> Any:
    """How many elements are zero, or not zero."""
    comparison = imp.op.equal if zeros else imp.op.not_equal
    truth = imp.cast(imp.emit(comparison(*imp.pair(x, 0))), "int64")
    return truth if imp.ndim(x) == 0 else imp.op.sum(truth, axis=_axes(dim), keepdims=keepdim)


def any_true(imp: Importer, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    count = imp.bind(_count(imp, x, dim, keepdim, zeros=False))
    return _truth(imp, x, imp.op.greater(count, imp.scalar_like(0, count)))


def all_true(imp: Importer, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    count = imp.bind(_count(imp, x, dim, keepdim, zeros=True))
    return _truth(imp, x, imp.op.equal(count, imp.scalar_like(0, count)))


def _truth(imp: Importer, x: Any, result: Any) -> Any:
    """Truth about tensors, which of uint8 is uint8 in PyTorch."""
    return imp.cast(imp.emit(result), "uint8") if dtype_of(x) == "uint8" else result


def count_nonzero(imp: Importer, x: Any, dim: Any = None) -> Any:
    return _count(imp, x, dim, False, zeros=False)


def histogram(imp: Importer, x: Any, bins: int = 100, low: float = 0, high: float = 0) -> Any:
    """How many elements lie in each of equal intervals from `low` to `high`, the last of which has
    its end too."""
    if low == high:
        raise Error("histc between the smallest and the largest element: give it its bounds")
    flat = imp.emit(imp.op.reshape(x, [-1]))
    wide = imp.cast(flat, "float64" if dtype_of(x) == "float64" else "float32")
    moved = imp.emit(imp.op.subtract(wide, imp.scalar_like(float(low), wide)))
    scaled = imp.emit(imp.op.multiply(moved, imp.scalar_like(bins / (high - low), wide)))
    place = imp.cast(imp.emit(imp.op.floor(scaled)), "int64")
    place = imp.emit(imp.op.minimum(place, imp.relax.const(bins - 1, "int64")))
    above = imp.emit(imp.op.greater_equal(wide, imp.scalar_like(float(low), wide)))
    below = imp.emit(imp.op.less_equal(wide, imp.scalar_like(float(high), wide)))
    inside = imp.emit(imp.op.logical_and(above, below))
    place = imp.emit(imp.op.where(inside, place, imp.relax.const(0, "int64")))
    zeros = imp.emit(imp.op.zeros([bins], dtype_of(x)))
    places = imp.emit(imp.op.expand_dims(place, -1))
    ones = imp.cast(inside, dtype_of(x))
    return imp.op.scatter_nd(zeros, places, ones, reduction="add")


def variance(
    imp: Importer,
    x: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """The mean square deviation, over n - correction elements."""
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    if not is_float(dtype_of(x)):
        raise Error(f"deviations are of floating dtypes, not of {dtype_of(x)}")
    less = (1 if unbiased else 0) if correction is None else correction
    result = imp.op.variance(x, axis=_axes(dim), keepdims=keepdim)
    if less == 0:
        return result
    sizes = imp.shape_of(x)
    count = product(sizes if _axes(dim) is None else [sizes[a] for a in as_list(dim)])
    if isinstance(count, int):
        factor = imp.scalar_like(count / (count - less) if count > less else math.inf, x)
    else:
        total = imp.cast(imp.symbol_tensor(count), dtype_of(x))
        rest = imp.emit(imp.op.subtract(total, imp.scalar_like(float(less), x)))
        factor = imp.emit(imp.op.divide(total, rest))
    return imp.op.multiply(imp.emit(result), factor)


def deviation(imp: Importer, *args: Any, **kwargs: Any) -> Any:
    return imp.op.sqrt(imp.emit(variance(imp, *args, **kwargs)))


def _with_mean(spread: Converter) -> Converter:
    """var_mean and std_mean."""

    def convert(imp: Importer, x: Any, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
        keepdim = kwargs.get("keepdim", len(args) > 1 and args[1])
        mean = imp.op.mean(x, axis=_axes(dim), keepdims=keepdim)
        return [imp.emit(spread(imp, x, dim, *args, **kwargs)), imp.emit(mean)]

    return convert


def logsumexp(imp: Importer, x: Any, dim: Any, keepdim: bool = False) -> Any:
    """Shifted by the maximum, where that is finite."""
    x, axes = imp.floating(x), _axes(dim)
    top = imp.emit(imp.op.max(x, axis=axes, keepdims=True))
    finite = imp.emit(imp.op.isfinite(top))
    top = imp.emit(imp.op.where(finite, top, imp.scalar_like(0.0, x)))
    powers = imp.emit(imp.op.exp(imp.emit(imp.op.subtract(x, top))))
    total = imp.emit(imp.op.log(imp.emit(imp.op.sum(powers, axis=axes, keepdims=True))))
    result = imp.emit(imp.op.add(total, top))
    return result if keepdim else imp.op.squeeze(result, axes)


def vector_norm(
    imp: Importer, x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """(sum |x|^p)^(1/p) and its limits."""
    x, axes = imp.floating(x) if dtype is None else imp.cast(x, dtype), _axes(dim)
    order = 2.0 if ord is None else float(ord)

    def reduced(name: str, value: Any) -> Any:
        return getattr(imp.op, name)(value, axis=axes, keepdims=keepdim)

    if order == 0:
        hits = imp.emit(imp.op.not_equal(x, imp.scalar_like(0.0, x)))
        return reduced("sum", imp.cast(hits, dtype_of(x)))
    if order == 2:
        return imp.op.sqrt(imp.emit(reduced("sum", imp.emit(imp.op.multiply(x, x)))))
    size = imp.emit(imp.op.abs(x))
    if math.isinf(order):
        return reduced("max" if order > 0 else "min", size)
    if order == 1:
        return reduced("sum", size)
    total = reduced("sum", imp.emit(imp.op.power(size, imp.scalar_like(order, x))))
    return imp.op.power(imp.emit(total), imp.scalar_like(1.0 / order, x))


def normalize(imp: Importer, x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    size = imp.emit(vector_norm(imp, x, p, dim, True))
    return imp.op.divide(x, imp.emit(imp.op.maximum(size, imp.scalar_like(eps, x))))


def _scan(name: str) -> Converter:
    def convert(imp: Importer, x: Any, dim: int, *, dtype: Any = None) -> Any:
        default = dtype_of(x) if is_float(dtype_of(x)) else "int64"
        wanted = default if dtype is None else dtype_name(dtype)
        return getattr(imp.op, name)(imp.cast(x, wanted), axis=dim, dtype=wanted)

    return convert


def median(imp: Importer, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None:
        return imp.op.median(imp.emit(imp.op.reshape(x, [-1])), axis=None)
    return imp.fields(imp.op.median(x, axis=[dim], keepdims=keepdim))


def topk(
    imp: Importer, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    return imp.fields(imp.op.topk(x, k=k, axis=dim, largest=largest, dtype="int64"))


def sort(
    imp: Importer, x: Any, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Any:
    order = argsort(imp, x, dim, descending)
    return [imp.emit(imp.op.sort(x, axis=dim, descending=descending)), imp.emit(order)]


def argsort(
    imp: Importer, x: Any, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Any:
    return imp.op.argsort(x, axis=dim, descending=descending, dtype="int64")


CONVERTERS: dict[str, Converter] = {
    "sum": _reduction("sum", widens=True),
    "prod": _reduction("prod", widens=True),
    "mean": _reduction("mean"),
    "histc": histogram,
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "max": _extremum("max", "argmax"),
    "min": _extremum("min", "argmin"),
    "aminmax": aminmax,
    **{name: _argument(name) for name in ("argmax", "argmin")},
    "any": any_true,
    "all": all_true,
    "count_nonzero": count_nonzero,
    "var": variance,
    "std": deviation,
    "var_mean": _with_mean(variance),
    "std_mean": _with_mean(deviation),
    "logsumexp": logsumexp,
    "linalg_vector_norm": vector_norm,
    "norm": vector_norm,
    "normalize": normalize,
    "cumsum": _scan("cumsum"),
    "cumprod": _scan("cumprod"),
    "median": median,
    "topk": topk,
    "sort": sort,
    "msort": lambda imp, x: imp.op.sort(x, axis=0),
    "argsort": argsort,
}
"""By the operator's name without namespace, overload and trailing underscore."""
