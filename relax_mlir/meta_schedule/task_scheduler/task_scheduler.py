"""The interface of task schedulers, and the loop of tuning that they share."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.meta_schedule.builder import Builder, BuilderInput, BuilderResult
from relax_mlir.meta_schedule.component import of_kind
from relax_mlir.meta_schedule.cost_model import CostModel
from relax_mlir.meta_schedule.database import Database
from relax_mlir.meta_schedule.logging import get_logger
from relax_mlir.meta_schedule.measure_callback import MeasureCallback
from relax_mlir.meta_schedule.measure_callback.callbacks import remove_artifact
from relax_mlir.meta_schedule.profiler import Profiler
from relax_mlir.meta_schedule.runner import Runner, RunnerFuture, RunnerInput, RunnerResult
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
from relax_mlir.meta_schedule.task_scheduler.task_record import (
    Batch,
    TaskRecord,
    table_of_tasks,
)
from relax_mlir.meta_schedule.task_scheduler.unscheduled import (
    confirmed_results,
    measure_unscheduled,
)
from relax_mlir.meta_schedule.tune_context import TuneContext

__all__ = ["PyTaskScheduler", "TaskScheduler"]


class TaskScheduler(ABC):
    """Divides the trials among tasks.  Users' own derive from `PyTaskScheduler` and define
    `next_task_id`."""

    def __init__(self) -> None:
        self.tasks: list[TaskRecord] = []
        self.database: Database | None = None
        self.cost_model: CostModel | None = None
        self.logger: logging.Logger = get_logger(__name__)
        self._callbacks: list[MeasureCallback] = []
        self._builder: Builder | None = None
        self._runner: Runner | None = None

    @abstractmethod
    def next_task_id(self) -> int:
        """The number of the task whose turn it is, -1 when all are terminated."""

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int,
        num_trials_per_iter: int,
        builder: Builder,
        runner: Runner,
        measure_callbacks: Sequence[MeasureCallback],
        database: Database | None,
        cost_model: CostModel | None,
    ) -> None:
        """Measure candidates of the tasks until the trials are used up; the measurement of each
        function as it is is not one of them."""
        if len(tasks) != len(task_weights):
            raise ValueError(f"{len(tasks)} tasks with {len(task_weights)} weights")
        self._builder, self._runner = builder, runner
        self._callbacks = list(measure_callbacks)
        self.database, self.cost_model = database, cost_model
        self.tasks = []
        try:
            for ctx, weight in zip(tasks, task_weights, strict=True):
                self._begin(ctx, weight, max_trials_per_task, num_trials_per_iter)
            self._use_trials(max_trials_global, max_trials_per_task)
            for task_id, task in enumerate(self.tasks):
                if task.running is not None:
                    self.join_running_task(task_id)
                if not task.is_terminated:
                    self.terminate_task(task_id)
        finally:
            for task in self.tasks:
                remove_artifact(task.unscheduled_artifact)
                task.ctx.post_tuning()

    def _begin(
        self, ctx: TuneContext, weight: float, max_trials: int, num_trials_per_iter: int
    ) -> None:
        self.logger.info("Initializing Task #%d: %s", len(self.tasks), ctx.task_name)
        task = TaskRecord.of(ctx, weight)
        ctx.logger.info("Task #%d: %s\n%s", len(self.tasks), ctx.task_name, ctx.mod)
        with Profiler.timeit("GenerateDesignSpace"):
            spaces = ctx.generate_design_space()
        for number, space in enumerate(spaces):
            ctx.logger.info("Design space #%d:\n%s", number, space.trace)
        ctx.pre_tuning(max_trials, num_trials_per_iter, spaces, self.database, self.cost_model)
        self.tasks.append(task)
        with Profiler.timeit("MeasureUnscheduled"):
            measure_unscheduled(task, self._the_builder(), self._the_runner(), self.database)

    def _use_trials(self, max_trials_global: int, max_trials_per_task: int) -> None:
        trials = 0
        while trials < max_trials_global:
            task_id = self.next_task_id()
            if task_id == -1:
                return
            task = self.tasks[task_id]
            if len(task.latencies) >= max_trials_per_task:
                self.terminate_task(task_id)
                continue
            with Profiler.timeit("GenerateMeasureCandidates"):
                candidates = task.ctx.generate_measure_candidates()
            if candidates is None:
                self.terminate_task(task_id)
                continue
            candidates = candidates[: max_trials_global - trials]
            trials += len(candidates)
            self.logger.info("Task #%d: %d candidates", task_id, len(candidates))
            task.running = self._send(task, candidates)

    # -- TVM's names of what callbacks look at -----------------------------------------------

    @property
    def tasks_(self) -> list[TaskRecord]:
        return self.tasks

    @property
    def database_(self) -> Database | None:
        return self.database

    @property
    def cost_model_(self) -> CostModel | None:
        return self.cost_model

    @property
    def measure_callbacks_(self) -> list[MeasureCallback]:
        return self._callbacks

    @property
    def remaining_tasks_(self) -> int:
        return sum(not task.is_terminated for task in self.tasks)

    # -- measuring --------------------------------------------------------------------------

    def _send(self, task: TaskRecord, candidates: list[MeasureCandidate]) -> Batch:
        """Build the candidates and give them to the runner."""
        target = task.ctx.target
        assert target is not None
        with Profiler.timeit("SendToBuilder"):
            inputs = [BuilderInput(candidate.sch.mod, target) for candidate in candidates]
            built = self._the_builder().build(inputs)
        with Profiler.timeit("SendToRunner"):
            ready = [
                RunnerInput(result.artifact_path, target.device_type, candidate.args_info)
                for candidate, result in zip(candidates, built, strict=True)
                if result.artifact_path is not None
            ]
            started = iter(self._the_runner().run(ready))
        futures = [
            _failed(result) if result.artifact_path is None else next(started) for result in built
        ]
        return Batch(candidates, built, futures)

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """The results of what runs of a task, waiting for them; callbacks are told."""
        task = self.tasks[task_id]
        batch = task.running
        if batch is None:
            raise ValueError(f"nothing of task {task_id} is running")
        with Profiler.timeit("JoinRunnerFutures"):
            results = [future.result() for future in batch.futures]
        with Profiler.timeit("Confirm"):
            results = confirmed_results(
                task, self._the_runner(), batch.candidates, batch.builder_results, results
            )
        task.ctx.notify_runner_results(batch.candidates, results)
        for callback in self._callbacks:
            callback.apply(self, task_id, batch.candidates, batch.builder_results, results)
        self._take_note(task_id, task, batch, results)
        task.running = None
        self.print_tuning_statistics()
        return results

    def _take_note(
        self, task_id: int, task: TaskRecord, batch: Batch, results: Sequence[RunnerResult]
    ) -> None:
        rows = zip(batch.candidates, batch.builder_results, results, strict=True)
        for candidate, built, result in rows:
            task.latencies.append(result.seconds)
            name = f"[Task #{task_id}: {task.ctx.task_name}] Trial #{len(task.latencies)}"
            if result.run_secs:
                task.ctx.logger.info(
                    "%s: %.4f us, best %.4f us", name, result.seconds * 1e6, task.best_secs * 1e6
                )
                continue
            task.build_error_count += built.error_msg is not None
            task.run_error_count += built.error_msg is None
            task.ctx.logger.info("%s: error:\n%s\n%s", name, result.error_msg, candidate.sch.trace)

    def touch_task(self, task_id: int) -> None:
        """Join what runs of a task if it is over."""
        running = self.tasks[task_id].running
        if running is not None and all(future.done() for future in running.futures):
            self.join_running_task(task_id)

    def terminate_task(self, task_id: int) -> None:
        """Try nothing more of a task."""
        task = self.tasks[task_id]
        if task.running is not None:
            self.join_running_task(task_id)
        task.is_terminated = True
        left = self.remaining_tasks_
        self.logger.info("Task #%d has finished. Remaining task(s): %d", task_id, left)
        self.print_tuning_statistics()

    def print_tuning_statistics(self) -> None:
        """Write the table of tasks to the log."""
        self.logger.info("\n%s", table_of_tasks(self.tasks))

    def _the_builder(self) -> Builder:
        assert self._builder is not None, "tune sets the builder"
        return self._builder

    def _the_runner(self) -> Runner:
        assert self._runner is not None, "tune sets the runner"
        return self._runner

    @staticmethod
    def create(kind: str = "gradient", *args: Any, **kwargs: Any) -> TaskScheduler:
        """A scheduler by its kind: "gradient" or "round-robin".

        Raises ValueError for another one.
        """
        from relax_mlir.meta_schedule import task_scheduler

        kinds: dict[str, Callable[..., TaskScheduler]] = {
            "gradient": task_scheduler.GradientBased,
            "round-robin": task_scheduler.RoundRobin,
        }
        return of_kind(kinds, kind, "task scheduler")(*args, **kwargs)


PyTaskScheduler = TaskScheduler
"""TVM's name of the class that users derive from."""


def _failed(built: BuilderResult) -> RunnerFuture:
    """The result of what was not built."""
    return RunnerFuture(lambda: True, lambda: RunnerResult(None, built.error_msg))
