"""Verifiers see operations before anything has counted their operands: text that leaves some out
is an error about the operation, not one of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakSet

__all__ = ["guard_verifiers"]


_GUARDED: WeakSet[Callable[[Any], bool]] = WeakSet()
"""What `_guarded` made: classes inherit it."""


def guard_verifiers(operations: Iterable[Any]) -> None:
    """Let the verifiers of operation classes report what the operation does not have."""
    for cls in operations:
        for name in ("verify_invariants", "verify_region_invariants"):
            verify = getattr(cls, name, None)
            if verify is not None and verify not in _GUARDED:
                setattr(cls, name, _guarded(verify))


def _guarded(verify: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        try:
            return verify(self)
        except (IndexError, KeyError) as error:
            op = self.operation
            op.location.emit_error(
                f"{op.name}: an operand, a result, a region or an attribute is missing ({error})"
            )
            return False

    check.__doc__ = verify.__doc__
    _GUARDED.add(check)
    return check
