"""Attention on a paged cache: `python kv_cache_program.py PACKAGE FILE` with relax_mlir or tvm.

Both run the same steps on the same numbers; the results of all steps go to the file.  TVM's kernels
for the CPU want pages of 16 tokens.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

HEADS, KEY_HEADS, SIZE, PAGE = 4, 2, 16, 16
# Sequence numbers and how many tokens each gets; a fork of 0 at 17 tokens comes before the third.
STEPS = [{0: 20, 1: 3}, {0: 1, 1: 1}, {0: 2, 2: 15, 1: 1}, {2: 1, 0: 1}]
ROPE = {"rope_mode": 1, "rope_scale": 1.0, "rope_theta": 1e4}


def _tvm_kernels(tvm: Any) -> list[Any]:
    """The functions that TVM's cache is created with."""
    llm = importlib.import_module("tvm.relax.frontend.nn.llm.kv_cache")
    heads = (KEY_HEADS, HEADS, SIZE, "float32")

    def compiled(function: Any) -> Any:
        return tvm.tirx.build(function, target="llvm").main

    none: Any = None
    prefill, decode = (
        [compiled(make(*heads, sliding, {})) for sliding in (False, True)]
        for make in (llm._attention_prefill_cpu, llm._attention_decode_cpu)
    )
    ragged = llm._attention_prefill_ragged_cpu(KEY_HEADS, HEADS, SIZE, SIZE, "float32", {})
    rotary = llm.llama_rope_with_position_map(1e4, 1.0, SIZE, HEADS, KEY_HEADS, "float32", {})
    return [
        compiled(llm._kv_cache_transpose_append(KEY_HEADS, SIZE, "float32")),
        none,
        ["tirx", compiled(ragged)],
        ["tirx", prefill[0]],
        ["tirx", decode[0]],
        ["tirx", prefill[1]],
        ["tirx", decode[1]],
        ["tirx", compiled(llm.tree_attn_with_paged_kv_cache_cpu(*heads, {}))],
        ["tirx", compiled(llm.tree_attn_cpu(*heads, {}))],
        [],
        [compiled(llm._merge_state_inplace_cpu("float32"))],
        compiled(rotary),
        compiled(llm._copy_single_page_cpu(KEY_HEADS, PAGE, SIZE, "float32")),
        compiled(llm._kv_cache_debug_get_kv(1, KEY_HEADS, SIZE, "float32")),
        compiled(llm._compact_kv_copy_cpu(KEY_HEADS, SIZE, "float32")),
    ]


def _run(package: str) -> list[np.ndarray]:
    tvm = importlib.import_module(package)
    shape = importlib.import_module("tvm_ffi").Shape

    def call(name: str, *arguments: Any) -> Any:
        given = [shape(a) if isinstance(a, tuple) else a for a in arguments]
        return tvm.get_global_func(f"vm.builtin.{name}")(*given)

    cache = call(
        "paged_attention_kv_cache_create",
        (4, 256, 64, PAGE, 0),
        (0, 1),
        HEADS,
        KEY_HEADS,
        SIZE,
        SIZE,
        (0,),
        False,
        *ROPE.values(),
        None,
        tvm.runtime.tensor(np.zeros((), "float32")),
        *(_tvm_kernels(tvm) if package == "tvm" else []),
    )
    for sequence in (0, 1):
        call("kv_state_add_sequence", cache, sequence)
    rng, results = np.random.default_rng(0), list[np.ndarray]()
    for number, step in enumerate(STEPS):
        if number == 2:
            call("kv_state_fork_sequence", cache, 0, 2, 17)
        count = sum(step.values())
        qkv = rng.standard_normal((count, HEADS + 2 * KEY_HEADS, SIZE)).astype("float32")
        call("kv_state_begin_forward", cache, tuple(step), tuple(step.values()))
        out = tvm.runtime.tensor(np.zeros((count, HEADS, SIZE), "float32"))
        given = tvm.runtime.tensor(qkv)
        call("attention_kv_cache_attention_with_fused_qkv", cache, 0, 0.25, given, out)
        call("kv_state_end_forward", cache)
        results.append(out.numpy())
    return results


if __name__ == "__main__":
    np.savez(sys.argv[2], *_run(sys.argv[1]))
