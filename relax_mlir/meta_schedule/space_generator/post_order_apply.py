"""The design space that rules make of a function's blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.mutator import Mutator
from relax_mlir.meta_schedule.postproc import Postproc
from relax_mlir.meta_schedule.schedule_rule import ApplyCustomRule, ScheduleRule
from relax_mlir.meta_schedule.space_generator.space_generator import SpaceGenerator
from relax_mlir.meta_schedule.utils import block_names, is_valid
from relax_mlir.tir.schedule import BlockRV, Schedule
from relax_mlir.tir.schedule.annotate import annotations_of

__all__ = ["PostOrderApply"]


class PostOrderApply(SpaceGenerator):
    """Applies each rule to each block, the last block first; a rule that returns several schedules
    makes the space larger.

    `f_block_filter(block)` chooses the blocks; one annotated with `schedule_rule` is left to the
    rule it names.
    """

    def __init__(
        self,
        f_block_filter: Callable[[Any], bool] | None = None,
        sch_rules: Sequence[ScheduleRule] | str = "from-target",
        postprocs: Sequence[Postproc] | str = "from-target",
        mutator_probs: Mapping[Mutator, float] | str = "from-target",
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.f_block_filter = f_block_filter

    def generate_design_space(self, mod: IRModule, seed: int | None = None) -> list[Schedule]:
        sch = Schedule(mod, seed=self._seed if seed is None else seed)
        root = sch.get_sblock("root")
        # By name: a trace that gets blocks so can be replayed on functions with more of them.
        names = block_names(sch.mod)
        blocks = [sch.get_sblock(name) for name in names if names.count(name) == 1]
        if self.f_block_filter is not None:
            blocks = [b for b in blocks if self.f_block_filter(sch.get(b))]
        space = [sch]
        for rule in self.sch_rules or []:
            space = [made for one in space for made in _applied(rule, one, [*blocks, root])]
        return space


def _applied(rule: ScheduleRule, sch: Schedule, blocks: list[BlockRV]) -> list[Schedule]:
    """A rule applied to the blocks of a schedule, from the last one on."""
    if not blocks:
        return [sch]
    *others, block = blocks
    if not is_valid(sch, block) or _is_left_to_its_rule(rule, sch, block):
        return _applied(rule, sch, others)
    return [made for one in rule.apply(sch, block) for made in _applied(rule, one, others)]


def _is_left_to_its_rule(rule: ScheduleRule, sch: Schedule, block: BlockRV) -> bool:
    if isinstance(rule, ApplyCustomRule):
        return False
    with mlir.scope():
        return "schedule_rule" in annotations_of(sch.get(block))
