"""Registered functions that compiled code calls for `R.print` and `R.assert_op` and around regions
of kernels, and the errors it raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.lowering.relax_to_host.vm_builtins import CACHE_FUNCTIONS
from relax_mlir.runtime.ffi import tvm_ffi
from relax_mlir.runtime.random_state import KEY_FUNCTION, write_key
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


def _of_caches(name: str) -> Callable[..., Any]:
    """A function of caches of keys and values; what it is made of is imported when it is called."""

    def call(*arguments: Any) -> Any:
        from relax_mlir.runtime.kv_cache import FUNCTIONS

        return FUNCTIONS[name](*arguments)

    return call


tvm_ffi.register_error("RecursionError", RecursionError)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "print": _print,
    "assert_op": _assert_op,
    "vm.builtin.cuda_graph.get_cached_alloc": _allocate,
    "vm.builtin.cuda_graph.run_or_capture": _run_region,
    **{f"vm.builtin.{name}": _of_caches(name) for name in CACHE_FUNCTIONS},
}
for _name, _function in _FUNCTIONS.items():
    register_global_func(f"relax_mlir.{_name}", _function, override=True)
register_global_func(KEY_FUNCTION, write_key, override=True)
