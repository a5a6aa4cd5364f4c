"""Importers for PyTorch: exported programs (`torch.export`) and traced graphs (`torch.fx`)."""

from relax_mlir.relax.frontend.torch.exported_program import from_exported_program
from relax_mlir.relax.frontend.torch.fx import from_fx

__all__ = ["from_exported_program", "from_fx"]
