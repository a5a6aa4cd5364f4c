"""A database that lives as long as the process."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.database.database import Database
from relax_mlir.meta_schedule.database.records import TuningRecord, Workload

__all__ = ["MemoryDatabase"]


class MemoryDatabase(Database):
    """Workloads and records in memory, for tests and one program's use."""

    def __init__(self, module_equality: str = "structural") -> None:
        super().__init__(module_equality)
        self._workloads: dict[str, Workload] = {}
        self._records: dict[str, list[TuningRecord]] = defaultdict(list)

    def has_workload(self, mod: IRModule) -> bool:
        return self.key_of(mod) in self._workloads

    def commit_workload(self, mod: IRModule) -> Workload:
        key = self.key_of(mod)
        if key not in self._workloads:
            self.add_workload(key, Workload(mod, self.hash_of(mod)))
        return self._workloads[key]

    def add_workload(self, key: str, workload: Workload) -> None:
        """Keep a workload that is new."""
        self._workloads[key] = workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        key = record.workload.key(self.module_equality)
        if key not in self._workloads:
            raise ValueError("commit the workload of a record before the record")
        insort(self._records[key], record, key=lambda r: r.seconds)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        records = [record for of_one in self._records.values() for record in of_one]
        return sorted(records, key=lambda r: r.seconds)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        if top_k < 0:
            raise ValueError(f"top_k is not negative, got {top_k}")
        records = self._records.get(workload.key(self.module_equality), [])
        return [record for record in records if record.is_valid][:top_k]

    def __len__(self) -> int:
        return sum(len(records) for records in self._records.values())
