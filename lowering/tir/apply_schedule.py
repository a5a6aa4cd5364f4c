"""`tir-apply-schedule`: the primitives of a schedule, read from a trace file.

`trace` names a file with what `Schedule.trace.as_json()` gives: a list of instructions, each
`[primitive, positional arguments, keyword arguments, outputs, decision]`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relax_mlir.errors import Error, PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.tir.schedule import Schedule, Trace

__all__ = ["ApplySchedule"]


@register_pass("tir-apply-schedule")
@dataclass(frozen=True)
class ApplySchedule(Pass):
    """Apply the schedule primitives of a trace file."""

    trace: str = ""

    def run(self, state: ModuleState) -> None:
        instructions = self._read()
        schedule = Schedule(IRModule.from_state(state))
        try:
            Trace.apply_json_to_schedule(instructions, schedule)
        except Error:
            raise
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise PassError(f"{self.trace} is no trace of a schedule: {error}") from error
        state.take_operations(schedule.mod.state)

    def _read(self) -> list[Any]:
        if not self.trace:
            raise PassError("tir-apply-schedule needs a trace", hint="trace=file.json")
        try:
            found = json.loads(Path(self.trace).read_text(encoding="utf-8"))
        except OSError as error:
            raise PassError(f"cannot read the trace {self.trace}: {error.strerror}") from error
        except ValueError as error:
            raise PassError(f"{self.trace} is no JSON: {error}") from error
        for instruction in found if isinstance(found, list) else [None]:
            kind = instruction[0] if isinstance(instruction, list) and instruction else None
            if not isinstance(kind, str) or kind.startswith("_") or not hasattr(Schedule, kind):
                raise PassError(f"{self.trace} is no trace of a schedule: {instruction!r} is no "
                                "instruction")  # fmt: skip
        return found
