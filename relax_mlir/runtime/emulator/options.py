"""How kernels are emulated: with checks or without, and in which order threads run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["EmulatorOptions", "current_options", "options"]

_ORDERS = ("forward", "reverse", "random")


@dataclass(frozen=True)
class EmulatorOptions:
    """`checks`: examine every access and barrier, else run for speed.

    `order`: the threads of a block run "forward", "reverse" or in a "random" order that `seed`
    fixes; a correct kernel gives the same in any.

    `max_blocks`: the most blocks of a grid along x, y and z; NVIDIA's devices have these.
    """

    checks: bool = True
    order: str = "forward"
    seed: int = 0
    max_blocks: tuple[int, int, int] = (2**31 - 1, 65535, 65535)

    def __post_init__(self) -> None:
        if self.order not in _ORDERS:
            raise ValueError(
                f"the order of threads must be one of {', '.join(_ORDERS)}, got {self.order!r}"
            )

    def permutation(self, threads: int) -> np.ndarray:
        """The numbers of the threads of a block in the order they run."""
        numbers = np.arange(threads, dtype=np.int64)
        if self.order == "reverse":
            return numbers[::-1].copy()
        if self.order == "random":
            return np.random.default_rng(self.seed).permutation(numbers)
        return numbers


_DEFAULT = EmulatorOptions()
_CURRENT: ContextVar[EmulatorOptions] = ContextVar("emulator_options")


def current_options() -> EmulatorOptions:
    """The options of the innermost `with options(...)`."""
    return _CURRENT.get(_DEFAULT)


@contextmanager
def options(**changes: Any) -> Iterator[EmulatorOptions]:
    """Emulate with other options (`checks`, `order`, `seed`, `max_blocks`) inside of a `with`.

    Raises TypeError for a name that is no option and ValueError for an unknown order.
    """
    changed = replace(current_options(), **changes)
    token = _CURRENT.set(changed)
    try:
        yield changed
    finally:
        _CURRENT.reset(token)
