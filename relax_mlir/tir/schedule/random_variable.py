"""Random variables: names for loops, blocks and integers that stay valid across primitives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

_NUMBERS = count()


class RandomVariable:
    """A handle of a schedule; what it stands for is in the schedule that made it."""

    kind = "RandomVariable"
    prefix = "v"

    def __init__(self) -> None:
        self.number = next(_NUMBERS)

    def __repr__(self) -> str:
        return f"tir.{self.kind}({self.number})"


class BlockRV(RandomVariable):
    """A block."""

    kind = "BlockRV"
    prefix = "b"


class LoopRV(RandomVariable):
    """A loop."""

    kind = "LoopRV"
    prefix = "l"


def _binary(name: str, swapped: bool = False) -> Callable[[ExprRV, Any], ExprRV]:
    def method(self: ExprRV, other: Any) -> ExprRV:
        if not isinstance(other, (int, ExprRV)):
            return NotImplemented
        return Arithmetic(name, (other, self) if swapped else (self, other))

    return method


class ExprRV(RandomVariable):
    """An integer, as sampling makes them, or integer arithmetic on such."""

    kind = "ExprRV"
    prefix = "v"

    __add__, __radd__ = _binary("+"), _binary("+", True)
    __sub__, __rsub__ = _binary("-"), _binary("-", True)
    __mul__, __rmul__ = _binary("*"), _binary("*", True)
    __floordiv__, __rfloordiv__ = _binary("//"), _binary("//", True)
    __mod__, __rmod__ = _binary("%"), _binary("%", True)

    def __neg__(self) -> ExprRV:
        return Arithmetic("-", (0, self))


FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
}


class Arithmetic(ExprRV):
    """A function of integers that are known when it is used."""

    def __init__(self, function: str, operands: Sequence[Any]):
        super().__init__()
        self.function = function
        self.operands = list(operands)

    def evaluate(self, operands: Sequence[int]) -> int:
        """The integer, given those of the operands.  ZeroDivisionError where there is none."""
        left, right = operands
        return FUNCTIONS[self.function](left, right)


SBlockRV = BlockRV
"""TVM's name since blocks are called `sblock`."""
