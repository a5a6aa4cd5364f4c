"""Mutators of tile sizes, categories and locations."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from relax_mlir.meta_schedule.block_facts import num_cores
from relax_mlir.meta_schedule.mutator.mutator import Mutator
from relax_mlir.meta_schedule.schedule_rule.multi_level_tiling import COOPERATIVE_FETCH
from relax_mlir.meta_schedule.schedule_rule.parallel_vectorize_unroll import (
    PARALLEL,
    UNROLL_EXPLICIT,
    UNROLL_IMPLICIT,
)
from relax_mlir.tir.schedule import Instruction, Trace

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = [
    "MutateComputeLocation",
    "MutateParallel",
    "MutateThreadBinding",
    "MutateTileSize",
    "MutateUnroll",
]


def _random(rand_state: int) -> random.Random:
    return random.Random(None if rand_state == -1 else rand_state)


def _sampling(trace: Trace, kind: str) -> list[Instruction]:
    """The instructions of a kind that have decided something."""
    return [i for i in trace.insts if i.kind == kind and i.decision is not None]


def _annotates(instruction: Instruction, keys: Sequence[str]) -> bool:
    return instruction.kind == "annotate" and instruction.keywords.get("ann_key") in keys


def _feeding(trace: Trace, wanted: Callable[[Instruction], bool]) -> list[Instruction]:
    """The samplings of a category whose results some instructions use."""
    used = {variable for i in trace.insts if wanted(i) for variable in i.inputs}
    found = _sampling(trace, "sample_categorical")
    return [i for i in found if used.intersection(i.outputs) and len(i.keywords["candidates"]) > 1]


def _other_category(rng: random.Random, trace: Trace, choices: list[Instruction]) -> Trace | None:
    """The trace with another category chosen in one of some instructions, by probability."""
    if not choices:
        return None
    instruction = rng.choice(choices)
    others = [n for n in range(len(instruction.keywords["candidates"]))
              if n != instruction.decision]  # fmt: skip
    weights = [instruction.keywords["probs"][n] for n in others]
    chosen = rng.choices(others, weights if sum(weights) > 0 else None)[0]
    return trace.with_decision(instruction, chosen, remove_postproc=True)


class MutateTileSize(Mutator):
    """Moves a factor from one tile of a loop to another, or changes the elements that a thread
    copies at a time."""

    def apply(self, trace: Trace, rand_state: int = -1) -> Trace | None:
        rng = _random(rand_state)
        tiles = [i for i in _sampling(trace, "sample_perfect_tile")
                 if len(i.decision) > 1 and prod(i.decision) > 1]  # fmt: skip
        lanes = _feeding(trace, lambda i: _annotates(i, [COOPERATIVE_FETCH]))
        number = rng.randrange(len(tiles) + len(lanes)) if tiles or lanes else 0
        if number >= len(tiles):
            return _other_category(rng, trace, lanes)
        instruction = tiles[number]
        factors = _moved_factor(rng, list(instruction.decision), instruction.keywords)
        if factors is None:
            return None
        return trace.with_decision(instruction, factors, remove_postproc=True)


def _moved_factor(
    rng: random.Random, factors: list[int], keywords: dict[str, Any]
) -> list[int] | None:
    """The factors with a divisor of one given to another; None where the innermost one would be
    larger than it may."""
    from_, to = rng.sample(range(len(factors)), 2)
    if factors[from_] == 1:
        from_ = rng.choice([n for n, factor in enumerate(factors) if factor > 1])
        to = rng.choice([n for n in range(len(factors)) if n != from_])
    divisors = [d for d in range(2, factors[from_] + 1) if factors[from_] % d == 0]
    divisor = rng.choice(divisors)
    factors[from_] //= divisor
    factors[to] *= divisor
    most = keywords.get("max_innermost_factor", -1)
    return None if most not in (None, -1) and factors[-1] > most else factors


class MutateUnroll(Mutator):
    """Chooses another limit of unrolling."""

    def apply(self, trace: Trace, rand_state: int = -1) -> Trace | None:
        keys = [UNROLL_EXPLICIT, UNROLL_IMPLICIT]
        choices = _feeding(trace, lambda i: _annotates(i, keys))
        return _other_category(_random(rand_state), trace, choices)


class MutateThreadBinding(Mutator):
    """Chooses another number of threads."""

    def apply(self, trace: Trace, rand_state: int = -1) -> Trace | None:
        bound = {v for i in trace.insts if i.kind == "bind" for v in i.inputs}

        def makes_threads(i: Instruction) -> bool:
            return i.kind == "split" and bool(bound.intersection(i.outputs))

        return _other_category(_random(rand_state), trace, _feeding(trace, makes_threads))


class MutateComputeLocation(Mutator):
    """Chooses another loop to compute a block at."""

    def apply(self, trace: Trace, rand_state: int = -1) -> Trace | None:
        rng = _random(rand_state)
        choices = _sampling(trace, "sample_compute_location")
        if not choices:
            return None
        instruction = rng.choice(choices)
        # A depth that the loops do not have is drawn again when the trace is replayed.
        depths = [n for n in range(instruction.decision + 3) if n != instruction.decision]
        return trace.with_decision(instruction, rng.choice(depths), remove_postproc=True)


class MutateParallel(Mutator):
    """Chooses another limit of parallel iterations: the cores times a power of two up to
    `max_jobs_per_core`."""

    def __init__(self, max_jobs_per_core: int) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self._cores = 1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if context.target is not None:
            self._cores = num_cores(context.target)

    def apply(self, trace: Trace, rand_state: int = -1) -> Trace | None:
        rng = _random(rand_state)
        kept = trace.simplified(remove_postproc=True).insts
        found = [n for n, i in enumerate(kept) if _annotates(i, [PARALLEL])]
        if not found:
            return None
        number = rng.choice(found)
        jobs = [2**n for n in range(self.max_jobs_per_core.bit_length())]
        limits = [self._cores * n for n in jobs if n <= self.max_jobs_per_core]
        old = kept[number].keywords["ann_val"]
        others = [limit for limit in limits if limit != old]
        if not others:
            return None
        changed = kept[number].with_keywords(ann_val=rng.choice(others))
        return Trace([*kept[:number], changed, *kept[number + 1 :]])
