"""The interface of search strategies, and what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.errors import ScheduleError
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.arg_info import ArgInfo
from relax_mlir.meta_schedule.component import Component, of_kind
from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.tir.schedule import Schedule, Trace

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.cost_model import CostModel
    from relax_mlir.meta_schedule.database import Database
    from relax_mlir.meta_schedule.postproc import Postproc

__all__ = ["MeasureCandidate", "PySearchStrategy", "SearchStrategy", "apply_trace"]


@dataclass(frozen=True)
class MeasureCandidate:
    """A schedule to measure, and what the function takes."""

    sch: Schedule
    args_info: Sequence[ArgInfo]

    @staticmethod
    def of(sch: Schedule) -> MeasureCandidate:
        """The candidate of a schedule of a workload."""
        return MeasureCandidate(sch, ArgInfo.from_entry_func(sch.mod))


class SearchStrategy(Component, ABC):
    """Chooses which schedules of a design space are measured.

    Between `pre_tuning` and `post_tuning`, `generate_measure_candidates` and
    `notify_runner_results` take turns.  Users' own derive from `PySearchStrategy`.
    """

    @abstractmethod
    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin: at most `max_trials` candidates, `num_trials_per_iter` at a time."""

    @abstractmethod
    def post_tuning(self) -> None:
        """End; `pre_tuning` may follow again."""

    @abstractmethod
    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates; None when there are no more."""

    @abstractmethod
    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Learn how the candidates of last time did."""

    @staticmethod
    def create(kind: str = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """A strategy by its kind: "evolutionary", "replay-trace" or "replay-func".

        Raises ValueError for another one.
        """
        from relax_mlir.meta_schedule import search_strategy

        kinds: dict[str, Callable[..., SearchStrategy]] = {
            "evolutionary": search_strategy.EvolutionarySearch,
            "replay-trace": search_strategy.ReplayTrace,
            "replay-func": search_strategy.ReplayFunc,
        }
        return of_kind(kinds, kind, "search strategy")(*args, **kwargs)


PySearchStrategy = SearchStrategy
"""TVM's name of the class that users derive from."""


def apply_trace(
    mod: IRModule, trace: Trace, seed: int, postprocs: Sequence[Postproc]
) -> Schedule | None:
    """A module scheduled by a trace and postprocessors.

    None where an instruction is refused, as for a decision that does not fit, or a postprocessor
    rejects the schedule.
    """
    sch = Schedule(mod, seed=seed, error_render_level="fast")
    try:
        trace.apply_to_schedule(sch, remove_postproc=True)
        sch.enter_postproc()
        for postproc in postprocs:
            if not postproc.apply(sch):
                return None
    except ScheduleError:
        return None
    return sch
