"""The generator that programs with random numbers take their keys from.

Compiled code makes its numbers itself, from a key of two words (`relax_mlir.topi.random`); each
place of a program that draws asks for a key in each call.  `seed` makes what follows repeatable.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from relax_mlir.errors import Error

__all__ = ["KEY_FUNCTION", "seed", "write_key"]

KEY_FUNCTION = "relax_mlir.random.key"
"""The registered name of `write_key`, which `R.call_dps_packed` calls."""

_lock = threading.Lock()
_state = np.random.SeedSequence()


def seed(value: int) -> None:
    """Start the sequence of keys that belongs to an integer.  Raises Error for a negative one."""
    global _state
    if value < 0:
        raise Error(f"a seed is not negative, given {value}")
    with _lock:
        _state = np.random.SeedSequence(value)


def write_key(_place: int, key: Any) -> None:
    """Write the next key of the process, two uint32.  `_place` only tells the places of a program
    that draw apart: calls with equal arguments would be taken for one."""
    with _lock:
        (child,) = _state.spawn(1)
    key.copyfrom(child.generate_state(2, np.uint32))
