"""The pipeline for CPUs by stages (TVM's `tvm.relax.backend.cpu_generic`)."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax import pipelines
from relax_mlir.relax.backend.stages import (
    dataflow_lower_passes,
    finalize_passes,
    library_dispatch_passes,
)
from relax_mlir.transform.passes import Pass

__all__ = [
    "dataflow_lower_passes",
    "finalize_passes",
    "get_default_pipeline",
    "legalize_passes",
    "library_dispatch_passes",
]


def legalize_passes(target: Any) -> list[Pass]:
    """Layouts are chosen, weights packed, operators become kernels and are fused."""
    del target
    return [pipelines.default_build_pipeline()]


def get_default_pipeline(target: Any) -> Pass:
    """What compiling for a CPU runs."""
    del target
    return pipelines.default_build_pipeline()
