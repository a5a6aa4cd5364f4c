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


@legalize("nn.attention_var_len", result=True)
def _attention_var_len(
    queries: te.Tensor,
    keys: te.Tensor,
    values: te.Tensor,
    seqstart_q: te.Tensor,
    max_seqlen_q: te.Tensor,
    seqstart_k: te.Tensor | None,
    max_seqlen_k: te.Tensor | None,
    *,
    scale: float | None,
    causal_mask: str | None,
    window_size: int | None,
    result: Result,
) -> te.Tensor:
    """Keys of other sequences get no weight, and a query without keys gives zeros."""
    _, length, heads, width = queries.shape
    length_kv, dtype = keys.shape[1], queries.dtype
    starts_k = seqstart_q if seqstart_k is None else seqstart_k
    own_q = _sequence_numbers(seqstart_q, length, "query_sequence")
    own_k = _sequence_numbers(starts_k, length_kv, "key_sequence")

    def place(starts: te.Tensor, own: te.Tensor, i: Any) -> Any:
        return i - starts(own(i)).astype("int64")

    def size(starts: te.Tensor, sequence: Any) -> Any:
        return (starts(sequence + 1) - starts(sequence)).astype("int64")

    def kept(i: Any, j: Any) -> Any:
        shared = own_q(i).equal(own_k(j))
        a, b = place(seqstart_q, own_q, i), place(starts_k, own_k, j)
        seen = _kept(
            a, b, size(seqstart_q, own_q(i)), size(starts_k, own_k(j)), causal_mask, window_size
        )
        return shared if seen is None else te.all(shared, seen)

    def score(h: Any, i: Any, j: Any) -> Any:
        k = te.reduce_axis((0, width), name="k")
        return te.sum(queries(0, i, h, k) * keys(0, j, h, k), axis=k)

    def scaled(h: Any, i: Any, j: Any) -> Any:
        if scale is None:
            divided = scores(h, i, j) / te.sqrt(width.astype(dtype))
        else:
            divided = scores(h, i, j) * te.const(scale, dtype)
        return te.if_then_else(allowed(i, j), divided, te.min_value(dtype))

    def mixed(b: Any, i: Any, h: Any, d: Any) -> Any:
        j = te.reduce_axis((0, length_kv), name="j")
        weight = te.if_then_else(allowed(i, j), weights(h, i, j), te.const(0, dtype))
        return te.sum(weight * values(0, j, h, d), axis=j)

    shape = (heads, length, length_kv)
    allowed = te.compute((length, length_kv), kept, name="attention_allowed")
    scores = te.compute(shape, score, name="attention_scores")
    weights = topi.nn.softmax(te.compute(shape, scaled, name="attention_scaled"), axis=-1)
    return te.compute(result.shape, mixed, name="attention")


def _sequence_numbers(starts: te.Tensor, length: Any, name: str) -> te.Tensor:
    """The number of the sequence that each element is of."""
    last = starts.shape[0] - 2

    def number(i: Any) -> Any:
        b = te.reduce_axis((0, last), name="b")
        return te.sum(
            te.if_then_else(
                starts(b + 1).astype("int64") <= i, te.const(1, "int64"), te.const(0, "int64")
            ),
            axis=b,
        )

    return te.compute((length,), number, name=name)


def _kept(i: Any, j: Any, length: Any, length_kv: Any, mask: str | None, window: Any) -> Any:
    """The condition under which query i sees key j; None when it sees all."""
    last = i + (length_kv - length) if mask == "BottomRight" else i
    conditions = [] if mask is None else [j <= last]
    if window is not None:
        conditions.append(j > last - window)
    return te.all(*conditions) if conditions else None
