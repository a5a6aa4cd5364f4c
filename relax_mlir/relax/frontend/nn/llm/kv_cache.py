"""The cache of keys and values of many sequences, as a value that methods of a model take.

    class Llama(nn.Module):
        def create_paged_kv_cache(self, max_batch_size: int, ...) -> PagedKVCache:
            return TIRPagedKVCache(attn_kind="mha", max_batch_size=max_batch_size, ...)

        def decode(self, x: nn.Tensor, paged_kv_cache: PagedKVCache):
            return paged_kv_cache.attention_with_fused_qkv(layer_id, qkv, heads, scale)

At run time `vm.builtin.kv_state_add_sequence(cache, 0)` begins a sequence, and around each call of
a method that uses the cache stand `vm.builtin.kv_state_begin_forward(cache, ids, lengths)` and
`vm.builtin.kv_state_end_forward(cache)`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax import expr as rx
from relax_mlir.relax import op as _op
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.frontend.nn.core import Object, Tensor
from relax_mlir.relax.op.special import call_dps_packed, call_inplace_packed, call_pure_packed
from relax_mlir.relax.struct_info import ObjectType, TensorType
from relax_mlir.runtime.paged_kv_cache import AttnKind, RopeMode

__all__ = ["AttnKind", "PagedKVCache", "RopeMode", "TIRPagedKVCache"]

_CACHE = "vm.builtin.attention_kv_cache_"


class PagedKVCache(Object):
    """A cache of keys and values in pages, for steps over many sequences.

    In a prefill tensors begin with (1, tokens of all sequences), in a decode with (sequences, 1);
    heads and the head size are the last two dimensions.
    """

    def attention_with_fused_qkv(
        self, layer_id: int, qkv: Tensor, num_qo_heads: int, sm_scale: float
    ) -> Tensor:
        """Store keys and values of the new tokens; attention of their queries to all so far.

        qkv: (b, s, num_qo_heads + 2 * key heads, d).  Returns (b, s, num_qo_heads, d).
        """
        b, s, heads, size = qkv.shape
        given = [self.expr, rx.PrimValue(layer_id), rx.PrimValue(float(sm_scale))]
        rows = _flat(qkv, (b * s, heads, size))
        kind = TensorType((b * s, num_qo_heads, size), qkv.dtype)
        name = f"{_CACHE}attention_with_fused_qkv"
        made = _emit(call_dps_packed(name, [*given, rows], out_sinfo=kind))
        return _shaped(made, (b, s, num_qo_heads, size))

    def attention_with_shared_kv(
        self, source_layer_id: int, q: Tensor, current_k: Tensor, current_v: Tensor, sm_scale: float
    ) -> Tensor:
        """Attention to the tokens of another layer, which ran in this step already.

        `current_k` and `current_v` are that layer's for the new tokens; nothing is stored.
        """
        b, s, heads, size = q.shape
        key_heads, value_size = current_v.shape[2:]
        rows = [
            _flat(q, (b * s, heads, size)),
            _flat(current_k, (b * s, key_heads, size)),
            _flat(current_v, (b * s, key_heads, value_size)),
        ]
        given = [self.expr, rx.PrimValue(source_layer_id), rx.PrimValue(float(sm_scale)), *rows]
        kind = TensorType((b * s, heads, value_size), q.dtype)
        name = f"{_CACHE}attention_with_shared_kv"
        made = _emit(call_dps_packed(name, given, out_sinfo=kind))
        return _shaped(made, (b, s, heads, value_size))

    def self_attention(
        self, layer_id: int, q: Tensor, k: Tensor, v: Tensor, sm_scale: float
    ) -> tuple[Tensor, Tensor]:
        """Attention of the new tokens among themselves: (result, log2 of the sums of weights)."""
        b, s, heads, size = q.shape
        key_heads, value_size = v.shape[2:]
        rows = [
            _flat(q, (b * s, heads, size)),
            _flat(k, (b * s, key_heads, size)),
            _flat(v, (b * s, key_heads, value_size)),
        ]
        return self._with_sums("self_attention", layer_id, sm_scale, rows, q, value_size)

    def cross_attention(
        self, layer_id: int, q: Tensor, v_head_dim: int, sm_scale: float
    ) -> tuple[Tensor, Tensor]:
        """Attention to the tokens in the cache: (result, log2 of the sums of weights)."""
        b, s, heads, size = q.shape
        rows = [_flat(q, (b * s, heads, size))]
        return self._with_sums("cross_attention", layer_id, sm_scale, rows, q, v_head_dim)

    def _with_sums(
        self,
        name: str,
        layer_id: int,
        sm_scale: float,
        rows: Sequence[rx.Expr],
        q: Tensor,
        value_size: int,
    ) -> tuple[Tensor, Tensor]:
        b, s, heads, _ = q.shape
        given = [self.expr, rx.PrimValue(layer_id), rx.PrimValue(float(sm_scale)), *rows]
        kinds = [
            TensorType((b * s, heads, value_size), q.dtype),
            TensorType((b * s, heads), "float32"),
        ]
        made = _emit(call_dps_packed(f"{_CACHE}{name}", given, out_sinfo=kinds))
        result, sums = (_emit(rx.TupleGetItem(made, i)) for i in range(2))
        return _shaped(result, (b, s, heads, value_size)), _shaped(sums, (b, s, heads))

    def append_mla_kv(self, layer_id: int, kv: Tensor) -> PagedKVCache:
        """Store the compressed keys and values, (b, s, 1, size), of the new tokens."""
        b, s, _, size = kv.shape
        rows = _flat(kv, (b * s, size))
        call = call_inplace_packed(
            f"{_CACHE}append_mla_kv",
            self.expr,
            rx.PrimValue(layer_id),
            rows,
            inplace_indices=[0],
            sinfo_args=ObjectType(),
        )
        return PagedKVCache(_expr=_emit(call), _name="paged_kv_cache")

    def merge_attn_output_inplace(
        self,
        o_self_attn: Tensor,
        lse_self_attn: Tensor,
        o_cross_attn: Tensor,
        lse_cross_attn: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Attention to two sets of tokens together, from that to each; the first two change."""
        b, s, heads, size = o_self_attn.shape
        values, sums = (b * s, heads, size), (b * s, heads)
        rows = [
            _flat(o_self_attn, values),
            _flat(lse_self_attn, sums),
            _flat(o_cross_attn, values),
            _flat(lse_cross_attn, sums),
        ]
        call = call_inplace_packed(
            f"{_CACHE}merge_attn_output_inplace",
            self.expr,
            *rows,
            inplace_indices=[1, 2],
            sinfo_args=[rows[0].struct_info, rows[1].struct_info],
        )
        made = _emit(call)
        merged, total = (_emit(rx.TupleGetItem(made, i)) for i in range(2))
        return _shaped(merged, (b, s, heads, size)), _shaped(total, (b, s, heads))

    def get_query_positions(self, total_length: Any) -> Tensor:
        """The place of each of the step's `total_length` tokens in its sequence, int32."""
        kind = TensorType((total_length,), "int32")
        name = f"{_CACHE}get_query_positions"
        return Tensor(_expr=_emit(call_pure_packed(name, self.expr, sinfo_args=kind)))


