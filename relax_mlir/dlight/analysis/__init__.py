"""What rules look at: blocks, their iteration variables and what they access."""

from relax_mlir.dlight.analysis.access import (
    detect_dominant_read,
    is_broadcast_epilogue,
    iterators_of,
)
from relax_mlir.dlight.analysis.common_analysis import (
    BlockInfo,
    IterInfo,
    SBlockInfo,
    get_block_info,
    get_max_shared_memory_per_block,
    get_max_threads_per_block,
    get_root_block,
    get_sblock_info,
    normalize_prim_func,
)
from relax_mlir.dlight.analysis.gemv import get_reduction_expr, is_gemv, normalize

__all__ = [
    "BlockInfo",
    "IterInfo",
    "SBlockInfo",
    "detect_dominant_read",
    "get_block_info",
    "get_max_shared_memory_per_block",
    "get_max_threads_per_block",
    "get_reduction_expr",
    "get_root_block",
    "get_sblock_info",
    "is_broadcast_epilogue",
    "is_gemv",
    "iterators_of",
    "normalize",
    "normalize_prim_func",
]
