"""Index expressions as numbers in a mixed radix: which boxes a nest covers without gaps.

A digit is `v // d % m` of a variable: the variable itself, or what fusing loops makes of it.
Digits of one variable are independent when they are apart; each then takes all its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from relax_mlir.mlir import ir
from relax_mlir.tir.schedule.index import (
    Atom,
    Index,
    Leaf,
    Monomial,
    proves_nonnegative,
    value_domain,
)


@dataclass(frozen=True)
class Digit:
    """`variable // divisor % modulus`; no modulus where None."""

    variable: ir.Value
    divisor: int
    modulus: int | None

    def size(self) -> Index | None:
        """How many values it takes, None when that is not known exactly."""
        if self.modulus is not None:
            return Index({}, self.modulus)
        domain = value_domain(self.variable)
        if domain is None:
            return None
        if self.divisor == 1:
            return domain[1]
        extent = domain[1].as_constant()
        exact = domain[0] == Index() and extent is not None and extent % self.divisor == 0
        return Index({}, extent // self.divisor) if exact and extent is not None else None


def digit_of(monomial: Monomial) -> Digit | None:
    """The digit that a term is, None for what is no digit."""
    return _digit(monomial[0]) if len(monomial) == 1 else None


def _digit(atom: Atom) -> Digit | None:
    if isinstance(atom, Leaf):
        return Digit(atom.value, 1, None)
    inner, c = atom.left, atom.right.as_constant()
    if c is None or c <= 0 or inner.constant or list(inner.terms.values()) != [1]:
        return None
    digit = digit_of(next(iter(inner.terms)))
    if digit is None:
        return None
    m = digit.modulus
    if atom.function == "mod" and (m is None or m % c == 0):
        return Digit(digit.variable, digit.divisor, c)
    if atom.function == "floordiv" and (m is None or m % c == 0):
        return Digit(digit.variable, digit.divisor * c, None if m is None else m // c)
    return None


def dense(offset: Index, size: Index, varies: Callable[[ir.Value], bool]) -> list[Digit] | None:
    """The varying digits of `offset`, when `[offset, offset + size)` leaves no gap as they run
    independently; None when it may."""
    digits: list[Digit] = []
    reach = size
    for monomial, k in sorted(offset.terms.items(), key=lambda term: abs(term[1])):
        if not any(varies(v) for v in Index({monomial: 1}).leaves()):
            continue
        digit = digit_of(monomial)
        count = None if digit is None else digit.size()
        if digit is None or count is None or _is_slanted(digit.variable, varies):
            return None
        if count == Index({}, 1):
            continue
        if not proves_nonnegative(reach - abs(k)):
            return None
        digits.append(digit)
        reach = reach + (count - 1) * abs(k)
    return digits


def _is_slanted(variable: ir.Value, varies: Callable[[ir.Value], bool]) -> bool:
    """Whether the range of a variable depends on others that vary: together they fill no box."""
    domain = value_domain(variable)
    return domain is not None and any(varies(v) for end in domain for v in end.leaves())


def independent(digits: Iterable[Digit]) -> bool:
    """True when the digits take every combination of their values."""
    by_variable: dict[ir.Value, list[Digit]] = {}
    for digit in digits:
        by_variable.setdefault(digit.variable, []).append(digit)
    return all(_apart(group) for group in by_variable.values())


def _apart(group: list[Digit]) -> bool:
    group = sorted(group, key=lambda digit: digit.divisor)
    for digit, following in pairwise(group):
        if digit.modulus is None or following.divisor % (digit.divisor * digit.modulus):
            return False
    last = group[-1]
    if last.modulus is None:
        return last.size() is not None
    domain = value_domain(last.variable)
    extent = None if domain is None or domain[0] != Index() else domain[1].as_constant()
    return extent is not None and extent % (last.divisor * last.modulus) == 0
