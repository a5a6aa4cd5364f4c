"""How many cores a module is compiled for."""

from __future__ import annotations

from typing import Any

from relax_mlir.transform import PassContext

__all__ = ["asked_cores"]


def asked_cores(target: Any) -> int | None:
    """The number of cores that the target or the PassContext (`num-cores`) asks for."""
    asked = getattr(target, "num_cores", None)
    return PassContext.current().config.get("num-cores") if asked is None else asked
