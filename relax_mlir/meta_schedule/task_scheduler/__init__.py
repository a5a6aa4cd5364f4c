"""Schedulers of tasks."""

from relax_mlir.meta_schedule.task_scheduler.kinds import GradientBased, RoundRobin
from relax_mlir.meta_schedule.task_scheduler.task_record import TaskRecord, table_of_tasks
from relax_mlir.meta_schedule.task_scheduler.task_scheduler import PyTaskScheduler, TaskScheduler

__all__ = [
    "GradientBased",
    "PyTaskScheduler",
    "RoundRobin",
    "TaskRecord",
    "TaskScheduler",
    "create",
    "table_of_tasks",
]

create = TaskScheduler.create
