"""Caches of keys and values that grow with a sequence, and debugging calls: the registered
functions behind `nn.KVCache` and `nn.op.debug_func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime import kv_state
from relax_mlir.runtime import numpy_bridge as bridge
from relax_mlir.runtime.builtin_functions import formatted
from relax_mlir.runtime.registry import get_global_func
from relax_mlir.runtime.tensor import constant_tensor

__all__ = ["FUNCTIONS", "AttentionKVCache"]


class AttentionKVCache:
    """Rows that are appended one after another; memory grows by doubling."""

    def __init__(self, data: np.ndarray, fill_count: int = 0) -> None:
        if not 0 <= fill_count <= len(data):
            raise ValueError(f"a cache of {len(data)} rows cannot hold {fill_count}")
        self._data = data
        self.fill_count = fill_count

    def append(self, rows: np.ndarray) -> None:
        """Add rows behind those there are.  Raises ValueError for another shape or dtype."""
        if rows.shape[1:] != self._data.shape[1:] or rows.dtype != self._data.dtype:
            raise ValueError(
                f"the cache holds rows of shape {self._data.shape[1:]} of {self._data.dtype}, got "
                f"{rows.shape[1:]} of {rows.dtype}"
            )
        end = self.fill_count + len(rows)
        if end > len(self._data):
            length = max(end, 2 * len(self._data))
            grown = _storage((length, *self._data.shape[1:]), rows.dtype)
            grown[: self.fill_count] = self._data[: self.fill_count]
            self._data = grown
        self._data[self.fill_count : end] = rows
        self.fill_count = end

    def view(self, shape: tuple[int, ...]) -> np.ndarray:
        """The rows as an array of that shape.  Raises ValueError when it is not theirs."""
        own = (self.fill_count, *self._data.shape[1:])
        if tuple(shape) != own:
            raise ValueError(f"the cache holds {own}, a view of {tuple(shape)} was asked for")
        return self._data[: self.fill_count]

    def clear(self) -> None:
        """Forget all rows; the memory stays."""
        self.fill_count = 0

    def popn(self, count: int) -> None:
        """Forget the last rows."""
        if not 0 <= count <= self.fill_count:
            raise ValueError(f"the cache holds {self.fill_count} rows, {count} cannot be removed")
        self.fill_count -= count


def _storage(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory that lies as tensors want it, so that views need no copy."""
    return bridge.aligned_storage(shape, bridge.dtype_name(dtype)).view(dtype)


def _create(data: Any, shape: Any, fill_count: int) -> AttentionKVCache:
    rows = data.numpy()
    made = _storage(tuple(int(size) for size in shape), rows.dtype)
    made[:fill_count] = rows[:fill_count]
    return AttentionKVCache(made, int(fill_count))


def _append(cache: AttentionKVCache, rows: Any) -> AttentionKVCache:
    cache.append(rows.numpy())
    return cache


def _view(cache: AttentionKVCache, shape: Any) -> Any:
    """The rows themselves: what is appended later is written behind them."""
    return constant_tensor(cache.view(tuple(int(size) for size in shape)))


def _clear(cache: AttentionKVCache) -> None:
    cache.clear()


def _popn(cache: AttentionKVCache, count: int) -> None:
    cache.popn(int(count))


def _debug(state: Any, name: str, place: str, *values: Any) -> Any:
    """Call a debugging function with the place in the program; gives the state on."""
    get_global_func(str(name))(str(place), *values)
    return state


def _debug_print(place: str, *values: Any) -> None:
    print(f"{place}: {formatted('', values)}", flush=True)  # noqa: T201 (it is asked to)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "attention_kv_cache_create": _create,
    "attention_kv_cache_append": _append,
    "attention_kv_cache_view": _view,
    "attention_kv_cache_array_clear": _clear,
    "attention_kv_cache_array_popn": _popn,
    "invoke_debug_func": _debug,
    "debug_print": _debug_print,
    **kv_state.FUNCTIONS,
}
"""By the names that `builtin_functions.py` registers."""
