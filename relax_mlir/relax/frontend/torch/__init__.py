"""Importers for PyTorch: exported programs (`torch.export`), traced graphs (`torch.fx`) and what
`torch.compile` captures."""

from relax_mlir.relax.frontend.torch.dynamo import (
    dynamo_capture_subgraphs,
    relax_dynamo,
    relax_mlir_backend,
)
from relax_mlir.relax.frontend.torch.exported_program import from_exported_program
from relax_mlir.relax.frontend.torch.fx import from_fx

__all__ = [
    "dynamo_capture_subgraphs",
    "from_exported_program",
    "from_fx",
    "relax_dynamo",
    "relax_mlir_backend",
]
