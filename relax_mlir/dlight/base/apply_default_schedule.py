"""`tir-apply-default-schedule`: dlight's rules in a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dlight.base.schedule_rule import ScheduleRule
from relax_mlir.dlight.base.transform import schedule_unbound
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.target import Target

__all__ = ["ApplyDefaultSchedulePass"]


@register_pass("tir-apply-default-schedule")
@dataclass(frozen=True)
class ApplyDefaultSchedulePass(Pass):
    """Schedule TensorIR functions that bind no thread by the first rule that accepts them.

    `rules` are names such as `gpu.Matmul`; without them all rules of the target's kind are tried,
    which for a GPU ends with one that accepts every function.
    """

    rules: tuple[str, ...] = ()
    target: str = "cuda"

    def run(self, state: ModuleState) -> None:
        target = Target(self.target)
        with target:
            scheduled = schedule_unbound(IRModule.from_state(state), self._rules(target))
        state.take_operations(scheduled.state)

    def _rules(self, target: Target) -> Sequence[ScheduleRule]:
        from relax_mlir import dlight

        kinds = {"cpu": dlight.cpu.RULES, "gpu": dlight.gpu.RULES}
        if not self.rules:
            return kinds["cpu" if target.device_type == "cpu" else "gpu"]
        known = {f"{kind}.{type(rule).__name__}": rule for kind in kinds for rule in kinds[kind]}
        for name in self.rules:
            if name not in known:
                raise PassError(
                    f"no rule is called '{name}'",
                    hint=f"there are: {', '.join(known)}",
                )
        return [known[name] for name in self.rules]
