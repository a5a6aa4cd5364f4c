"""Random choices: they draw from the schedule's random state, and the trace keeps what they drew.

Each returns `(results, decision)`; given a decision it makes that choice again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.mlir import ir
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.schedule.analysis import consumers, require_block
from relax_mlir.tir.schedule.error import Refusal, label
from relax_mlir.tir.schedule.index import as_index


def sample_categorical(
    rng: random.Random,
    candidates: Sequence[int],
    probs: Sequence[float],
    decision: int | None = None,
) -> tuple[int, int]:
    """One of the candidates; the decision is its position."""
    if len(candidates) != len(probs) or not candidates:
        raise Refusal(f"{len(candidates)} candidates with {len(probs)} probabilities")
    if decision is None:
        decision = rng.choices(range(len(candidates)), list(probs))[0]
    if not 0 <= decision < len(candidates):
        raise Refusal(f"decision {decision} is no position in {len(candidates)} candidates")
    return candidates[decision], decision


@lru_cache(maxsize=4096)
def perfect_tiles(extent: int, n: int, max_innermost: int) -> tuple[tuple[int, ...], ...]:
    """All ways to write `extent` as a product of `n` factors, the last at most `max_innermost`."""
    if n == 1:
        return ((extent,),) if max_innermost == -1 or extent <= max_innermost else ()
    found: list[tuple[int, ...]] = []
    for outer in range(1, extent + 1):
        if extent % outer == 0:
            found += [(outer, *rest) for rest in perfect_tiles(extent // outer, n - 1,
                                                               max_innermost)]  # fmt: skip
    return tuple(found)


def sample_perfect_tile(
    rng: random.Random,
    loop: ForOp,
    n: int,
    max_innermost_factor: int = 16,
    decision: Sequence[int] | None = None,
) -> tuple[list[int], list[int]]:
    """Factors of the loop's extent whose product is the extent, uniformly among all."""
    extent = as_index(loop.extent).as_constant()
    if extent is None:
        raise Refusal(f"the extent of {label(loop)} is not a constant", loop)
    if n < 1:
        raise Refusal(f"cannot make {n} factors", loop)
    if decision is not None:
        return _adapted(loop, list(decision), n, extent)
    tiles = perfect_tiles(extent, n, max_innermost_factor)
    if not tiles:
        raise Refusal(f"{extent} has no {n} factors with the innermost at most "
                      f"{max_innermost_factor}", loop)  # fmt: skip
    chosen = list(rng.choice(tiles))
    return chosen, chosen


def _adapted(loop: ForOp, decision: list[int], n: int, extent: int) -> tuple[list[int], list[int]]:
    """A decision for another extent keeps its inner factors as far as they divide, as in TVM."""
    if len(decision) != n:
        raise Refusal(f"the decision has {len(decision)} factors, {n} are asked for", loop)
    remaining = extent
    factors = list(decision)
    for position in range(n - 1, 0, -1):
        if factors[position] <= 0 or remaining % factors[position]:
            factors[position] = remaining
        remaining //= factors[position]
    factors[0] = remaining
    return factors, factors


def sample_partitioned_tile(
    rng: random.Random,
    loop: ForOp,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: Sequence[int] | None = None,
) -> tuple[list[int], list[int]]:
    """Perfect factors of which those from `partition_pos` on have a product that is a multiple of
    `innerpart_factor`."""
    extent = as_index(loop.extent).as_constant()
    if extent is None:
        raise Refusal(f"the extent of {label(loop)} is not a constant", loop)
    if decision is not None:
        return _adapted(loop, list(decision), n, extent)
    tiles = [t for t in perfect_tiles(extent, n, -1)
             if _product(t[partition_pos:]) % innerpart_factor == 0]  # fmt: skip
    if not tiles:
        raise Refusal(f"{extent} has no {n} factors with an inner part that is a multiple of "
                      f"{innerpart_factor}", loop)  # fmt: skip
    chosen = list(rng.choice(tiles))
    return chosen, chosen


def _product(factors: Sequence[int]) -> int:
    product = 1
    for factor in factors:
        product *= factor
    return product


def sample_compute_location(
    rng: random.Random, block: ir.OpView, decision: int | None = None
) -> tuple[ForOp, int]:
    """A loop of the block's consumer to compute the block at; the decision is its depth."""
    block = require_block(block)
    users = consumers(block)
    if not users:
        raise Refusal(f"nothing reads what {label(block)} writes", block)
    shared = nest.loops_around(users[0])
    for user in users[1:]:
        around = nest.loops_around(user)
        shared = [loop for loop in shared if loop in around]
    if not shared:
        raise Refusal(f"the consumers of {label(block)} share no loop", block)
    if decision is None or not 0 <= decision < len(shared):
        decision = rng.randrange(len(shared))
    return shared[decision], decision
