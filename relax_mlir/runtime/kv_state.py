"""The functions behind `nn.llm.PagedKVCache`, under TVM's names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.paged_kv_cache import (
    AttnKind,
    PagedKVCache,
    PagedKVCacheConfig,
    RopeMode,
)
from relax_mlir.runtime.tensor import tensor

__all__ = ["FUNCTIONS"]


def _ints(shape: Any) -> list[int]:
    return [int(size) for size in shape]


def _create(
    sizes: Any,
    layer_partition: Any,
    num_qo_heads: int,
    num_kv_heads: int,
    qk_head_dim: int,
    v_head_dim: int,
    attn_kinds: Any,
    enable_kv_transfer: bool,
    rope_mode: int,
    rope_scale: float,
    rope_theta: float,
    rope_factors: Any,
    example: Any,
    *embedding: Any,
) -> PagedKVCache:
    """`sizes` are max_batch_size, max_total_seq_len, prefill_chunk_size, page_size,
    support_sliding_window and, if given, the window of sliding layers; `embedding` is what the
    position embedding has beyond TVM's arguments: `rope_scaling` as JSON and `rotary_dim`."""
    if enable_kv_transfer:
        raise ValueError("keys and values stay in one process: enable_kv_transfer is False")
    if embedding and not isinstance(embedding[0], str):
        raise TypeError(
            "paged_attention_kv_cache_create: this cache has attention of its own and takes no "
            "kernels; behind the example tensor come rope_scaling, as JSON, and rotary_dim"
        )
    batch, total, chunk, page, sliding, *window = _ints(sizes)
    first, last = _ints(layer_partition)[0], _ints(layer_partition)[-1]
    kinds = tuple(AttnKind(kind) for kind in _ints(attn_kinds))[first:last]
    return PagedKVCache(
        PagedKVCacheConfig(
            max_batch_size=batch,
            max_total_seq_len=total,
            prefill_chunk_size=chunk,
            page_size=page,
            support_sliding_window=bool(sliding),
            first_layer=first,
            attn_kinds=kinds,
            num_qo_heads=int(num_qo_heads),
            num_kv_heads=int(num_kv_heads),
            qk_head_dim=int(qk_head_dim),
            v_head_dim=int(v_head_dim),
            rope_mode=RopeMode(int(rope_mode)),
            rope_scale=float(rope_scale),
            rope_theta=float(rope_theta),
            rope_scaling=json.loads(embedding[0]) if embedding else {},
            rope_factors=None if rope_factors is None else rope_factors.numpy(),
            rotary_dim=int(embedding[1]) if len(embedding) > 1 else 0,
            layer_window=window[0] if window else 1024,
            dtype=str(example.dtype),
        )
    )


def _begin_forward(cache: PagedKVCache, ids: Any, lengths: Any, parents: Any = None) -> None:
    cache.begin_forward(_ints(ids), _ints(lengths), None if parents is None else _ints(parents))


def _attention(cache: PagedKVCache, layer: int, scale: float, qkv: Any, out: Any) -> None:
    out.copyfrom(cache.attention_with_fused_qkv(int(layer), float(scale), qkv.numpy()))


def _shared_attention(
    cache: PagedKVCache, layer: int, scale: float, q: Any, k: Any, v: Any, out: Any
) -> None:
    given = (q.numpy(), k.numpy(), v.numpy())
    out.copyfrom(cache.attention_with_shared_kv(int(layer), float(scale), *given))


def _self_attention(
    cache: PagedKVCache, layer: int, scale: float, q: Any, k: Any, v: Any, out: Any, sums: Any
) -> None:
    result, logarithms = cache.self_attention(float(scale), q.numpy(), k.numpy(), v.numpy())
    out.copyfrom(result)
    sums.copyfrom(logarithms)


def _cross_attention(
    cache: PagedKVCache, layer: int, scale: float, q: Any, out: Any, sums: Any
) -> None:
    result, logarithms = cache.cross_attention(int(layer), float(scale), q.numpy())
    out.copyfrom(result)
    sums.copyfrom(logarithms)


def _append_mla(cache: PagedKVCache, layer: int, rows: Any) -> PagedKVCache:
    cache.append_mla(int(layer), rows.numpy())
    return cache


def _merge(cache: PagedKVCache, out: Any, sums: Any, other: Any, other_sums: Any) -> Any:
    """Attention to two sets of tokens from the attention to each; written into the first."""
    a, b = sums.numpy(), other_sums.numpy()
    largest = np.maximum(a, b)
    weights = [np.exp2(np.where(np.isfinite(largest), x - largest, 0.0)) for x in (a, b)]
    total = weights[0] + weights[1]
    merged = sum(
        w[..., None] * rows.numpy().astype(np.float32)
        for w, rows in zip(weights, (out, other), strict=True)
    )
    out.copyfrom(merged / total[..., None])
    sums.copyfrom(largest + np.log2(total))
    return [out, sums]


def _query_positions(cache: PagedKVCache) -> Any:
    return tensor(cache.step.positions)


def _debug_get_kv(
    cache: PagedKVCache, sequence_id: int, start: int, end: int, keys: Any, values: Any
) -> None:
    stored = cache.stored(int(sequence_id), int(start), int(end))
    for target, rows in zip((keys, values), stored, strict=True):
        target.copyfrom(rows)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "paged_attention_kv_cache_create": _create,
    "kv_state_clear": lambda cache: cache.clear(),
    "kv_state_add_sequence": lambda cache, number: cache.add_sequence(int(number)),
    "kv_state_remove_sequence": lambda cache, number: cache.remove_sequence(int(number)),
    "kv_state_fork_sequence": lambda cache, parent, child, at=-1: cache.fork_sequence(
        int(parent), int(child), int(at)
    ),
    "kv_state_popn": lambda cache, number, count: cache.popn(int(number), int(count)),
    "kv_state_begin_forward": _begin_forward,
    "kv_state_end_forward": lambda cache: cache.end_forward(),
    "attention_kv_cache_enable_sliding_window_for_seq": (
        lambda cache, number, window, sink: cache.enable_sliding_window(
            int(number), int(window), int(sink)
        )
    ),
    "attention_kv_cache_commit_accepted_token_tree_nodes": (
        lambda cache, ids, leaves: cache.commit_accepted(_ints(ids), _ints(leaves))
    ),
    "attention_kv_cache_empty": lambda cache: cache.total_length() == 0,
    "attention_kv_cache_get_num_available_pages": lambda cache: cache.pool.available,
    "attention_kv_cache_get_total_sequence_length": lambda cache: cache.total_length(),
    "attention_kv_cache_get_query_positions": _query_positions,
    "attention_kv_cache_debug_get_kv": _debug_get_kv,
    "attention_kv_cache_attention_with_fused_qkv": _attention,
    "attention_kv_cache_attention_with_shared_kv": _shared_attention,
    "attention_kv_cache_self_attention": _self_attention,
    "attention_kv_cache_cross_attention": _cross_attention,
    "attention_kv_cache_append_mla_kv": _append_mla,
    "attention_kv_cache_merge_attn_output_inplace": _merge,
}
