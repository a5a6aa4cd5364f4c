"""TVM's dtype names and torch's."""

from __future__ import annotations

import torch

from relax_mlir.errors import Error

__all__ = ["torch_dtype"]


def torch_dtype(name: str) -> torch.dtype:
    """The dtype of torch by TVM's name.  Raises Error for one that torch has not."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise Error(f"torch has no dtype {name}; convert the function before it is used")
    return found
