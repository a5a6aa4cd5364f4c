"""Programs from elsewhere: ONNX (`onnx`), PyTorch (`torch`), JAX and others (`stablehlo`), and
modules written here (`nn`)."""

from __future__ import annotations

import importlib
from typing import Any

from relax_mlir.relax.frontend.common import attach_params, detach_params

_MODULES = ("nn", "onnx", "stablehlo", "torch")

# The names are those of tables, which pyright does not follow.
__all__ = ["attach_params", "detach_params", *_MODULES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULES:  # on first use: `torch` is slow to import
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
