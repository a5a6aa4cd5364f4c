"""The interface of what is called after candidates were measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.meta_schedule.builder import BuilderResult
from relax_mlir.meta_schedule.component import of_kind
from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.task_scheduler import TaskScheduler

__all__ = ["MeasureCallback", "PyMeasureCallback"]


class MeasureCallback(ABC):
    """Called with each batch of measurements.  Users' own derive from `PyMeasureCallback`."""

    @abstractmethod
    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Take note of what was measured."""

    @staticmethod
    def create(kind: str = "default") -> list[MeasureCallback]:
        """The callbacks of a kind: "default".  Raises ValueError for another one."""
        from relax_mlir.meta_schedule.measure_callback import callbacks

        kinds = {
            "default": [
                callbacks.AddToDatabase,
                callbacks.RemoveBuildArtifact,
                callbacks.UpdateCostModel,
            ]
        }
        return [make() for make in of_kind(kinds, kind, "set of callbacks")]


PyMeasureCallback = MeasureCallback
"""TVM's name of the class that users derive from."""
