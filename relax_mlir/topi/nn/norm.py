"""Normalisations.  Statistics of float16 and bfloat16 are computed in float32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.te.operation import reduce_axis
from relax_mlir.te.reducers import sum as te_sum
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.broadcast import add, divide, multiply, subtract
from relax_mlir.topi.common import named, normalize_axes, normalize_axis, product
from relax_mlir.topi.elemwise import sqrt
from relax_mlir.topi.transform import reshape


@dataclass(frozen=True)
class _Statistics:
    """Mean and sum of squared deviations over axes, per element of the other axes."""

    mean: Tensor
    square_sum: Tensor
    count: PrimExpr
    kept: list[int]
    dtype: str

    def at(self, indices: Sequence[Any]) -> list[Any]:
        return [indices[axis] for axis in self.kept]

    def normalized(self, value: PrimExpr, indices: Sequence[Any], epsilon: float) -> PrimExpr:
        """`(value - mean) * rsqrt(variance + epsilon)`."""
        where = self.at(indices)
        variance = O.div(self.square_sum(*where), self.count)
        scale = I.rsqrt(O.add(variance, O.const(epsilon, self.dtype)))
        centred = O.subtract(O.cast(self.dtype, value), self.mean(*where))
        return O.multiply(centred, scale)


def _statistics(data: Tensor, axes: Sequence[int], name: str | None = None) -> _Statistics:
    dtype = "float32" if data.dtype in ("float16", "bfloat16") else data.dtype
    name = name or data.op.name
    kept = [a for a in range(data.ndim) if a not in axes]
    shape = [data.shape[a] for a in kept]
    count = O.cast(dtype, product([data.shape[a] for a in axes]))

    def reduced(element: Any, suffix: str) -> Tensor:
        ks = {a: reduce_axis((0, data.shape[a]), f"k{a}") for a in axes}

        def body(*outer: Any) -> PrimExpr:
            at = dict(zip(kept, outer, strict=True)) | {a: k.var for a, k in ks.items()}
            indices = [at[a] for a in range(data.ndim)]
            return te_sum(element(indices, outer), axis=list(ks.values()))

        return named(shape, body, f"{name}_{suffix}", "comm_reduce")

    def value(indices: Sequence[Any]) -> PrimExpr:
        return O.cast(dtype, data(*indices))

    total = reduced(lambda indices, outer: value(indices), "sum")
    mean = named(shape, lambda *i: O.div(total(*i), count), f"{name}_mean", "elemwise")

    def squared(indices: Sequence[Any], outer: Sequence[Any]) -> PrimExpr:
        deviation = O.subtract(value(indices), mean(*outer))
        return O.multiply(deviation, deviation)

    return _Statistics(mean, reduced(squared, "var_sum"), count, kept, dtype)


def layer_norm(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, axis: Any, epsilon: float = 1e-5
) -> Tensor:
    """Normalise over axes, then scale by gamma and shift by beta, which have those axes."""
    axes = normalize_axes(axis, data.ndim)
    statistics = _statistics(data, axes)

    def body(*i: Any) -> PrimExpr:
        inner = [i[a] for a in axes]
        result = statistics.normalized(data(*i), i, epsilon)
        if gamma is not None:
            result = O.multiply(result, O.cast(statistics.dtype, gamma(*inner)))
        if beta is not None:
            result = O.add(result, O.cast(statistics.dtype, beta(*inner)))
        return O.cast(data.dtype, result)

    return named(data.shape, body, "T_layer_norm", "injective")


def rms_norm(data: Tensor, weight: Tensor | None, axis: Any, epsilon: float = 1e-5) -> Tensor:
    """`x * rsqrt(mean(x**2) + epsilon) * weight` over axes."""
    axes = normalize_axes(axis, data.ndim)
    dtype = "float32" if data.dtype in ("float16", "bfloat16") else data.dtype
    kept = [a for a in range(data.ndim) if a not in axes]
    ks = {a: reduce_axis((0, data.shape[a]), f"k{a}") for a in axes}
    count = O.cast(dtype, product([data.shape[a] for a in axes]))

    def squares(*outer: Any) -> PrimExpr:
        at = dict(zip(kept, outer, strict=True)) | {a: k.var for a, k in ks.items()}
        value = O.cast(dtype, data(*[at[a] for a in range(data.ndim)]))
        return te_sum(O.multiply(value, value), axis=list(ks.values()))

    shape = [data.shape[a] for a in kept]
    total = named(shape, squares, "T_multiply_red", "comm_reduce")
    scale = named(
        shape,
        lambda *i: I.rsqrt(O.add(O.div(total(*i), count), O.const(epsilon, dtype))),
        "rsqrt",
        "elemwise",
    )

    def body(*i: Any) -> PrimExpr:
        factor = scale(*[i[a] for a in kept])
        result = O.multiply(factor, O.cast(dtype, data(*i)))
        if weight is not None:
            result = O.multiply(result, O.cast(dtype, weight(*[i[a] for a in axes])))
        return O.cast(data.dtype, result)

    return named(data.shape, body, "T_rms_norm", "injective")


def group_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalise over groups of channels and `axes`; gamma and beta have one entry a channel."""
    channel = normalize_axis(channel_axis, data.ndim)
    size = data.shape[channel]
    inside = O.floordiv(size, num_groups)
    grouped_shape = [*data.shape[:channel], num_groups, inside, *data.shape[channel + 1 :]]
    grouped = reshape(data, grouped_shape)
    reduced = [a if a < channel else a + 1 for a in normalize_axes(axes, data.ndim)]
    statistics = _statistics(grouped, sorted({*reduced, channel + 1}), data.op.name)

    def body(*i: Any) -> PrimExpr:
        result = statistics.normalized(grouped(*i), i, epsilon)
        position = O.add(O.multiply(i[channel], inside), i[channel + 1])
        if gamma is not None:
            result = O.multiply(result, O.cast(statistics.dtype, gamma(position)))
        if beta is not None:
            result = O.add(result, O.cast(statistics.dtype, beta(position)))
        return O.cast(data.dtype, result)

    normalized = named(grouped.shape, body, "T_group_norm", "injective")
    return reshape(normalized, data.shape)


