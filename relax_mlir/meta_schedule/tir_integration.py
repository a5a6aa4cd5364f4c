"""Tuning TensorIR functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.builder import Builder
from relax_mlir.meta_schedule.cost_model import CostModel
from relax_mlir.meta_schedule.database import Database
from relax_mlir.meta_schedule.measure_callback import MeasureCallback
from relax_mlir.meta_schedule.runner import Runner
from relax_mlir.meta_schedule.search_strategy import SearchStrategy
from relax_mlir.meta_schedule.space_generator import ScheduleFnType, SpaceGenerator
from relax_mlir.meta_schedule.task_scheduler import TaskScheduler
from relax_mlir.meta_schedule.tune import tune_tasks
from relax_mlir.meta_schedule.tune_context import contexts_of_tasks
from relax_mlir.meta_schedule.utils import normalize_mod
from relax_mlir.target import Target
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import Schedule

__all__ = ["compile_tir", "tune_tir"]


def tune_tir(
    mod: IRModule | PrimFunc,
    target: str | Target | dict[str, Any],
    work_dir: str,
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: Database | str = "json",
    cost_model: CostModel | str = "default",
    measure_callbacks: Sequence[MeasureCallback] | MeasureCallback | str = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    space: SpaceGenerator | ScheduleFnType | str = "post-order-apply",
    strategy: SearchStrategy | str = "evolutionary",
    num_tuning_cores: int | str = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: Mapping[str, SpaceGenerator | ScheduleFnType | str | None] | None = None,
    post_optimization: bool | None = False,
) -> Database:
    """Tune the TensorIR functions of a module, each as a task; the database with the records.

    `space` is a generator, its name, or a function that schedules; `special_space` has others for
    functions by name, None to leave one out.  The rest is as in `tune_tasks`.
    """
    functions = _functions(mod)
    spaces = {name: (special_space or {}).get(name, space) for name in sorted(functions)}
    tuned = {name: chosen for name, chosen in spaces.items() if chosen is not None}
    tasks = contexts_of_tasks(
        {name: functions[name] for name in tuned},
        tuned,
        target=target,
        work_dir=work_dir,
        strategy=strategy,
        num_threads=num_tuning_cores,
        seed=seed,
    )
    return tune_tasks(
        tasks=tasks,
        task_weights=[1.0] * len(tasks),
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        max_trials_per_task=max_trials_per_task,
        num_trials_per_iter=num_trials_per_iter,
        builder=builder,
        runner=runner,
        database=database,
        cost_model=cost_model,
        measure_callbacks=measure_callbacks,
        task_scheduler=task_scheduler,
        module_equality=module_equality,
        post_optimization=post_optimization,
    )


def _functions(mod: IRModule | PrimFunc) -> dict[str, PrimFunc]:
    """The TensorIR functions of a module by name; one alone is "main"."""
    module = normalize_mod(mod) if isinstance(mod, PrimFunc) else mod
    return {v.name_hint: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}


def compile_tir(
    database: Database, mod: IRModule | PrimFunc, target: Target | str
) -> Schedule | None:
    """A function with the best schedule of a database, None where it has no record.

    Where no schedule was faster than the function as it is, the schedule is empty.
    """
    return database.query_schedule(normalize_mod(mod), Target(target), workload_name="main")
