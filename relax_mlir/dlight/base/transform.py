"""`ApplyDefaultSchedule`: the pass that applies rules to the functions of a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.errors import PassError, ScheduleError
from relax_mlir.ir.function import BaseFunc
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.tir_to_gpu.kernel_roots import thread_loops
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tir import PrimFunc
from relax_mlir.tir.schedule import Schedule
from relax_mlir.transform import Pass, PassContext, PassInfo

IS_SCHEDULED = "tir.is_scheduled"
"""Function attribute: a schedule was chosen, by a rule or by a user, and rules leave it alone."""

_SPELLINGS = (IS_SCHEDULED, "tirx.is_scheduled")


class ApplyDefaultSchedule(Pass):
    """Give each TensorIR function the schedule of the first rule that accepts it.

    The target is the function's attribute `target`, or else the current one (`with Target(...)`).
    Functions marked `tir.is_scheduled` stay as they are; those scheduled here get the mark.
    """

    def __init__(self, *rules: ScheduleRule):
        for rule in rules:
            if not isinstance(rule, ScheduleRule):
                raise TypeError(f"ApplyDefaultSchedule takes ScheduleRules, not "
                                f"{type(rule).__name__}; is it an instance?")  # fmt: skip
        self.rules = list(rules)
        self.info = PassInfo(0, "ApplyDefaultSchedule")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        for var, func in mod.functions.items():
            if not isinstance(func, PrimFunc) or _is_scheduled(func):
                continue
            schedules = apply_rules(func, _target_of(func), self.rules, tunable=False)
            if schedules is None:
                continue
            if len(schedules) != 1:
                raise PassError(f"ApplyDefaultSchedule: a rule returned {len(schedules)} schedules "
                                f"for '{var.name_hint}' where one is taken")  # fmt: skip
            scheduled = schedules[0].mod["main"]
            result.update_func(var, _marked(scheduled, func))
        return result


def schedule_unbound(module: IRModule, rules: Sequence[ScheduleRule]) -> IRModule:
    """The module with a default schedule in each TensorIR function that binds no thread.

    The target is the current one; see `ApplyDefaultSchedule`.
    """
    with mlir.scope():
        bound = {
            ir.StringAttr(op.attributes["sym_name"]).value
            for op in module.state.functions()
            if "tir.attrs" in op.attributes and thread_loops(op)
        }
    marked = module.clone()
    for var, func in module.functions.items():
        if var.name_hint in bound:
            marked.update_func(var, func.with_attr(IS_SCHEDULED, True))
    return ApplyDefaultSchedule(*rules)(marked)


def _is_scheduled(func: PrimFunc) -> bool:
    attributes = func.attrs
    return any(attributes.get(spelling) for spelling in _SPELLINGS)


def _marked(scheduled: BaseFunc, original: PrimFunc) -> BaseFunc:
    """The scheduled function with the mark, public or private as it was."""
    marked = scheduled.with_attr(IS_SCHEDULED, True)
    return marked.without_attr("global_symbol") if original.is_private else marked


def _target_of(func: PrimFunc) -> Target:
    given: Any = func.attrs.get("target")
    if given is not None:
        return Target(given)
    current = Target.current()
    if current is None:
        raise PassError(
            "ApplyDefaultSchedule: no target to schedule for",
            hint='put it inside of `with Target("cuda"):`',
        )
    return current


def apply_rules(
    func: PrimFunc, target: Target, rules: Sequence[ScheduleRule], tunable: bool
) -> list[Schedule] | None:
    """The schedules of the first rule that accepts a function, None when no rule does.

    A rule whose primitives are refused on the way does not apply.
    """
    for rule in rules:
        try:
            space = rule.apply(func, target, tunable)
        except ScheduleError:
            continue
        if space is not None:
            return space if isinstance(space, list) else [space]
    return None
