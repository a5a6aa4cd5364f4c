"""relax-fold-scale-axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.aligned_arrays import aligned_empty
from relax_mlir.dialects.relax.spec import NO_DTYPE, attributes_of, spec_of
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.relax.constant_values import ConstantValues, batch_norm_terms
from relax_mlir.lowering.relax.functions import relax_functions, walk
from relax_mlir.lowering.relax.layout.cost import CONVOLUTIONS
from relax_mlir.lowering.relax.rewriting import (
    OperatorWriter,
    dims_of,
    dtype_of,
    erase_dead,
    replace,
)
from relax_mlir.mlir import ir, operations_named


@register_pass("relax-fold-scale-axis")
@dataclass(frozen=True)
class FoldScaleAxis(Pass):
    """Put what scales and shifts channels behind a convolution or product into its weight.

    Batch normalisation for inference, and sums, products and quotients with one constant a channel
    (as decomposed normalisation and layer scales are), that follow a convolution or a matmul with a
    constant weight, one after the other: the weight is scaled, and at most one addition is left.
    Other batch normalisations with constant parameters become a product and a sum.  Everything is
    computed in float64 and rounded once.
    """

    def run(self, state: ModuleState) -> None:
        values = ConstantValues(state)
        for function in relax_functions(state):
            for op in [op for op in walk(function) if _name(op) in _ANCHORS]:
                _fold(op, _name(op), values, state)
            for op in operations_named(function, ["relax.nn_batch_norm"]):
                _decompose(op, values, state)


_ANCHORS = CONVOLUTIONS | {"matmul"}


def _name(op: ir.Operation) -> str:
    spec = spec_of(op)
    return "" if spec is None else spec.name


@dataclass
class _Affine:
    """scale * x + shift, along one axis of a tensor."""

    scale: np.ndarray
    shift: np.ndarray

    def then(self, scale: np.ndarray, shift: np.ndarray) -> None:
        self.shift = self.shift * scale + shift
        self.scale = self.scale * scale


def _fold(op: ir.Operation, name: str, values: ConstantValues, state: ModuleState) -> None:
    weight, dtype = values.of(op.operands[1]), dtype_of(op.results[0])
    axes = _channel_axes(op, name)
    if weight is None or axes is None or dtype is None or not dtypes.is_float(dtype):
        return
    out_axis, kernel_axis = axes
    channels = _channels(op.results[0], out_axis)
    if channels is None or weight.shape[kernel_axis] != channels:
        return
    affine = _Affine(np.ones(channels), np.zeros(channels))
    chain = _follow(op, out_axis, affine, values)
    scaled = bool((affine.scale != 1).any())
    if not scaled and sum(field.name != "relax.tuple_get_item" for field in chain) < 2:
        return
    last = chain[-1]
    write = OperatorWriter(last, state.constants)
    made = op.results[0]
    if scaled:
        shape = [channels if axis == kernel_axis else 1 for axis in range(weight.ndim)]
        # By the element in float64, without an array of that type.
        product = aligned_empty(weight.shape, weight.dtype)
        np.multiply(weight, affine.scale.reshape(shape), out=product, casting="unsafe")
        factor = OperatorWriter(op, state.constants).constant(product, weight.dtype.name)
        made = OperatorWriter(op, state.constants).op(
            name, op.operands[0], factor, **attributes_of(op)
        )
    if affine.shift.any():
        rank = len(dims_of(made) or ())
        shift = affine.shift.reshape([channels if a == out_axis else 1 for a in range(rank)])
        made = write.op("add", made, write.constant(shift, dtype))
    replace(last, made)
    erase_dead([op, *chain[:-1]])


def _channel_axes(op: ir.Operation, name: str) -> tuple[int, int] | None:
    """The axis of the channels in the result, and in the weight."""
    attributes = attributes_of(op)
    if name == "matmul":
        left, right = dims_of(op.operands[0]), dims_of(op.operands[1])
        same = attributes["out_dtype"] in (*NO_DTYPE, dtype_of(op.operands[0]))
        plain = left is not None and right is not None and len(left) >= 2 and len(right) == 2
        return (len(left or ()) - 1, 1) if plain and same else None
    layout = attributes["out_layout"] or attributes["data_layout"]
    kernel = attributes["kernel_layout"]
    whole = len(layout) == len(dims_of(op.results[0]) or ())
    # The outputs of a transposed convolution's kernel are those of one group.
    grouped = name.endswith("transpose") and attributes["groups"] != 1
    if not whole or grouped or kernel.count("O") != 1 or not kernel.isalpha():
        return None
    return layout.find("C"), kernel.find("O")


def _channels(value: ir.Value, axis: int) -> int | None:
    dims = dims_of(value)
    size = None if dims is None else dims[axis]
    return size if isinstance(size, int) else None


def _follow(
    op: ir.Operation, axis: int, affine: _Affine, values: ConstantValues
) -> list[ir.Operation]:
    """The operations behind `op` that scale and shift its result, gathered in `affine`."""
    chain: list[ir.Operation] = []
    value = op.results[0]
    while True:
        users = [use.owner.operation for use in value.uses]
        if len(users) != 1 or users[0].block != op.block:
            return chain
        terms = _terms(users[0], value, axis, len(affine.scale), values)
        if terms is None or not all(np.isfinite(term).all() for term in terms):
            return chain
        affine.then(*terms)
        chain.append(users[0])
        if users[0].name == "relax.nn_batch_norm":
            chain.append(next(iter(users[0].results[0].uses)).owner.operation)
        value = chain[-1].results[0]


def _terms(
    user: ir.Operation, value: ir.Value, axis: int, channels: int, values: ConstantValues
) -> tuple[np.ndarray, np.ndarray] | None:
    """Scale and shift of one operation on `value`, or None."""
    name = _name(user)
    if name == "nn.batch_norm":
        fits = user.operands[0] == value and _norm_axis(user) == axis
        one = sum(1 for _ in user.results[0].uses) == 1
        return _norm_terms(user, values) if fits and one else None
    if name not in _ARITHMETIC or user.results[0].type != value.type:
        return None
    left, right = user.operands
    constant = values.of(right if left == value else left)
    if constant is None or (name in ("subtract", "divide") and left != value):
        return None
    vector = _along(constant, axis, len(dims_of(value) or ()), channels)
    with np.errstate(divide="ignore"):
        return None if vector is None else _ARITHMETIC[name](vector)


_ARITHMETIC: dict[str, Any] = {
    "add": lambda c: (np.ones_like(c), c),
    "subtract": lambda c: (np.ones_like(c), -c),
    "multiply": lambda c: (c, np.zeros_like(c)),
    "divide": lambda c: (1 / c, np.zeros_like(c)),
}
"""Scale and shift of arithmetic with a constant."""


def _along(constant: np.ndarray, axis: int, rank: int, channels: int) -> np.ndarray | None:
    """A constant that varies along one axis only, as a vector of the channels."""
    shape = (1,) * (rank - constant.ndim) + constant.shape
    if len(shape) != rank or any(size != 1 for i, size in enumerate(shape) if i != axis):
        return None
    return np.broadcast_to(constant.reshape(-1).astype(np.float64), (channels,))


def _norm_axis(norm: ir.Operation) -> int:
    return attributes_of(norm)["axis"] % len(dims_of(norm.operands[0]) or (0,))


def _norm_terms(norm: ir.Operation, values: ConstantValues) -> tuple[np.ndarray, np.ndarray] | None:
    """Scale and shift of a batch normalisation for inference with constant parameters, of which
    only the first result is used."""
    attributes = attributes_of(norm)
    fields = [use.owner.operation for use in norm.results[0].uses]
    if attributes["training"] or not fields or not all(map(_is_first, fields)):
        return None
    arrays = [values.of(value) for value in list(norm.operands)[1:]]
    if any(array is None for array in arrays):
        return None
    return batch_norm_terms(attributes, [np.asarray(array, np.float64) for array in arrays])


def _is_first(field: ir.Operation) -> bool:
    name = "relax.tuple_get_item"
    return field.name == name and ir.IntegerAttr(field.attributes["index"]).value == 0


def _decompose(norm: ir.Operation, values: ConstantValues, state: ModuleState) -> None:
    """A batch normalisation that nothing could take in, as a product and a sum."""
    terms, dims = _norm_terms(norm, values), dims_of(norm.operands[0])
    dtype = dtype_of(norm.operands[0])
    if terms is None or dims is None or dtype is None:
        return
    axis = _norm_axis(norm)
    shape = [-1 if i == axis else 1 for i in range(len(dims))]
    write = OperatorWriter(norm, state.constants)
    scale, shift = (write.constant(term.reshape(shape), dtype) for term in terms)
    made = write.op("add", write.op("multiply", norm.operands[0], scale), shift)
    fields = [use.owner.operation for use in norm.results[0].uses]
    for field in fields:
        replace(field, made)
    erase_dead([norm])


__all__ = ["FoldScaleAxis"]
