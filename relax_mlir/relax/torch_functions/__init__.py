"""What each Relax operator is in PyTorch: tables by family, joined in `torch_functions()`.

A row takes the operator's operands in order (tensors; tuples of sizes for shapes, numbers for
scalars, None for absent ones, a list for the variadic one) and its attributes by name, and returns
a tensor or a tuple of tensors; whoever calls it converts the result to the dtype that Relax infers.

The tables import torch, so this package is imported when a function is converted, not before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.relax.torch_functions.convolution import CONVOLUTION
from relax_mlir.relax.torch_functions.create import CREATE
from relax_mlir.relax.torch_functions.elementwise import ELEMENTWISE
from relax_mlir.relax.torch_functions.gradient import GRADIENT
from relax_mlir.relax.torch_functions.image import IMAGE
from relax_mlir.relax.torch_functions.index import INDEX
from relax_mlir.relax.torch_functions.nn import NN
from relax_mlir.relax.torch_functions.rearrange import REARRANGE
from relax_mlir.relax.torch_functions.reduction import REDUCTION

__all__ = ["TorchFunction", "torch_functions"]

TorchFunction = Callable[..., Any]


def torch_functions() -> dict[str, TorchFunction]:
    """The functions by operator name without `relax.`; a new dictionary that may be changed."""
    return {
        **ELEMENTWISE,
        **CREATE,
        **REARRANGE,
        **INDEX,
        **REDUCTION,
        **NN,
        **CONVOLUTION,
        **IMAGE,
        **GRADIENT,
    }
