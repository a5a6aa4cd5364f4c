"""Registered functions that compiled code calls for `R.print` and `R.assert_op` and around regions
of kernels, and the errors it raises."""

from __future__ import annotations

from typing import Any

from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.registry import register_global_func

__all__ = ["formatted"]


def formatted(text: str, values: tuple[Any, ...]) -> str:
    """`text` with its `{}` filled by the values; without a text the values, one a line."""
    shown = [value.numpy() if hasattr(value, "numpy") else value for value in values]
    return text.format(*shown) if text else "\n".join(map(str, shown))


def _print(text: str, *values: Any) -> None:
    print(formatted(text, values), flush=True)  # noqa: T201 (this is what R.print does)


def _assert_op(text: str, *values: Any) -> None:
    raise AssertionError(f"Assertion Failed: {formatted(text, values)}")


def _allocate(function: Any, _index: int) -> Any:
    """Storage for `relax-rewrite-cuda-graph`.  It is made anew in each call: what two calls run at
    the same time, from two threads, may not share it."""
    return function()


def _run_region(function: Any, arguments: Any, _index: int, *_sizes: Any) -> Any:
    """A region of `relax-rewrite-cuda-graph`, which has the sizes among its arguments too.  Whoever
    wants launches as one graph captures the whole call: `runtime.capture_graph`."""
    return function(*arguments)


tvm_ffi.register_error("RecursionError", RecursionError)
register_global_func("relax_mlir.print", _print, override=True)
register_global_func("relax_mlir.assert_op", _assert_op, override=True)
_GRAPHS = "relax_mlir.vm.builtin.cuda_graph."
register_global_func(f"{_GRAPHS}get_cached_alloc", _allocate, override=True)
register_global_func(f"{_GRAPHS}run_or_capture", _run_region, override=True)
