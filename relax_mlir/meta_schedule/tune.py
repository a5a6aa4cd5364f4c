"""Tuning some tasks."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.errors import Error
from relax_mlir.meta_schedule.builder import Builder
from relax_mlir.meta_schedule.cost_model import CostModel
from relax_mlir.meta_schedule.database import Database
from relax_mlir.meta_schedule.logging import scheduler_logger
from relax_mlir.meta_schedule.measure_callback import MeasureCallback
from relax_mlir.meta_schedule.runner import Runner
from relax_mlir.meta_schedule.task_scheduler import TaskScheduler
from relax_mlir.meta_schedule.tune_context import TuneContext
from relax_mlir.runtime import device

__all__ = ["tune_tasks"]


def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: Database | str = "json",
    cost_model: CostModel | str = "default",
    measure_callbacks: Sequence[MeasureCallback] | MeasureCallback | str = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    module_equality: str = "structural",
    post_optimization: bool | None = False,
) -> Database:
    """Tune tasks together; the database with what was measured.

    At most `max_trials_global` candidates are measured, `max_trials_per_task` of each task,
    `num_trials_per_iter` at a time; each function as it is besides.  Logs and a JSON database are
    in `work_dir`.  `post_optimization` (TVM's Droplet search after the last trial) is refused.

    Raises ValueError without tasks, and where weights are not as many; Error for a local runner
    and a target whose device is not here.
    """
    if not tasks:
        raise ValueError("No tasks to tune.")
    if len(tasks) != len(task_weights):
        raise ValueError(f"{len(tasks)} tasks with {len(task_weights)} weights")
    if post_optimization:
        raise ValueError("there is no post optimization; give the search more trials")
    cores = tasks[0].num_threads
    if isinstance(builder, str):
        builder = Builder.create(builder, max_workers=cores)
    if isinstance(runner, str):
        _require_device(tasks[0], runner)
        runner = Runner.create(runner, max_workers=cores)
    if isinstance(database, str):
        options = {"work_dir": work_dir} if database == "json" else {}
        database = Database.create(database, module_equality=module_equality, **options)
    if isinstance(cost_model, str):
        cost_model = CostModel.create(cost_model, num_tuning_cores=cores, tree_method="auto")
    if isinstance(task_scheduler, str):
        task_scheduler = TaskScheduler.create(task_scheduler)
    task_scheduler.logger = scheduler_logger(work_dir)
    task_scheduler.tune(
        tasks,
        [float(weight) for weight in task_weights],
        max_trials_global,
        max_trials_global if max_trials_per_task is None else max_trials_per_task,
        num_trials_per_iter,
        builder,
        runner,
        _callbacks(measure_callbacks),
        database,
        cost_model,
    )
    return database


def _require_device(task: TuneContext, runner: str) -> None:
    target = task.target
    if runner != "local" or target is None or device(target.device_type, 0).exist:
        return
    raise Error(
        f"there is no {target.device_type} device here to measure on",
        hint="give a runner of your own, derived from ms.runner.PyRunner, that measures elsewhere",
    )


def _callbacks(given: Sequence[MeasureCallback] | MeasureCallback | str) -> list[MeasureCallback]:
    if isinstance(given, str):
        return MeasureCallback.create(given)
    return [given] if isinstance(given, MeasureCallback) else list(given)
