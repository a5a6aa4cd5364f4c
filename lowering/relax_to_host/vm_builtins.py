"""Functions of TVM's virtual machine that our runtime has too.

They are registered behind the prefix `relax_mlir.`: TVM, which may be loaded into the same process,
ends it when it finds a name of its own taken.
"""

from __future__ import annotations

__all__ = ["CACHE_FUNCTIONS", "VM_BUILTINS"]

CACHE_FUNCTIONS = (
    "attention_kv_cache_create", "attention_kv_cache_append", "attention_kv_cache_view",
    "attention_kv_cache_array_clear", "attention_kv_cache_array_popn", "invoke_debug_func",
    "debug_print", "paged_attention_kv_cache_create", "kv_state_clear",
    "kv_state_add_sequence", "kv_state_remove_sequence", "kv_state_fork_sequence",
    "kv_state_popn", "kv_state_begin_forward", "kv_state_end_forward",
    "attention_kv_cache_enable_sliding_window_for_seq",
    "attention_kv_cache_commit_accepted_token_tree_nodes", "attention_kv_cache_empty",
    "attention_kv_cache_get_num_available_pages",
    "attention_kv_cache_get_total_sequence_length", "attention_kv_cache_get_query_positions",
    "attention_kv_cache_debug_get_kv", "attention_kv_cache_attention_with_fused_qkv",
    "attention_kv_cache_self_attention", "attention_kv_cache_attention_with_shared_kv",
    "attention_kv_cache_cross_attention", "attention_kv_cache_append_mla_kv",
    "attention_kv_cache_merge_attn_output_inplace",
)  # fmt: skip
"""Caches of keys and values, and debugging calls."""

_GRAPH_FUNCTIONS = ("cuda_graph.get_cached_alloc", "cuda_graph.run_or_capture")

VM_BUILTINS = frozenset(f"vm.builtin.{name}" for name in (*CACHE_FUNCTIONS, *_GRAPH_FUNCTIONS))
