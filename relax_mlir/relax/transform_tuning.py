"""TVM's names of the passes that tune by measuring, and that apply what was found."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.errors import PassError
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.target import Target
from relax_mlir.tir.function import PrimFunc
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.passes import FunctionPass, ModulePass, Pass, PassInfo

__all__ = ["MetaScheduleApplyDatabase", "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR"]


def MetaScheduleTuneTIR(work_dir: str, max_trials_global: int) -> Pass:
    """Tune each TensorIR function for the current target; records go to `work_dir`.

    Each function has `max_trials_global` trials.  The module stays as it is:
    `MetaScheduleApplyDatabase` schedules it.
    """
    target = Target.current()

    def transform(func: PrimFunc, mod: IRModule, ctx: PassContext) -> BaseFunc:
        from relax_mlir.meta_schedule import tune_tir

        tune_tir(func, _required(target, "MetaScheduleTuneTIR"), work_dir, max_trials_global)
        return func

    return FunctionPass(transform, PassInfo(0, "MetaScheduleTuneTIR", traceable=True), PrimFunc)


def MetaScheduleTuneIRMod(
    params: Mapping[str, Any] | None,
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: Sequence[str] | None = None,
) -> Pass:
    """Tune the TensorIR functions that a program calls for the current target; records go to
    `work_dir`.

    `op_names` chooses functions by parts of their names; `params` are bound to the parameters of
    `main` first.  The module stays as it is: `MetaScheduleApplyDatabase` schedules it.
    """
    target = Target.current()

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        from relax_mlir.meta_schedule import tune_relax

        tune_relax(
            mod,
            params,
            _required(target, "MetaScheduleTuneIRMod"),
            work_dir,
            max_trials_global,
            max_trials_per_task=max_trials_per_task,
            op_names=op_names,
        )
        return mod

    return ModulePass(transform, PassInfo(0, "MetaScheduleTuneIRModule", traceable=True))


def MetaScheduleApplyDatabase(work_dir: str | None = None, enable_warning: bool = False) -> Pass:
    """Schedule the TensorIR functions of which the current database, or that in `work_dir`, has a
    record for the current target.

    A function stays as it is where no schedule was faster than the function without one, and where
    there is no record; `enable_warning` warns of the latter.  Those that are scheduled are marked
    `tir.is_scheduled`.
    """
    target = Target.current()

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        from relax_mlir.meta_schedule.database import Database, JSONDatabase

        database = Database.current()
        if database is None and work_dir is None:
            raise PassError(
                "MetaScheduleApplyDatabase: no database is current",
                hint="give work_dir, or put it inside of `with database:`",
            )
        if database is None:
            database = JSONDatabase(work_dir=work_dir)
        current = Target.current() or _required(target, "MetaScheduleApplyDatabase")
        for var, function in list(mod.functions.items()):
            if not isinstance(function, PrimFunc) or _is_scheduled(function):
                continue
            scheduled = _scheduled(database, function, current)
            if scheduled is not None:
                mod.update_func(var, scheduled)
            elif enable_warning and not _has_record(database, function, current):
                warnings.warn(f"no tuning record for {var.name_hint}", stacklevel=2)
        return mod

    return ModulePass(transform, PassInfo(0, "MetaScheduleApplyDatabase"))


def _required(target: Target | None, name: str) -> Target:
    if target is None:
        raise PassError(f"{name}: no target", hint="make the pass inside of `with target:`")
    return target


def _is_scheduled(function: PrimFunc) -> bool:
    return bool(function.get_attr("tir.is_scheduled") or function.get_attr("tirx.is_scheduled"))


def _has_record(database: Any, function: PrimFunc, target: Target) -> bool:
    from relax_mlir.meta_schedule.utils import normalize_mod

    return database.query_tuning_record(normalize_mod(function), target, "main") is not None


def _scheduled(database: Any, function: PrimFunc, target: Target) -> BaseFunc | None:
    """The function with its best schedule; None where there is none but the function as it is."""
    from relax_mlir.meta_schedule.utils import normalize_mod, prim_func_of

    sch = database.query_schedule(normalize_mod(function), target, "main")
    if sch is None or not sch.trace.insts:
        return None
    attributes = {k: v for k, v in function.attrs.items() if k != "global_symbol"}
    made = prim_func_of(sch.mod).with_attr({**attributes, "tir.is_scheduled": True})
    if function.is_private:
        return made.without_attr("global_symbol")
    return made.with_attr("global_symbol", function.name)
