"""Whole PyTorch models against PyTorch, as a table: `python -m relax_mlir.testing.models`."""
