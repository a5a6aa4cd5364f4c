"""A stable sort of the lines of a buffer: a radix sort, by insertion where lines are short.

Elements become unsigned keys whose order is theirs; NaN is the largest value, whatever its sign,
and the two zeros are equal.  A pass distributes keys and positions by one byte of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.tir import intrinsics as I
from relax_mlir.tir import operators as O
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.imperative import Line, every

SHORT = 48
"""Lines up to this size are sorted by insertion."""
_DIGITS = 256


def sort_key(value: PrimExpr, descending: bool) -> PrimExpr:
    """An unsigned integer of the value's width, in its order (in reverse when descending)."""
    dtype = value.dtype
    bits = max(8, dtypes.bits(dtype))
    unsigned, signed = f"uint{bits}", f"int{bits}"
    if dtypes.is_float(dtype):
        zero = O.const(0, dtype)
        plain = O.select(O.equal(value, zero), zero, value)
        raw = I.reinterpret(signed, plain)
        # All ones below the sign of a negative number: larger magnitudes come first.
        flip = O.shift_right(raw, O.const(bits - 1, signed))
        raw = O.bitwise_xor(raw, O.bitwise_and(flip, O.const(2 ** (bits - 1) - 1, signed)))
        raw = O.select(I.isnan(value), O.const(2 ** (bits - 1) - 1, signed), raw)
        key = O.bitwise_xor(I.reinterpret(unsigned, raw), O.const(2 ** (bits - 1), unsigned))
    elif dtype.startswith("int"):
        key = O.bitwise_xor(I.reinterpret(unsigned, value), O.const(2 ** (bits - 1), unsigned))
    else:
        key = O.cast(unsigned, value)
    return O.bitwise_xor(key, O.const(2**bits - 1, unsigned)) if descending else key


def key_value(key: PrimExpr, dtype: str, descending: bool) -> PrimExpr:
    """The value of a key; of a NaN some NaN, of a zero the positive one."""
    bits = max(8, dtypes.bits(dtype))
    unsigned, signed = f"uint{bits}", f"int{bits}"
    if descending:
        key = O.bitwise_xor(key, O.const(2**bits - 1, unsigned))
    if dtype == "bool" or dtype.startswith("uint"):
        return O.cast(dtype, key)
    raw = I.reinterpret(signed, O.bitwise_xor(key, O.const(2 ** (bits - 1), unsigned)))
    if not dtypes.is_float(dtype):
        return O.cast(dtype, raw)
    flip = O.shift_right(raw, O.const(bits - 1, signed))
    raw = O.bitwise_xor(raw, O.bitwise_and(flip, O.const(2 ** (bits - 1) - 1, signed)))
    return I.reinterpret(dtype, raw)


class LineSort:
    """Sorts one line at a time.  Afterwards `order` holds the sorted positions, and `keys` the
    sorted keys; without `positions` only the latter."""

    def __init__(
        self,
        build: PrimFuncBuilder,
        dtype: str,
        size: Any,
        descending: bool,
        positions: bool = True,
    ):
        self._build = build
        self._descending = descending
        self._bytes = max(8, dtypes.bits(dtype)) // 8
        key = f"uint{8 * self._bytes}"
        room = [O.max(O.cast("int64", size), O.const(1, "int64"))]
        self._keys = [build.alloc_buffer(name, room, key) for name in ("keys", "moved_keys")]
        self.keys = self._keys[0]
        self._positions = positions
        self._orders = [
            build.alloc_buffer(name, room if positions else [O.const(1, "int64")], "int32")
            for name in ("order", "moved")
        ]
        counts = [O.const(self._bytes, "int64"), O.const(_DIGITS, "int64")]
        self._counts = build.alloc_buffer("counts", counts, "int64")
        self._at = build.alloc_buffer("at", [O.const(1, "int64")], "int64")
        self.order = self._orders[0]

    def sort(self, line: Line, element: Callable[[Any], PrimExpr]) -> None:
        """Sort the elements `element(0)`, `element(1)`, ... of a line."""
        build, size = self._build, line.size
        with build.for_("serial", 0, size, "i", "int64") as i:
            build.store(self._keys[0], sort_key(element(i), self._descending), [i])
            if self._positions:
                build.store(self.order, i, [i])
        with build.if_(O.less_equal(size, SHORT)):
            self._insert(size)
        with build.else_():
            self._count(size)
            for digit in range(self._bytes):
                self._distribute(digit, size)
            if self._bytes % 2:
                with build.for_("serial", 0, size, "i", "int64") as i:
                    build.store(self.keys, self._keys[1][i], [i])
                    if self._positions:
                        build.store(self.order, self._orders[1][i], [i])

    def _insert(self, size: PrimExpr) -> None:
        build, keys, order, at = self._build, self._keys[0], self.order, self._at
        with build.for_("serial", 1, O.max(O.subtract(size, 1), 0), "i", "int64") as i:
            key = build.let("key", keys[i])
            place = build.let("place", order[i]) if self._positions else None
            build.store(at, i, [0])
            before = O.max(O.subtract(at[0], 1), O.const(0, "int64"))
            with build.while_(I.all(O.less(0, at[0]), O.less(key, keys[before]))):
                build.store(keys, keys[O.subtract(at[0], 1)], [at[0]])
                if place is not None:
                    build.store(order, order[O.subtract(at[0], 1)], [at[0]])
                build.store(at, O.subtract(at[0], 1), [0])
            build.store(keys, key, [at[0]])
            if place is not None:
                build.store(order, place, [at[0]])

    def _digit(self, key: PrimExpr, digit: int) -> PrimExpr:
        shifted = O.shift_right(key, O.const(8 * digit, key.dtype)) if digit else key
        return O.cast("int64", O.bitwise_and(shifted, O.const(_DIGITS - 1, key.dtype)))

    def _count(self, size: PrimExpr) -> None:
        """How many keys have each value of each byte, then where the first of them goes."""
        build, counts, at = self._build, self._counts, self._at
        with ExitStack() as nest:
            build.store(counts, O.const(0, "int64"), every(build, counts.shape, nest, "d"))
        with build.for_("serial", 0, size, "i", "int64") as i:
            key = build.let("key", self._keys[0][i])
            for digit in range(self._bytes):
                value = build.let("digit", self._digit(key, digit))
                build.store(counts, O.add(counts[digit, value], 1), [digit, value])
        with build.for_("serial", 0, self._bytes, "b", "int64") as b:
            build.store(at, O.const(0, "int64"), [0])
            with build.for_("serial", 0, _DIGITS, "d", "int64") as d:
                count = build.let("count", counts[b, d])
                build.store(counts, at[0], [b, d])
                build.store(at, O.add(at[0], count), [0])

    def _distribute(self, digit: int, size: PrimExpr) -> None:
        build, counts = self._build, self._counts
        source, target = digit % 2, 1 - digit % 2
        with build.for_("serial", 0, size, "i", "int64") as i:
            key = build.let("key", self._keys[source][i])
            value = build.let("digit", self._digit(key, digit))
            place = build.let("place", counts[digit, value])
            build.store(self._keys[target], key, [place])
            if self._positions:
                build.store(self._orders[target], self._orders[source][i], [place])
            build.store(counts, O.add(place, 1), [digit, value])
