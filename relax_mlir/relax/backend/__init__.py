"""What back ends bring: patterns of the operators they take, and the passes of a target's pipeline
(TVM's `tvm.relax.backend`).

`register_patterns` files what `FuseOpsByPattern` groups for a back end; `cpu_generic` and
`gpu_generic` are the default pipelines taken apart.
"""

from relax_mlir.relax.backend import cpu_generic, gpu_generic, patterns
from relax_mlir.relax.backend.dispatch import DispatchSampling, DispatchSortScan
from relax_mlir.relax.backend.pattern_registry import (
    get_pattern,
    get_patterns_with_prefix,
    register_patterns,
)

__all__ = [
    "DispatchSampling",
    "DispatchSortScan",
    "cpu_generic",
    "get_pattern",
    "get_patterns_with_prefix",
    "gpu_generic",
    "patterns",
    "register_patterns",
]
