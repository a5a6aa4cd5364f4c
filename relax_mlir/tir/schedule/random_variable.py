"""Random variables: names for loops, blocks and integers that stay valid across primitives."""

from __future__ import annotations

from itertools import count

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


class ExprRV(RandomVariable):
    """An integer, as sampling makes them."""

    kind = "ExprRV"
    prefix = "v"


SBlockRV = BlockRV
"""TVM's name since blocks are called `sblock`."""
