"""Long sums in blocks.

The rounding errors of a sum of terms added one after the other grow with the square root of its
length: float32 sums of 4608 terms, a 3x3 convolution of 512 channels, had 1e-6 of the result, in
blocks of 64 2e-7.  So register tiles add up a block from zero, then add that to the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from relax_mlir.lowering.linalg_to_vector.builder import Builder, Index
from relax_mlir.mlir import ir

__all__ = ["blocked_sum", "longest_of_transformed", "summation_block"]

_LONGEST = 64
# Blocks of this length cost 6 % of the time of a network, and take two fifths off its error.
_SHORTEST_OF_TRANSFORMED = 16


def summation_block(terms: int, longest: int = _LONGEST) -> int:
    """How many terms of a sum to add up at once: equal blocks of about `longest`."""
    return -(-terms // max(1, round(terms / longest)))


def longest_of_transformed(channels: int) -> int:
    """How many products of Winograd's algorithms to add up at once, of so many channels: the
    transform of the output enlarges their errors, so that blocks are shorter than others."""
    return max(_SHORTEST_OF_TRANSFORMED, isqrt(channels))


def blocked_sum(
    b: Builder,
    terms: int,
    values: list[ir.Value],
    empty: ir.Value,
    step: Callable[[Index, list[ir.Value]], list[ir.Value]],
    add: Callable[[ir.Value, ir.Value], ir.Value],
    longest: int = _LONGEST,
) -> list[ir.Value]:
    """`values` with `terms` more terms each, which `step(position, sums)` adds to sums.

    empty: what sums begin with.  longest: about so many terms are a block.  The values wait in
    memory while a block is summed: there are more than registers, and LLVM spills those that a loop
    does not need.
    """
    block = summation_block(terms, longest)

    def one_block(low: Index, carried: list[ir.Value]) -> list[ir.Value]:
        high = b.minimum(b.add(low, block), terms)
        sums = b.carried_loop(low, high, 1, [empty] * len(carried), step)
        return [add(x, y) for x, y in zip(carried, sums, strict=True)]

    return b.carried_loop(0, terms, block, values, one_block)
