"""Operators whose lines the threads of a GPU work on together: scans, sorts, the largest elements.

They are statements with loops bound to threads, so that no default schedule touches them; barriers
are put where the kernel is lowered.
"""

from __future__ import annotations

from relax_mlir.topi.gpu.scan import cumprod, cumsum, scanop
from relax_mlir.topi.gpu.sort import argsort, sort, topk

__all__ = ["argsort", "cumprod", "cumsum", "scanop", "sort", "topk"]
