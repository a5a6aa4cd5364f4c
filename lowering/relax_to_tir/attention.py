"""Legalisation of scaled dot-product attention on (batch, sequence, heads, head size) tensors."""

from __future__ import annotations

from typing import Any

from relax_mlir import te, topi
from relax_mlir.lowering.relax_to_tir.rows import Result, is_one, legalize


@legalize("nn.attention", result=True)
@legalize("nn.attention_bias", result=True)
def _attention(
    query: te.Tensor,
    key: te.Tensor,
    value: te.Tensor,
    bias: te.Tensor | None,
    *,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
    result: Result,
) -> te.Tensor:
    batch, length, heads, width = query.shape
    length_kv = key.shape[1]
    dtype = query.dtype

    def score(b: Any, h: Any, i: Any, j: Any) -> Any:
        k = te.reduce_axis((0, width), name="k")
        return te.sum(query(b, i, h, k) * key(b, j, h, k), axis=k)

    def scaled(b: Any, h: Any, i: Any, j: Any) -> Any:
        if scale is None:
            divided = scores(b, h, i, j) / te.sqrt(width.astype(dtype))
        else:
            divided = scores(b, h, i, j) * te.const(scale, dtype)
        if bias is not None:
            own = zip((b, h, i, j), bias.shape, strict=True)
            divided = divided + bias(*[0 if is_one(size) else index for index, size in own])
        kept = _kept(i, j, length, length_kv, causal_mask, window_size)
        return divided if kept is None else te.if_then_else(kept, divided, te.min_value(dtype))

    def mixed(b: Any, i: Any, h: Any, d: Any) -> Any:
        j = te.reduce_axis((0, length_kv), name="j")
        return te.sum(weights(b, h, i, j) * value(b, j, h, d), axis=j)

    shape = (batch, heads, length, length_kv)
    scores = te.compute(shape, score, name="attention_scores")
    weights = topi.nn.softmax(te.compute(shape, scaled, name="attention_scaled"), axis=-1)
    return te.compute(result.shape, mixed, name="attention")


def _kept(i: Any, j: Any, length: Any, length_kv: Any, mask: str | None, window: Any) -> Any:
    """The condition under which query i sees key j; None when it sees all."""
    last = i + (length_kv - length) if mask == "BottomRight" else i
    conditions = [] if mask is None else [j <= last]
    if window is not None:
        conditions.append(j > last - window)
    return te.all(*conditions) if conditions else None
