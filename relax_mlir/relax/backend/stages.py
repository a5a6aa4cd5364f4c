"""The stages before and after operators become kernels, which are the same for all targets."""

from __future__ import annotations

from typing import Any

from relax_mlir.relax import transform
from relax_mlir.transform.passes import Pass

__all__ = ["dataflow_lower_passes", "finalize_passes", "library_dispatch_passes"]


def library_dispatch_passes(target: Any) -> list[Pass]:
    """Passes that hand operators to libraries: none, our own kernels are the default."""
    del target
    return []


def dataflow_lower_passes(target: Any) -> list[Pass]:
    """From dataflow blocks to calls in order, which write into tensors that are given."""
    del target
    return [
        transform.RewriteDataflowReshape(),
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
    ]


def finalize_passes(target: Any) -> list[Pass]:
    """Memory is planned, and what the virtual machine does is written out."""
    del target
    return [
        transform.StaticPlanBlockMemory(),
        transform.LowerAllocTensor(),
        transform.KillAfterLastUse(),
        transform.LowerRuntimeBuiltin(),
        transform.ComputePrimValue(),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]
