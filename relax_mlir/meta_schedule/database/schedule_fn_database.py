"""A database whose records are what a user's function schedules."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.database.database import Database
from relax_mlir.meta_schedule.database.records import TuningRecord, Workload
from relax_mlir.meta_schedule.utils import normalize_mod
from relax_mlir.target import Target
from relax_mlir.tir.schedule import Schedule

__all__ = ["ScheduleFnDatabase"]


class ScheduleFnDatabase(Database):
    """`schedule_fn(sch)` schedules a function and returns True, or False for one it does not know.

    Nothing is measured or kept: a query calls the function.
    """

    def __init__(
        self, schedule_fn: Callable[[Schedule], bool], module_equality: str = "structural"
    ) -> None:
        super().__init__(module_equality)
        self.schedule_fn = schedule_fn

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        del workload_name
        mod = normalize_mod(mod)
        sch = Schedule(mod)
        if not self.schedule_fn(sch):
            return None
        return TuningRecord(sch.trace, Workload(mod, self.hash_of(mod)), [0.0], target)

    def has_workload(self, mod: IRModule) -> bool:
        raise self._keeps_nothing("has_workload")

    def commit_workload(self, mod: IRModule) -> Workload:
        raise self._keeps_nothing("commit_workload")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        raise self._keeps_nothing("commit_tuning_record")

    def get_all_tuning_records(self) -> list[TuningRecord]:
        raise self._keeps_nothing("get_all_tuning_records")

    def _keeps_nothing(self, method: str) -> Error:
        return Error(
            f"ScheduleFnDatabase.{method}: it keeps no workloads and no records",
            hint="only queries are answered, by calling the function",
        )
