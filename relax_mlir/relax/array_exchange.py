"""Arrays of numpy and torch as runtime tensors, and results as the caller's kind of array."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_torch", "like", "to_tensor", "to_tensors"]


def to_tensor(value: Any) -> Any:
    """An array as a runtime tensor that shares its memory where it can; others as they are."""
    from relax_mlir.runtime.tensor import Tensor, from_dlpack, tensor

    if isinstance(value, (bool, int, float, str, Tensor)):
        return value
    if isinstance(value, np.ndarray):
        return tensor(value) if not value.flags.writeable else from_dlpack(value)
    if hasattr(value, "__dlpack__"):
        plain = value.detach().contiguous() if hasattr(value, "detach") else value
        return from_dlpack(plain)
    return value


def to_tensors(values: Any) -> Any:
    """As `to_tensor`, also for lists."""
    if isinstance(values, (list, tuple)):
        return [to_tensors(v) for v in values]
    return to_tensor(values)


def as_torch(value: Any) -> Any:
    """A runtime tensor as a torch tensor that shares its memory, where PyTorch is installed; other
    values as they are."""
    if not hasattr(value, "__dlpack__") or importlib.util.find_spec("torch") is None:
        return value
    import torch

    return value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)


def like(result: Any, given: Sequence[Any]) -> Any:
    """A result as the arguments are: torch tensors, numpy arrays, or runtime tensors."""
    if isinstance(result, (list, tuple)) or type(result).__name__ == "Array":
        return [like(r, given) for r in result]
    if not hasattr(result, "__dlpack__"):
        return result
    kind = next((type(a).__module__.partition(".")[0] for a in given if hasattr(a, "shape")), "")
    if kind == "torch":
        return as_torch(result)
    return result.numpy() if kind == "numpy" else result