def instance_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    channel_axis: int,
    axis: Any,
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalise over `axis` for every sample and channel; gamma and beta by channel."""
    channel = normalize_axis(channel_axis, data.ndim)
    statistics = _statistics(data, normalize_axes(axis, data.ndim))

    def body(*i: Any) -> PrimExpr:
        result = statistics.normalized(data(*i), i, epsilon)
        if gamma is not None:
            result = O.multiply(result, O.cast(statistics.dtype, gamma(i[channel])))
        if beta is not None:
            result = O.add(result, O.cast(statistics.dtype, beta(i[channel])))
        return O.cast(data.dtype, result)

    return named(data.shape, body, "T_instance_norm", "injective")


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """(normalised data, new moving mean, new moving variance) by channel.

    Inference uses the moving statistics and returns them unchanged; training uses the batch's and
    moves them by `momentum` (0.1).
    """
    channel = 1 if axis is None else normalize_axis(axis, data.ndim)
    epsilon = 1e-5 if epsilon is None else epsilon
    momentum = 0.1 if momentum is None else momentum
    others = [a for a in range(data.ndim) if a != channel]
    shape = [data.shape[a] if a == channel else 1 for a in range(data.ndim)]
    mean, variance = moving_mean, moving_var
    if training:
        statistics = _statistics(data, others)
        mean = statistics.mean
        variance = named(
            mean.shape,
            lambda i: O.div(statistics.square_sum(i), statistics.count),
            f"{data.op.name}_var",
        )
    result = divide(
        subtract(data, reshape(mean, shape)), sqrt(add(reshape(variance, shape), epsilon))
    )
    if scale is not False:
        result = multiply(result, reshape(gamma, shape))
    if center is not False:
        result = add(result, reshape(beta, shape))
    if not training:
        return [result, multiply(moving_mean, 1), multiply(moving_var, 1)]
    keep = 1 - momentum
    return [
        result,
        add(multiply(moving_mean, keep), multiply(mean, momentum)),
        add(multiply(moving_var, keep), multiply(variance, momentum)),
    ]
