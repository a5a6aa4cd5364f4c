"""Gradients of layers with respect to their data, written by scattering what comes back."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.operation import compute, imperative
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.imperative import every
from relax_mlir.topi.nn.conv import both_sides, per_axis
from relax_mlir.topi.nn.loss import class_weight
from relax_mlir.topi.reduction import sum as topi_sum


class _Windows:
    """The windows of a two-dimensional pooling, over buffers in a layout of N, C, H and W."""

    def __init__(self, kernel: Any, stride: Any, dilation: Any, padding: Any, layout: str):
        self.kernel = per_axis(kernel, 2, "kernel")
        self.stride = per_axis(stride, 2, "stride")
        self.dilation = per_axis(dilation, 2, "dilation")
        self.before, self.after = both_sides(padding, 2, self.kernel, self.dilation)
        self.axes = [layout.index("H"), layout.index("W")]

    def place(self, at: tuple[Any, ...], taps: tuple[Any, ...]) -> tuple[Any, ...]:
        """The element of the data at a place of a window; it may be outside."""
        where = list(at)
        for i, axis in enumerate(self.axes):
            start = O.subtract(O.multiply(at[axis], self.stride[i]), self.before[i])
            where[axis] = O.add(start, O.multiply(taps[i], self.dilation[i]))
        return tuple(where)

    def inside(self, place: tuple[Any, ...], shape: Any, reach: Any = (0, 0, 0, 0)) -> PrimExpr:
        """Whether a place is in the data, or in the padding as far as `reach` (before, after)."""
        checks: list[PrimExpr] = []
        for i, axis in enumerate(self.axes):
            end = O.add(shape[axis], reach[2 + i])
            checks += [O.less_equal(-reach[i], place[axis]), O.less(place[axis], end)]
        return I.all(*checks)


def _zero(build: PrimFuncBuilder, out: Buffer) -> None:
    with ExitStack() as nest:
        place = every(build, out.shape, nest, "z")
        build.store(out, O.const(0, out.dtype), place)


def max_pool2d_backward(
    output_grad: Tensor, data: Tensor, pool_size: Any = 1, strides: Any = 1, padding: Any = 0,
    dilation: Any = 1, layout: str = "NCHW",
) -> Tensor:  # fmt: skip
    """The gradient of pool2d's maximum: each window gives to its first largest element."""
    windows = _Windows(pool_size, strides, dilation, padding, layout)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        grads, values = ins
        best = build.alloc_buffer("best", [O.const(1, "int64")], data.dtype)
        chosen = build.alloc_buffer("chosen", [O.const(2, "int64")], "int64")
        _zero(build, outs[0])
        with ExitStack() as nest:
            at = every(build, output_grad.shape, nest, "i")
            for axis in range(2):
                build.store(chosen, O.const(-1, "int64"), [axis])
            build.store(best, O.const(0, data.dtype), [0])
            with ExitStack() as inner:
                taps = every(build, windows.kernel, inner, "k")
                place = windows.place(at, taps)
                inner.enter_context(build.if_(windows.inside(place, data.shape)))
                value = build.let("value", values[place])
                larger = I.any(O.less(chosen[0], 0), O.less(best[0], value), I.isnan(value))
                inner.enter_context(build.if_(larger))
                build.store(best, value, [0])
                for i, axis in enumerate(windows.axes):
                    build.store(chosen, place[axis], [i])
            nest.enter_context(build.if_(O.less_equal(0, chosen[0])))
            target = list(at)
            for i, axis in enumerate(windows.axes):
                target[axis] = chosen[i]
            build.store(outs[0], O.add(outs[0][tuple(target)], grads[at]), target)

    described = [(data.shape, data.dtype)]
    return imperative(described, [output_grad, data], emit, "max_pool2d_backward")


def avg_pool2d_backward(
    output_grad: Tensor, data: Tensor, pool_size: Any = 1, strides: Any = 1, padding: Any = 0,
    dilation: Any = 1, count_include_pad: bool = False, layout: str = "NCHW",
) -> Tensor:  # fmt: skip
    """The gradient of pool2d's average: each window gives the same to all its elements."""
    windows = _Windows(pool_size, strides, dilation, padding, layout)
    reach = (*windows.before, *windows.after) if count_include_pad else (0, 0, 0, 0)

    def emit(build: PrimFuncBuilder, ins: list[Buffer], outs: list[Buffer]) -> None:
        grads = ins[0]
        count = build.alloc_buffer("count", [O.const(1, "int64")], "int64")
        _zero(build, outs[0])
        with ExitStack() as nest:
            at = every(build, output_grad.shape, nest, "i")
            build.store(count, O.const(0, "int64"), [0])
            with ExitStack() as inner:
                place = windows.place(at, every(build, windows.kernel, inner, "c"))
                inner.enter_context(build.if_(windows.inside(place, data.shape, reach)))
                build.store(count, O.add(count[0], 1), [0])
            size = O.cast(data.dtype, O.max(count[0], O.const(1, "int64")))
            share = build.let("share", O.div(grads[at], size))
            with ExitStack() as inner:
                place = windows.place(at, every(build, windows.kernel, inner, "k"))
                inner.enter_context(build.if_(windows.inside(place, data.shape)))
                build.store(outs[0], O.add(outs[0][place], share), place)

    described = [(data.shape, data.dtype)]
    return imperative(described, [output_grad, data], emit, "avg_pool2d_backward")


def pool_grad(
    grads: Tensor, data: Tensor, kernel: Any, stride: Any, padding: Any, pool_type: str,
    ceil_mode: bool = False, count_include_pad: bool = True, layout: str = "NCHW",
) -> Tensor:  # fmt: skip
    """The gradient of pool2d, of "max" or "avg"; the shape of `grads` says what ceil_mode did."""
    if pool_type == "max":
        return max_pool2d_backward(grads, data, kernel, stride, padding, 1, layout)
    if pool_type != "avg":
        raise Error(f"pool_grad: pool_type is max or avg, not {pool_type}")
    return avg_pool2d_backward(grads, data, kernel, stride, padding, 1, count_include_pad, layout)


def nll_loss_backward(
    output_grad: Tensor,
    predictions: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Tensor:
    """The gradient of nll_loss with respect to the predictions."""
    axis = 0 if predictions.ndim == 1 else 1
    dtype, classes = predictions.dtype, predictions.shape[axis]
    weight = class_weight(targets, weights, classes, ignore_index, dtype)
    total = topi_sum(weight) if reduction == "mean" else None

    def body(*i: Any) -> PrimExpr:
        own = [*i[:axis], *i[axis + 1 :]]
        given = output_grad(*own) if reduction == "none" else output_grad()
        share = O.multiply(given, weight(*own))
        if total is not None:
            share = O.div(share, total())
        chosen = O.equal(O.cast(i[axis].dtype, targets(*own)), i[axis])
        zero = O.const(0, dtype)
        return O.select(chosen, O.subtract(zero, share), zero)

    return compute(predictions.shape, body, "nll_loss_backward")
