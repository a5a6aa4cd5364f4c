"""Gradients of reductions and scans."""

from __future__ import annotations

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.attributes import integers
from relax_mlir.dialects.dims import Dim
from relax_mlir.lowering.relax.gradients.rules import Gradient, Step, gradient
from relax_mlir.lowering.relax.rewriting import dtype_of
from relax_mlir.mlir import ir


def _axes(s: Step) -> list[int]:
    rank = len(s.dims(s.operands[0]))
    axis = s.attributes["axis"]
    if axis is None:
        return list(range(rank))
    return [a % rank for a in integers(axis)]


def _kept(s: Step, value: ir.Value) -> ir.Value:
    """A reduced tensor with the reduced axes as 1."""
    axes = _axes(s)
    if s.attributes["keepdims"] or not axes:
        return value
    return s("expand_dims", value, axis=sorted(axes))


def _spread(s: Step, value: ir.Value) -> ir.Value:
    """A reduced tensor, repeated along the reduced axes."""
    return s("broadcast_to", _kept(s, value), s.write.shape(s.dims(s.operands[0])))


def _count(s: Step, like: ir.Value) -> ir.Value:
    """The number of elements that were reduced to one."""
    dims = s.dims(s.operands[0])
    count: Dim = dim_algebra.product([dims[a] for a in _axes(s)])
    if isinstance(count, int):
        return s.number(float(count), like)
    ones = s("ones_like", s.operands[0])
    return s("sum", ones, axis=_axes(s), keepdims=True)


@gradient("sum")
def sum_(s: Step, grad: ir.Value) -> list[Gradient]:
    return [_spread(s, grad)]


@gradient("mean")
def mean(s: Step, grad: ir.Value) -> list[Gradient]:
    return [s("divide", _spread(s, grad), _count(s, grad))]


def _centred(s: Step) -> ir.Value:
    x = s.operands[0]
    return s("subtract", x, s("mean", x, axis=_axes(s), keepdims=True))


@gradient("variance")
def variance(s: Step, grad: ir.Value) -> list[Gradient]:
    scaled = s("multiply", s.number(2.0, grad), _spread(s, grad))
    return [s("divide", s("multiply", scaled, _centred(s)), _count(s, grad))]


@gradient("std")
def std(s: Step, grad: ir.Value) -> list[Gradient]:
    slope = s("divide", _spread(s, grad), s("multiply", _spread(s, s.result), _count(s, grad)))
    return [s("multiply", slope, _centred(s))]


@gradient("max", "min")
def extremum(s: Step, grad: ir.Value) -> list[Gradient]:
    """Elements that share the extremum share the gradient."""
    x = s.operands[0]
    mask = s("astype", s("equal", x, _kept(s, s.result)), dtype=dtype_of(x))
    share = s("divide", mask, s("sum", mask, axis=_axes(s), keepdims=True))
    return [s("multiply", _spread(s, grad), share)]


@gradient("prod")
def prod(s: Step, grad: ir.Value) -> list[Gradient]:
    """Right where no factor is 0."""
    whole = s("multiply", _spread(s, grad), _spread(s, s.result))
    return [s("divide", whole, s.operands[0])]


@gradient("cumsum")
def cumsum(s: Step, grad: ir.Value) -> list[Gradient]:
    x, attributes = s.operands[0], s.attributes
    axis = attributes["axis"]
    dims = s.dims(x)
    if axis is None:
        summed = s("flip", grad, axis=0)
        summed = s("cumsum", summed, axis=0, exclusive=attributes["exclusive"])
        back = s("reshape", s("flip", summed, axis=0), s.write.shape(dims))
    else:
        axis = int(axis) % len(dims)
        summed = s(
            "cumsum", s("flip", grad, axis=axis), axis=axis, exclusive=attributes["exclusive"]
        )
        back = s("flip", summed, axis=axis)
    dtype = dtype_of(x)
    return [back if dtype_of(back) == dtype else s("astype", back, dtype=dtype)]