class TIRPagedKVCache(PagedKVCache):
    """Creates the cache, in a method that returns it.

    The first five sizes are the method's arguments or numbers.  `attn_kind` is "mha" or "mla", or a
    list of these and "mha_sliding", one a layer; `rope_ext_factors` divides frequencies
    ("longrope"), a tensor expression or None.  Arguments of TVM's that only its kernels need
    (`mla_original_qk_head_dim`, `mla_original_v_head_dim`, `target`) are taken and not used.
    """

    def __init__(
        self,
        attn_kind: str | Sequence[str],
        max_batch_size: Any,
        max_total_seq_len: Any,
        prefill_chunk_size: Any,
        page_size: Any,
        support_sliding_window: Any,
        layer_partition: Any,
        num_hidden_layers: int,
        num_attention_heads: int,
        num_key_value_heads: int,
        qk_head_dim: int,
        v_head_dim: int,
        mla_original_qk_head_dim: int = 0,
        mla_original_v_head_dim: int = 0,
        rope_mode: RopeMode = RopeMode.NORMAL,
        rope_scale: float = 1.0,
        rope_theta: float = 10000.0,
        rope_scaling: Mapping[str, Any] | None = None,
        rope_ext_factors: Any = None,
        rotary_dim: int = 0,
        enable_disaggregation: bool = False,
        dtype: str = "float32",
        target: Any = None,
        name: str = "paged_kv_cache",
        *,
        layer_sliding_window_size: int = 1024,
    ) -> None:
        kinds = [attn_kind] * num_hidden_layers if isinstance(attn_kind, str) else list(attn_kind)
        if len(kinds) != num_hidden_layers:
            raise ValueError(f"{num_hidden_layers} layers need as many kinds, got {kinds}")
        sizes = [
            max_batch_size,
            max_total_seq_len,
            prefill_chunk_size,
            page_size,
            support_sliding_window,
            layer_sliding_window_size,
        ]
        heads = (num_attention_heads, num_key_value_heads, qk_head_dim, v_head_dim)
        given = [
            rx.ShapeExpr(sizes),
            rx.ShapeExpr(list(getattr(layer_partition, "values", layer_partition))),
            *(rx.PrimValue(int(size)) for size in heads),
            rx.ShapeExpr([_kind(kind) for kind in kinds]),
            rx.PrimValue(bool(enable_disaggregation)),
            rx.PrimValue(int(rope_mode)),
            rx.PrimValue(float(rope_scale)),
            rx.PrimValue(float(rope_theta)),
            _op.null_value() if rope_ext_factors is None else rope_ext_factors,
            _emit(_op.zeros(rx.ShapeExpr([]), dtype)),
            rx.StringImm(json.dumps(dict(rope_scaling or {}), sort_keys=True)),
            rx.PrimValue(int(rotary_dim)),
        ]
        create = "vm.builtin.paged_attention_kv_cache_create"
        call = call_pure_packed(create, *given, sinfo_args=ObjectType())
        super().__init__(_expr=_emit(call), _name=name)


def _kind(name: str) -> int:
    known = {kind.name.lower(): int(kind) for kind in AttnKind if kind != AttnKind.LINEAR_ATTN}
    if name not in known:
        raise ValueError(f"attn_kind is one of {', '.join(known)}, not '{name}'")
    return known[name]


def _emit(call: rx.Expr) -> rx.Expr:
    builder = BlockBuilder.current()
    if builder is None:
        raise Error("a cache is used in a method that is being exported")
    return builder.emit(call)


def _flat(value: Tensor, shape: Sequence[Any]) -> rx.Expr:
    return _emit(_op.reshape(value.expr, rx.ShapeExpr(list(shape))))


def _shaped(value: rx.Expr, shape: Sequence[Any]) -> Tensor:
    return Tensor(_expr=_emit(_op.reshape(value, rx.ShapeExpr(list(shape)))))
