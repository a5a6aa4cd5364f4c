"""Functions known by name to compiled code and to every language that speaks the TVM FFI.

A function registered as `"env.linear"` is what `R.call_dps_packed("env.linear", ...)` calls; it
receives `Tensor` objects and writes its result into the last ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.runtime.ffi import tvm_ffi

__all__ = [
    "Function",
    "PackedFunc",
    "get_global_func",
    "list_global_func_names",
    "register_func",
    "register_global_func",
    "remove_global_func",
]

Function = tvm_ffi.Function
PackedFunc = tvm_ffi.Function


def register_global_func(
    func_name: str | Callable[..., Any],
    f: Callable[..., Any] | None = None,
    override: bool = False,
) -> Any:
    """Register a Python callable under a name; usable as a decorator with or without the name.

    Returns the callable (or the decorator).  Raises ValueError when the name is taken and
    `override` is False, TypeError when there is nothing to call.
    """
    if callable(func_name):
        func_name, f = func_name.__name__, func_name
    if not isinstance(func_name, str):
        raise TypeError(f"register_global_func: expected a name, got {func_name!r}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(f"register_global_func: {func_name!r}: not callable: {function!r}")
        if not override and tvm_ffi.get_global_func(func_name, allow_missing=True) is not None:
            raise ValueError(
                f"global function {func_name!r} is already registered; pass override=True"
            )
        tvm_ffi.register_global_func(func_name, function, override=override)
        return function

    return register if f is None else register(f)


# The name that TVM used before it moved its registry into tvm_ffi.
register_func = register_global_func


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """The registered function of that name; None when it is missing and that is allowed.

    Raises ValueError when it is missing otherwise.
    """
    found = tvm_ffi.get_global_func(name, allow_missing=True)
    if found is None and name.startswith("vm.builtin."):  # TVM's name of what we have too
        found = tvm_ffi.get_global_func(f"relax_mlir.{name}", allow_missing=True)
    if found is None and not allow_missing:
        raise ValueError(f"no global function named {name!r}; register it with register_func")
    return found


def list_global_func_names() -> list[str]:
    """Names of all registered functions."""
    return tvm_ffi.registry.list_global_func_names()


def remove_global_func(name: str) -> None:
    """Remove a registered function; raises ValueError when there is none."""
    get_global_func(name)
    tvm_ffi.remove_global_func(name)
