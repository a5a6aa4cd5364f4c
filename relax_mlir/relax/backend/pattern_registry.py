"""Patterns by name, so that a pipeline finds those of a back end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relax_mlir.relax.fuse_by_pattern import FusionPattern

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]

_PATTERNS: list[FusionPattern] = []


def register_patterns(patterns: Iterable[Any]) -> None:
    """File patterns: FusionPatterns, or tuples (name, pattern[, annotations[, check]]).

    Of two that match at one place the one filed later is taken.  Raises TypeError for other things.
    """
    _PATTERNS.extend([FusionPattern.of(given) for given in patterns])


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names start with `prefix`, the one to prefer first."""
    return [pattern for pattern in reversed(_PATTERNS) if pattern.name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of that name filed last; None when there is none."""
    return next((pattern for pattern in reversed(_PATTERNS) if pattern.name == name), None)
