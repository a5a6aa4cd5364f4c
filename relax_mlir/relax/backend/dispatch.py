"""Passes that turn one family of operators into kernels and leave the others as they are."""

from __future__ import annotations

from collections.abc import Collection

from relax_mlir.dialects.relax.spec import SPECS
from relax_mlir.relax.transform import LegalizeOps
from relax_mlir.transform.passes import Pass

__all__ = ["DispatchSampling", "DispatchSortScan"]

_SORT_SCAN = {"sort", "argsort", "topk", "cumsum", "cumprod"}
_SAMPLING = {"multinomial_from_uniform"}


def DispatchSortScan() -> Pass:
    """Make kernels of the calls of sort, argsort, topk, cumsum and cumprod."""
    return _legalize_only(_SORT_SCAN)


def DispatchSampling() -> Pass:
    """Make kernels of the calls of multinomial_from_uniform."""
    return _legalize_only(_SAMPLING)


def _legalize_only(names: Collection[str]) -> Pass:
    return LegalizeOps(skip_ops=[f"relax.{name}" for name in SPECS if name not in names])
