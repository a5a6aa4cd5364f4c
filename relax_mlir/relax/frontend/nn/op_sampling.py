"""Operators of `nn` that choose tokens by their probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.errors import Error
from relax_mlir.relax import expr as rx
from relax_mlir.relax import op as _op
from relax_mlir.relax.frontend.nn.core import Tensor, unwrap, wrap_nested
from relax_mlir.relax.location import user_span

__all__ = [
    "multinomial_from_uniform",
    "renormalize_top_p_top_k_prob",
    "sample_top_p_top_k_from_sorted_prob",
]


def _indices(prob: Tensor, uniform_sample: Tensor, given: Tensor | None) -> rx.Expr:
    """Which distribution each sample is taken from: the n-th of the n-th by default."""
    if given is not None:
        if given.shape != uniform_sample.shape:
            raise Error(
                f"sample_indices has shape {given.shape}, uniform_sample {uniform_sample.shape}",
                span=user_span(),
            )
        return unwrap(given)
    rows = uniform_sample.shape[0]
    if prob.shape[0] != rows:
        raise Error(
            f"{prob.shape[0]} distributions and {rows} samples: give sample_indices",
            span=user_span(),
        )
    if isinstance(rows, int):
        return rx.const(np.arange(rows, dtype="int64").reshape(rows, 1))
    return _op.expand_dims(_op.arange(0, rows, dtype="int64"), 1)


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """The class that each sample, a number from 0 to 1, falls on.

    `prob` is (batch, classes), `uniform_sample` and `sample_indices` are (n, 1).
    """
    rows = _indices(prob, uniform_sample, sample_indices)
    call = _op.multinomial_from_uniform(unwrap(prob), unwrap(uniform_sample), rows, dtype)
    return wrap_nested(call, name)


def _last_kept(sums: rx.Expr, top_p: rx.Expr, top_k: rx.Expr, classes: Any) -> rx.Expr:
    """The position, (batch, 1), of the last class that top-p and top-k keep.

    Class j + 1 is kept while those up to j sum to less than top_p and are fewer than top_k.
    """
    places = _op.expand_dims(_op.arange(1, classes + 1, dtype="int64"), 0)
    few = _op.less(places, _op.astype(top_k, "int64"))
    goes_on = _op.logical_and(_op.less(sums, top_p), few)
    # What ends the run stays an end: the run is as long as the product of what is before is one.
    run = _op.cumprod(_op.astype(goes_on, "int64"), axis=1)
    count = _op.sum(run, axis=[1], keepdims=True)
    return _op.minimum(count, _op.subtract(rx.const(classes, "int64"), rx.const(1, "int64")))


def _classes(tensor: Tensor) -> int:
    size = tensor.shape[1]
    if not isinstance(size, int):
        raise Error("the number of classes must be known", span=user_span())
    return size


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor,
    sorted_index: Tensor,
    top_p: Tensor,
    top_k: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Tensor:
    """The class each sample falls on, among the likeliest that top-p and top-k keep.

    `sorted_prob` (batch, classes) descends, `sorted_index` says which class each was; `top_p` and
    `top_k` are (batch, 1), `uniform_sample` and the result (n, 1).
    """
    rows = _op.astype(
        _op.reshape(_indices(sorted_prob, uniform_sample, sample_indices), [-1]), "int64"
    )
    classes = _classes(sorted_prob)
    sums = _op.cumsum(unwrap(sorted_prob), axis=1)
    last = _last_kept(sums, unwrap(top_p), unwrap(top_k), classes)
    total = _op.gather_elements(sums, last, axis=1)
    share = _op.take(_op.divide(sums, total), rows, axis=0)
    passed = _op.astype(_op.greater_equal(unwrap(uniform_sample), share), "int64")
    place = _op.minimum(_op.sum(passed, axis=[1], keepdims=True), rx.const(classes - 1, "int64"))
    index = _op.take(unwrap(sorted_index), rows, axis=0)
    return wrap_nested(_op.gather_elements(index, place, axis=1), "sampled_index")


def renormalize_top_p_top_k_prob(
    prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor
) -> Tensor:
    """The probabilities of the classes that top-p and top-k keep, so that they sum to one."""
    sums = _op.cumsum(unwrap(sorted_prob), axis=1)
    last = _last_kept(sums, unwrap(top_p), unwrap(top_k), _classes(sorted_prob))
    cutoff = _op.gather_elements(unwrap(sorted_prob), last, axis=1)
    given = unwrap(prob)
    nothing = rx.const(0, prob.dtype)
    kept = _op.where(_op.greater_equal(given, cutoff), given, nothing)
    total = _op.sum(kept, axis=[1], keepdims=True)
    return wrap_nested(_op.divide(kept, total), "renormalized")
