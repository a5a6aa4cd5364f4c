"""Strategies without memory: schedules of the space, decided at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.errors import ScheduleError
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.meta_schedule.search_strategy.search_strategy import (
    MeasureCandidate,
    SearchStrategy,
    apply_trace,
)
from relax_mlir.tir.schedule import Schedule, Trace

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.cost_model import CostModel
    from relax_mlir.meta_schedule.database import Database
    from relax_mlir.meta_schedule.postproc import Postproc
    from relax_mlir.meta_schedule.space_generator import SpaceGenerator
    from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["ReplayFunc", "ReplayTrace"]


@dataclass
class _Progress:
    """How far a task's tuning is."""

    max_trials: int
    num_trials_per_iter: int
    traces: list[Trace]
    done: int = 0

    def next_number(self) -> int:
        return min(self.num_trials_per_iter, self.max_trials - self.done)


class _Replay(SearchStrategy):
    """What both strategies share: counting, and trying until enough schedules are legal."""

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count
        self._progress: _Progress | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if context.mod is None or context.space_generator is None:
            raise ValueError("the TuneContext of a search strategy needs mod and space_generator")
        self._random = random.Random(context.fork_seed())
        self._mod: IRModule = context.mod
        self._space: SpaceGenerator = context.space_generator
        self._postprocs: Sequence[Postproc] = context.space_generator.postprocs or []
        self._progress = None

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
        if self._progress is not None:
            raise ValueError("pre_tuning was called before; call post_tuning first")
        traces = [space.trace.simplified(remove_postproc=True) for space in design_spaces]
        self._progress = _Progress(max_trials, num_trials_per_iter, traces)

    def post_tuning(self) -> None:
        if self._progress is None:
            raise ValueError("post_tuning without pre_tuning")
        self._progress = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        progress = self._begun()
        if progress.done >= progress.max_trials:
            return None
        found: list[MeasureCandidate] = []
        for _ in range(progress.next_number()):
            tries = (self._try(progress) for _ in range(self.max_fail_count))
            sch = next((sch for sch in tries if sch is not None), None)
            if sch is not None:
                found.append(MeasureCandidate.of(sch))
        return found

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        progress = self._begun()
        progress.done += progress.num_trials_per_iter

    def _begun(self) -> _Progress:
        if self._progress is None:
            raise ValueError("call pre_tuning first")
        return self._progress

    def _try(self, progress: _Progress) -> Schedule | None:
        """A schedule of the space, None for one that is not legal."""
        trace = Trace(self._choose_trace(progress).insts, {})
        return apply_trace(self._mod, trace, self._random.randrange(1, 2**30), self._postprocs)

    def _choose_trace(self, progress: _Progress) -> Trace:
        return self._random.choice(progress.traces)


class ReplayTrace(_Replay):
    """Runs the traces of the design space again, with new decisions.

    A decision that is refused is drawn again, up to `max_fail_count` times.
    """


class ReplayFunc(_Replay):
    """Generates the design space again for each candidate, with another seed, and takes one of its
    schedules: for generators that decide in Python."""

    def __init__(self) -> None:
        super().__init__()

    def _try(self, progress: _Progress) -> Schedule | None:
        try:
            space = self._space.generate_design_space(self._mod, self._random.randrange(1, 2**30))
        except ScheduleError:
            return None
        if not space:
            return None
        sch = self._random.choice(space)
        sch.enter_postproc()
        try:
            accepted = all(postproc.apply(sch) for postproc in self._postprocs)
        except ScheduleError:
            return None
        return sch if accepted else None
