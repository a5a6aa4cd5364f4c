"""Evolutionary search: what did well is changed a little, and a model says what is worth trying."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.arg_info import ArgInfo
from relax_mlir.meta_schedule.module_equality import module_key
from relax_mlir.meta_schedule.profiler import Profiler
from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.meta_schedule.search_strategy.search_strategy import (
    MeasureCandidate,
    SearchStrategy,
    apply_trace,
)
from relax_mlir.tir.schedule import Schedule, Trace

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.cost_model import CostModel
    from relax_mlir.meta_schedule.database import Database, Workload
    from relax_mlir.meta_schedule.mutator import Mutator
    from relax_mlir.meta_schedule.postproc import Postproc
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["EvolutionarySearch"]

_EMPTY_ROUNDS = 5
"""The search is over after so many rounds that find nothing new."""


@dataclass
class _Search:
    """The state of one task's search."""

    max_trials: int
    num_trials_per_iter: int
    traces: list[Trace]
    database: Database
    cost_model: CostModel
    workload: Workload
    measured: set[str]
    done: int = 0
    empty_rounds: int = 0


class EvolutionarySearch(SearchStrategy):
    """Keeps a population of schedules: the best ones measured and such with random decisions.

    For `genetic_num_iters` generations each member is replaced by a mutation of one that the cost
    model likes, with the probability `genetic_mutate_prob`; the best of all generations are
    measured, and a part `eps_greedy` of random ones.  The defaults are a fraction of TVM's, which
    replays traces natively: one replay is some milliseconds here.
    """

    def __init__(
        self,
        *,
        population_size: int = 64,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 8,
        max_fail_count: int = 5,
        genetic_num_iters: int = 4,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ) -> None:
        self.population_size = population_size
        self.init_measured_ratio = init_measured_ratio
        self.init_min_unmeasured = init_min_unmeasured
        self.max_fail_count = max_fail_count
        self.genetic_num_iters = genetic_num_iters
        self.genetic_mutate_prob = genetic_mutate_prob
        self.genetic_max_fail_count = genetic_max_fail_count
        self.eps_greedy = eps_greedy
        self._search: _Search | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        space = context.space_generator
        if context.mod is None or space is None:
            raise ValueError("the TuneContext of a search strategy needs mod and space_generator")
        self._context = context
        self._mod: IRModule = context.mod
        self._args_info = ArgInfo.from_entry_func(context.mod)
        self._random = random.Random(context.fork_seed())
        self._postprocs: Sequence[Postproc] = space.postprocs or []
        self._mutators: dict[Mutator, float] = space.mutator_probs or {}
        self._search = None

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        if not design_spaces:
            raise ValueError("there is no design space to search")
        if database is None or cost_model is None:
            raise ValueError(
                "evolutionary search needs a database, such as MemoryDatabase(), and a cost model, "
                "such as RandomModel()"
            )
        if self._search is not None:
            raise ValueError("pre_tuning was called before; call post_tuning first")
        traces = [space.trace.simplified(remove_postproc=True) for space in design_spaces]
        workload = database.commit_workload(self._mod)
        # The workload as it is was measured first.
        measured = {module_key(self._mod)}
        self._search = _Search(
            max_trials, num_trials_per_iter, traces, database, cost_model, workload, measured
        )

    def post_tuning(self) -> None:
        if self._search is None:
            raise ValueError("post_tuning without pre_tuning")
        self._search = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        search = self._begun()
        number = min(search.num_trials_per_iter, search.max_trials - search.done)
        if number <= 0:
            return None
        # A few trials do not need the whole population.
        size = min(self.population_size, 8 * number)
        with Profiler.timeit("EvoSearch/PickBestFromDatabase"):
            measured = self._best_measured(search, int(size * self.init_measured_ratio))
        with Profiler.timeit("EvoSearch/SampleInitPopulation"):
            unmeasured = self._sampled(search, max(size - len(measured), self.init_min_unmeasured))
        if not unmeasured:
            self._context.logger.warning("no schedule of the design space is legal")
            return None
        with Profiler.timeit("EvoSearch/Evolve"):
            bests = self._evolved(search, [*measured, *unmeasured], number)
        picked = self._picked(search, unmeasured, bests, number)
        if not picked:
            search.empty_rounds += 1
            if search.empty_rounds >= _EMPTY_ROUNDS:
                return None
        return [MeasureCandidate(sch, self._args_info) for sch in picked]

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        self._begun().done += len(results)

    def _begun(self) -> _Search:
        if self._search is None:
            raise ValueError("call pre_tuning first")
        return self._search

    # -- the population ---------------------------------------------------------------------

    def _replayed(self, trace: Trace) -> Schedule | None:
        return apply_trace(self._mod, trace, self._random.randrange(1, 2**30), self._postprocs)

    def _best_measured(self, search: _Search, number: int) -> list[Schedule]:
        """The fastest schedules that were measured before, also by an earlier run."""
        records = [r for r in search.database.get_top_k(search.workload, number) if r.is_scheduled]
        schedules = (self._replayed(record.trace) for record in records)
        return [sch for sch in schedules if sch is not None]

    def _sampled(self, search: _Search, number: int) -> list[Schedule]:
        """Schedules of the design space with random decisions."""
        found: list[Schedule] = []
        for _ in range(self.max_fail_count):
            for _ in range(number - len(found)):
                sch = self._replayed(Trace(self._random.choice(search.traces).insts, {}))
                if sch is not None:
                    found.append(sch)
            if len(found) >= number:
                break
        return found

    def _evolved(self, search: _Search, population: list[Schedule], number: int) -> list[Schedule]:
        """The schedules that the cost model likes most, of all generations."""
        seen = set(search.measured)
        best: list[tuple[float, int, Schedule]] = []
        count = 0
        for generation in range(self.genetic_num_iters + 1):
            scores = self._scores(search, population)
            for sch, score in zip(population, scores, strict=True):
                key = module_key(sch.mod)
                if key not in seen:
                    seen.add(key)
                    count += 1
                    heapq.heappush(best, (float(score), -count, sch))
                    if len(best) > number:
                        heapq.heappop(best)
            if generation < self.genetic_num_iters:
                population = self._next_generation(population, scores)
        return [sch for _, _, sch in sorted(best, key=lambda item: item[:2], reverse=True)]

    def _scores(self, search: _Search, population: Sequence[Schedule]) -> np.ndarray:
        candidates = [MeasureCandidate(sch, self._args_info) for sch in population]
        scores = search.cost_model.predict(self._context, candidates)
        return np.clip(np.nan_to_num(np.asarray(scores, np.float64)), 0.0, None)

    def _next_generation(
        self, population: Sequence[Schedule], scores: np.ndarray
    ) -> list[Schedule]:
        weights = list(scores) if scores.sum() > 0 else [1.0] * len(population)
        kept: set[int] = set()
        made: list[Schedule] = []
        for _ in population:
            made.append(self._offspring(population, weights, kept))
        return made

    def _offspring(
        self, population: Sequence[Schedule], weights: Sequence[float], kept: set[int]
    ) -> Schedule:
        """A mutation of a member chosen by its score, or that member itself once."""
        chosen = 0
        for _ in range(self.genetic_max_fail_count + 1):
            chosen = self._random.choices(range(len(population)), weights)[0]
            if not self._mutators or self._random.random() >= self.genetic_mutate_prob:
                if chosen in kept:
                    continue
                kept.add(chosen)
                break
            mutated = self._mutated(population[chosen])
            if mutated is not None:
                return mutated
        return population[chosen]

    def _mutated(self, sch: Schedule) -> Schedule | None:
        mutators, probabilities = zip(*self._mutators.items(), strict=True)
        mutator = self._random.choices(mutators, probabilities)[0]
        trace = mutator.apply(sch.trace, self._random.randrange(1, 2**30))
        return None if trace is None else self._replayed(trace)

    def _picked(
        self,
        search: _Search,
        unmeasured: Sequence[Schedule],
        bests: Sequence[Schedule],
        number: int,
    ) -> list[Schedule]:
        """New schedules to measure: the best, and some at random."""
        number_random = int(number * self.eps_greedy)
        shuffled = self._random.sample(list(unmeasured), len(unmeasured))
        order = [*bests[: number - number_random], *shuffled, *bests[number - number_random :]]
        picked: list[Schedule] = []
        for sch in order:
            key = module_key(sch.mod)
            if key not in search.measured and len(picked) < number:
                search.measured.add(key)
                picked.append(sch)
        return picked
