"""The callbacks of every run: records, files, the cost model."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.meta_schedule.builder import BuilderResult
from relax_mlir.meta_schedule.database import TuningRecord
from relax_mlir.meta_schedule.measure_callback.measure_callback import MeasureCallback
from relax_mlir.meta_schedule.runner import RunnerResult
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.task_scheduler import TaskScheduler

__all__ = ["AddToDatabase", "RemoveBuildArtifact", "UpdateCostModel", "remove_artifact"]

_FAILED = [1e10]
"""The seconds of a schedule that did not run, as TVM records them."""


class AddToDatabase(MeasureCallback):
    """Adds a record of each candidate to the database."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        database = task_scheduler.database
        context = task_scheduler.tasks[task_id].ctx
        if database is None or context.mod is None:
            return
        workload = database.commit_workload(context.mod)
        for candidate, result in zip(measure_candidates, runner_results, strict=True):
            database.commit_tuning_record(
                TuningRecord(
                    candidate.sch.trace.simplified(),
                    workload,
                    result.run_secs or _FAILED,
                    context.target,
                    candidate.args_info,
                )
            )


class RemoveBuildArtifact(MeasureCallback):
    """Removes the files of candidates."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        for result in builder_results:
            remove_artifact(result.artifact_path)


class UpdateCostModel(MeasureCallback):
    """Lets the cost model learn."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        model = task_scheduler.cost_model
        if model is not None:
            context = task_scheduler.tasks[task_id].ctx
            model.update(context, measure_candidates, runner_results)


def remove_artifact(path: str | None) -> None:
    """Remove the folder of a candidate's library, which nothing else is in."""
    if path is not None:
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
