"""Blocks, their iteration variables, and the statements that describe a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class BlockForm:
    """`with T.block(name):`."""

    name: str = ""


@dataclass
class InitForm:
    """`with T.init():`."""


@dataclass
class AxisForm:
    """Iteration variables: kinds ("S", "R", "O", "D"), domains (None: that of the loop whose
    variable is the binding) and bindings.  `many` tells `remap` from a single axis."""

    kinds: list[str]
    domains: list[Any]
    bindings: list[Any]
    dtype: str | None = None
    many: bool = False


class Axes:
    """`T.axis`: the kinds of iteration variables."""

    @staticmethod
    def spatial(dom: Any, binding: Any, dtype: str | None = None) -> AxisForm:
        """A variable over which the block is parallel; `dom` is a size or `(start, stop)`."""
        return AxisForm(["S"], [dom], [binding], dtype)

    @staticmethod
    def reduce(dom: Any, binding: Any, dtype: str | None = None) -> AxisForm:
        """A variable over which the block reduces."""
        return AxisForm(["R"], [dom], [binding], dtype)

    @staticmethod
    def scan(dom: Any, binding: Any, dtype: str | None = None) -> AxisForm:
        """A variable that must run in order."""
        return AxisForm(["D"], [dom], [binding], dtype)

    @staticmethod
    def opaque(dom: Any, binding: Any, dtype: str | None = None) -> AxisForm:
        """A variable about which nothing is known."""
        return AxisForm(["O"], [dom], [binding], dtype)

    S = spatial
    R = reduce

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Any], dtype: str | None = None) -> AxisForm:
        """Variables that take the values of loop variables, `remap("SSR", [i, j, k])`."""
        values = list(bindings) if isinstance(bindings, (list, tuple)) else [bindings]
        if len(kinds) != len(values):
            raise ValueError(f"remap: {len(kinds)} kinds in {kinds!r}, {len(values)} bindings")
        unknown = [kind for kind in kinds if kind not in _REMAP]
        if unknown:
            raise ValueError(f"remap: kind {unknown[0]!r} is none of {', '.join(_REMAP)}")
        return AxisForm([_REMAP[k] for k in kinds], [None] * len(values), values, dtype, many=True)


# TVM's remap has "O" for ordered, which is `T.axis.scan`.
_REMAP = {"S": "S", "R": "R", "O": "D"}


@dataclass
class AccessForm:
    """`T.reads(...)` (`writes` False) or `T.writes(...)`."""

    regions: list[Any]
    writes: bool


@dataclass
class WhereForm:
    """`T.where(predicate)`."""

    predicate: Any


@dataclass
class BlockAttrForm:
    """`T.block_attr({...})`."""

    annotations: Mapping[str, Any]


def block(name: str = "", no_realize: bool = False, exec_scope: Any = None) -> BlockForm:
    """`T.block(name)`; `no_realize` and `exec_scope` are TVM's and change nothing."""
    del no_realize, exec_scope
    return BlockForm(name)


def init() -> InitForm:
    """`T.init()`: runs when the reduction starts."""
    return InitForm()


def reads(*regions: Any) -> AccessForm:
    """The regions a block reads: `T.reads(A[i, 0:4], B)` or one list."""
    return AccessForm(_flat(regions), writes=False)


def writes(*regions: Any) -> AccessForm:
    """The regions a block writes."""
    return AccessForm(_flat(regions), writes=True)


def where(predicate: Any) -> WhereForm:
    """The block runs only where `predicate` holds."""
    return WhereForm(predicate)


def block_attr(annotations: Mapping[str, Any]) -> BlockAttrForm:
    """Annotations of a block."""
    return BlockAttrForm(annotations)


def _flat(regions: tuple[Any, ...]) -> list[Any]:
    if len(regions) == 1 and isinstance(regions[0], (list, tuple)):
        return list(regions[0])
    return list(regions)
