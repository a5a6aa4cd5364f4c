"""Lists of sizes that mix constants and values, stored as upstream stores them: a static array with
a marker for the dynamic entries, and the dynamic values as operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from relax_mlir.mlir import dynamic, ir


def split(entries: Iterable[int | ir.Value]) -> tuple[ir.Attribute, list[ir.Value]]:
    """The static array and the dynamic operands of a mixed list.  Raises ValueError for the number
    that marks what is dynamic."""
    static: list[int] = []
    values: list[ir.Value] = []
    for entry in entries:
        if isinstance(entry, int):
            if entry == dynamic():
                raise ValueError(f"an offset or a size of {entry} is out of range")
            static.append(entry)
        else:
            static.append(dynamic())
            values.append(entry)
    # As a plain Attribute: the op builders take an empty array, which is false, for a missing one.
    return ir.Attribute(ir.DenseI64ArrayAttr.get(static)), values


@lru_cache(maxsize=4096)
def _entries(static: ir.Attribute) -> tuple[int | None, ...]:
    """The entries of a static array, None for dynamic ones; attributes are unique in the context,
    and their bindings slow to iterate over."""
    marker = dynamic()
    try:
        sizes = ir.DenseI64ArrayAttr(static)
    except ValueError:
        raise IndexError(f"array<i64> is expected, not {static}") from None
    return tuple(None if size == marker else size for size in sizes)


def join(static: ir.Attribute, values: Sequence[ir.Value]) -> list[int | ir.Value]:
    """The mixed list behind a static array and its dynamic operands.  Raises IndexError when there
    are fewer operands than places for them, and for another attribute than such an array."""
    entries = _entries(static)
    if entries.count(None) > len(values):
        raise IndexError(f"{entries.count(None)} dynamic entries, {len(values)} values for them")
    remaining = iter(values)
    return [next(remaining) if size is None else size for size in entries]
