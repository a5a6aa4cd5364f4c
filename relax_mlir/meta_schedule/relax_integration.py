"""Tuning the TensorIR functions of Relax programs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.functions import callee_of, relax_functions, walk
from relax_mlir.meta_schedule.arg_info import ArgInfo
from relax_mlir.meta_schedule.builder import Builder
from relax_mlir.meta_schedule.cost_model import CostModel
from relax_mlir.meta_schedule.database import Database
from relax_mlir.meta_schedule.extracted_task import ExtractedTask
from relax_mlir.meta_schedule.logging import get_logger
from relax_mlir.meta_schedule.measure_callback import MeasureCallback
from relax_mlir.meta_schedule.module_equality import module_key
from relax_mlir.meta_schedule.runner import Runner
from relax_mlir.meta_schedule.search_strategy import SearchStrategy
from relax_mlir.meta_schedule.space_generator import ScheduleFnType, SpaceGenerator
from relax_mlir.meta_schedule.task_scheduler import TaskScheduler
from relax_mlir.meta_schedule.tune import tune_tasks
from relax_mlir.meta_schedule.tune_context import TuneContext, contexts_of_tasks
from relax_mlir.meta_schedule.utils import block_names, normalize_mod
from relax_mlir.runtime.executable import VMExecutable
from relax_mlir.target import Target
from relax_mlir.tir.function import PrimFunc

__all__ = ["compile_relax", "extract_tasks", "extracted_tasks_to_tune_contexts", "tune_relax"]

_logger = get_logger(__name__)


def extract_tasks(
    mod: IRModule | BaseFunc,
    target: Target | str | dict[str, Any],
    params: Mapping[str, Any] | None = None,
    module_equality: str = "structural",
) -> list[ExtractedTask]:
    """The TensorIR functions that a program calls by `call_tir`, equal ones once.

    The weight is the number of calls; of equal functions the one with the fewest blocks is taken.
    Functions that cannot be measured (symbolic sizes, scalar parameters) are left out, with a note
    in the log.  `params` are bound to the parameters of `main` first.
    """
    module = _bound(mod, params)
    with mlir.scope():
        calls = Counter(
            callee_of(op)
            for function in relax_functions(module.state)
            for op in walk(function)
            if op.name == "relax.call_tir"
        )
    found: dict[str, ExtractedTask] = {}
    for name, weight in calls.items():
        function = module[name]
        if not isinstance(function, PrimFunc) or not _is_measurable(name, function):
            continue
        workload = normalize_mod(function)
        task = ExtractedTask(name, workload, Target(target), [workload], weight)
        key = module_key(workload, module_equality)
        found[key] = _merged(found[key], task) if key in found else task
    return list(found.values())


def _bound(mod: IRModule | BaseFunc, params: Mapping[str, Any] | None) -> IRModule:
    from relax_mlir.relax.transform import BindParams

    module = IRModule({"main": mod}) if isinstance(mod, BaseFunc) else mod
    return BindParams("main", dict(params))(module) if params else module


def _is_measurable(name: str, function: PrimFunc) -> bool:
    try:
        ArgInfo.from_prim_func(function)
    except ValueError as error:
        _logger.info("%s is not tuned: %s", name, error)
        return False
    return True


def _merged(first: ExtractedTask, second: ExtractedTask) -> ExtractedTask:
    fewer = min(first, second, key=lambda task: len(block_names(task.mod)))
    weight = first.weight + second.weight
    return ExtractedTask(fewer.task_name, fewer.mod, fewer.target, fewer.dispatched, weight)


def extracted_tasks_to_tune_contexts(
    extracted_tasks: Sequence[ExtractedTask],
    work_dir: str,
    space: SpaceGenerator | ScheduleFnType | str = "post-order-apply",
    strategy: SearchStrategy | str = "evolutionary",
    num_threads: int | str = "physical",
    seed: int | None = None,
) -> tuple[list[TuneContext], list[float]]:
    """A context for each task, and its weight; functions that are scheduled already are left out
    with a warning."""
    chosen: dict[str, ExtractedTask] = {}
    for task in extracted_tasks:
        if not _is_scheduled(task.mod):
            chosen[task.task_name] = task
            continue
        warnings.warn(
            f"the task {task.task_name} is scheduled already and is left out", stacklevel=2
        )
    if not chosen:
        return [], []
    contexts = contexts_of_tasks(
        {name: task.dispatched[0] for name, task in chosen.items()},
        dict.fromkeys(chosen, space),
        target=extracted_tasks[0].target,
        work_dir=work_dir,
        strategy=strategy,
        num_threads=num_threads,
        seed=seed,
    )
    return contexts, [float(task.weight) for task in chosen.values()]


def _is_scheduled(mod: IRModule) -> bool:
    marks = ("tir.is_scheduled", "tirx.is_scheduled")
    return any(function.get_attr(mark) for function in mod.functions.values() for mark in marks)


def tune_relax(
    mod: IRModule | BaseFunc,
    params: Mapping[str, Any] | None,
    target: str | Target | dict[str, Any],
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: Sequence[str] | None = None,
    *,
    num_trials_per_iter: int = 64,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: Database | str = "json",
    cost_model: CostModel | str = "default",
    measure_callbacks: Sequence[MeasureCallback] | MeasureCallback | str = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    space: SpaceGenerator | ScheduleFnType | str = "post-order-apply",
    strategy: SearchStrategy | str = "evolutionary",
    seed: int | None = None,
    module_equality: str = "structural",
) -> Database:
    """Tune the functions that a program calls, of which the name has one of `op_names` in it where
    that is given; the database with the records.

    The program has to call TensorIR (`relax.get_pipeline("zero")` makes it so): ValueError when
    there is nothing to tune.  The rest is as in `tune_tasks`.
    """
    tasks = extract_tasks(mod, target, params, module_equality=module_equality)
    chosen = [t for t in tasks if not op_names or any(name in t.task_name for name in op_names)]
    contexts, weights = extracted_tasks_to_tune_contexts(
        chosen, work_dir, space=space, strategy=strategy, seed=seed
    )
    return tune_tasks(
        tasks=contexts,
        task_weights=weights,
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
    )


def compile_relax(
    database: Database,
    mod: IRModule,
    target: Target | str | dict[str, Any],
    params: Mapping[str, Any] | None = None,
    enable_warning: bool = False,
) -> VMExecutable:
    """Compile a program with the schedules of a database; functions without a record, or whose
    schedules were not faster, are compiled as they always are."""
    from relax_mlir.driver import relax_build
    from relax_mlir.relax.pipelines import get_default_pipeline
    from relax_mlir.relax.transform import MetaScheduleApplyDatabase
    from relax_mlir.transform import Sequential

    chosen = Target(target)
    module = _bound(mod, params)
    with chosen, database:
        apply = MetaScheduleApplyDatabase(enable_warning=enable_warning)
        # Before: functions that were tuned as they are in the program.  After: those that the
        # pipeline makes.
        pipeline = Sequential([apply, get_default_pipeline(chosen), apply], name="tuned")
        return relax_build(module, target=chosen, relax_pipeline=pipeline)
