"""A task to tune, with all that tuning it takes."""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.cost_model import CostModel, RandomModel
from relax_mlir.meta_schedule.database import Database, MemoryDatabase
from relax_mlir.meta_schedule.logging import get_logger, get_loggers_from_work_dir
from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate, SearchStrategy
from relax_mlir.meta_schedule.space_generator import SpaceGenerator
from relax_mlir.meta_schedule.utils import cpu_count, fork_seed, initialize, normalize_mod
from relax_mlir.target import Target
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import Schedule

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.space_generator import ScheduleFnType

__all__ = ["TuneContext", "contexts_of_tasks"]


class TuneContext:
    """A workload with its target, the space of its schedules and the strategy that searches it.

    `rand_state` seeds all random choices, -1 by the system; `num_threads` is a number, "physical"
    or "logical".
    """

    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Target | str | dict[str, Any] | None = None,
        space_generator: SpaceGenerator | ScheduleFnType | str | None = None,
        search_strategy: SearchStrategy | str | None = None,
        task_name: str = "main",
        rand_state: int = -1,
        num_threads: int | str = "physical",
        logger: logging.Logger | None = None,
    ) -> None:
        self.mod = normalize_mod(mod) if isinstance(mod, PrimFunc) else mod
        self.target = None if target is None else Target(target)
        self.space_generator = _space(space_generator)
        self.search_strategy = _strategy(search_strategy)
        self.task_name = task_name
        self.rand_state = rand_state
        self.num_threads = _threads(num_threads)
        self.logger = logger or get_logger(__name__)
        self.initialize()

    def initialize(self) -> None:
        """Tell the generator with its rules, and the strategy, that they work for this task."""
        self._random = random.Random(None if self.rand_state == -1 else self.rand_state)
        if self.space_generator is not None:
            initialize(self.space_generator, self)
        if self.search_strategy is not None and self.space_generator is not None:
            initialize(self.search_strategy, self)

    def fork_seed(self) -> int:
        """A seed for a part of the task."""
        return self._random.randrange(1, 2**30)

    def generate_design_space(self) -> list[Schedule]:
        """The schedules of the task's space."""
        if self.mod is None:
            raise ValueError("the TuneContext has no mod")
        if self.space_generator is None:
            raise ValueError("the TuneContext has no space_generator")
        return self.space_generator.generate_design_space(self.mod)

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: Sequence[Schedule] | None = None,
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin the search; see `SearchStrategy.pre_tuning`."""
        spaces = self.generate_design_space() if design_spaces is None else design_spaces
        self._strategy().pre_tuning(
            max_trials,
            num_trials_per_iter,
            spaces,
            MemoryDatabase() if database is None else database,
            RandomModel() if cost_model is None else cost_model,
        )

    def post_tuning(self) -> None:
        """End the search."""
        self._strategy().post_tuning()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates; None when there are no more."""
        return self._strategy().generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Tell the strategy how candidates did."""
        self._strategy().notify_runner_results(measure_candidates, results)

    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise ValueError("the TuneContext has no search_strategy")
        return self.search_strategy

    def clone(self) -> TuneContext:
        """An independent copy: generator, rules and strategy are copied too."""
        made = copy.copy(self)
        if self.space_generator is not None:
            made.space_generator = self.space_generator.clone()
        if self.search_strategy is not None:
            made.search_strategy = self.search_strategy.clone()
        made.initialize()
        return made


def contexts_of_tasks(
    mods: Mapping[str, IRModule | PrimFunc],
    spaces: Mapping[str, SpaceGenerator | ScheduleFnType | str],
    *,
    target: Target | str | dict[str, Any],
    work_dir: str,
    strategy: SearchStrategy | str,
    num_threads: int | str,
    seed: int | None,
) -> list[TuneContext]:
    """A context for each workload, by the name of its task, with parts and a log of its own."""
    names = list(mods)
    loggers = get_loggers_from_work_dir(work_dir, names)
    return [
        TuneContext(
            mod=mods[name],
            target=target,
            space_generator=spaces[name],
            search_strategy=strategy,
            task_name=name,
            rand_state=rand_state,
            num_threads=num_threads,
            logger=logger,
        ).clone()
        for name, logger, rand_state in zip(
            names, loggers, fork_seed(seed, n=len(names)), strict=True
        )
    ]


def _space(given: SpaceGenerator | ScheduleFnType | str | None) -> SpaceGenerator | None:
    if given is None or isinstance(given, SpaceGenerator):
        return given
    return SpaceGenerator.create(given)


def _strategy(given: SearchStrategy | str | None) -> SearchStrategy | None:
    if given is None or isinstance(given, SearchStrategy):
        return given
    return SearchStrategy.create(given)


def _threads(given: int | str) -> int:
    if isinstance(given, int):
        return given
    if given not in ("physical", "logical"):
        raise ValueError(f'num_threads is a number, "physical" or "logical", not "{given}"')
    return cpu_count(logical=given == "logical")
