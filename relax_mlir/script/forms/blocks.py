"""Blocks, their iteration variables, and the statements that describe a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class BlockForm:
    """`with T.block(name):`; the first TVMScript gave the axes with it,
    `with T.block([16, T.reduce_axis(0, 8)], name) as [vi, vk]:`."""

    name: str = ""
    axes: list[tuple[str, Any]] | None = None


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
        if not isinstance(kinds, str):
            raise TypeError(f"remap: the kinds are a string such as 'SSR', not {kinds!r}")
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


def block(
    name: Any = "", old_name: Any = False, exec_scope: Any = None, no_realize: bool = False
) -> BlockForm:
    """`T.block(name)`; `no_realize` and `exec_scope` are TVM's and change nothing."""
    del exec_scope, no_realize
    if isinstance(name, (list, tuple)):
        axes = [a if isinstance(a, OldAxis) else OldAxis("S", a) for a in name]
        return BlockForm(old_name or "", [(a.kind, a.domain) for a in axes])
    return BlockForm(name)


@dataclass
class OldAxis:
    """`T.reduce_axis(0, 8)` in a block's list of axes."""

    kind: str
    domain: Any


def _old_axis(kind: str) -> Any:
    def axis(begin: Any, end: Any = None) -> OldAxis:
        return OldAxis(kind, begin if end is None else (begin, end))

    return axis


reduce_axis, scan_axis, opaque_axis = (_old_axis(kind) for kind in "RDO")
range_axis = _old_axis("S")


@dataclass
class AxisBindingForm:
    """`T.bind(vi, i)`: the value that an axis of an old block takes."""

    axis: OpenAxis
    value: Any


@dataclass
class OpenAxis:
    """An axis of an old block, before `T.bind`."""

    name: str
    kind: str
    domain: Any


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
