"""Databases made of others, which are only read."""

from __future__ import annotations

from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.database.database import Database
from relax_mlir.meta_schedule.database.records import TuningRecord, Workload
from relax_mlir.target import Target

__all__ = ["OrderedUnionDatabase", "UnionDatabase"]


class _Combined(Database):
    """What both kinds share: questions go to the parts, writing is refused."""

    def __init__(self, *databases: Database) -> None:
        super().__init__()
        self.databases = list(databases)

    def answers(self, mod: IRModule, target: Target, workload_name: str) -> list[TuningRecord]:
        """The best record of each part that has one, in the order of the parts."""
        found = (d.query_tuning_record(mod, target, workload_name) for d in self.databases)
        return [record for record in found if record is not None]

    def has_workload(self, mod: IRModule) -> bool:
        return any(database.has_workload(mod) for database in self.databases)

    def commit_workload(self, mod: IRModule) -> Workload:
        raise self._only_read("commit_workload")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        raise self._only_read("commit_tuning_record")

    def get_all_tuning_records(self) -> list[TuningRecord]:
        records = [r for d in self.databases for r in d.get_all_tuning_records()]
        return sorted(records, key=lambda r: r.seconds)

    def _only_read(self, method: str) -> Error:
        return Error(
            f"{type(self).__name__}.{method}: a union of databases is only read",
            hint="write to one of the databases that it is made of",
        )


class UnionDatabase(_Combined):
    """Asks all of some databases, and gives the fastest record of their answers."""

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        found = self.answers(mod, target, workload_name)
        return min(found, key=lambda record: record.seconds, default=None)


class OrderedUnionDatabase(_Combined):
    """Asks some databases in order, and gives the record of the first that has one."""

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        for database in self.databases:
            record = database.query_tuning_record(mod, target, workload_name)
            if record is not None:
                return record
        return None
