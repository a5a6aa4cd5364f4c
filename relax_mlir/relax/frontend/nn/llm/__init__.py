"""Parts of large language models: caches of keys and values, position embeddings."""

from relax_mlir.relax.frontend.nn.llm import kv_cache, position_embedding
from relax_mlir.relax.frontend.nn.llm.kv_cache import (
    AttnKind,
    PagedKVCache,
    RopeMode,
    TIRPagedKVCache,
)
from relax_mlir.relax.frontend.nn.llm.position_embedding import llama_rope

__all__ = [
    "AttnKind",
    "PagedKVCache",
    "RopeMode",
    "TIRPagedKVCache",
    "kv_cache",
    "llama_rope",
    "position_embedding",
]
