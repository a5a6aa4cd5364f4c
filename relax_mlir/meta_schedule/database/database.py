"""The interface of databases, and the part that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.component import of_kind
from relax_mlir.meta_schedule.database.records import TuningRecord, Workload
from relax_mlir.meta_schedule.module_equality import module_key, shash2hex
from relax_mlir.meta_schedule.scope import DATABASES, Scoped
from relax_mlir.meta_schedule.utils import normalize_mod
from relax_mlir.target import Target
from relax_mlir.tir.schedule import Schedule

__all__ = ["Database", "PyDatabase"]


class Database(Scoped, ABC):
    """Workloads, and for each the schedules that were measured with their times.

    Users who keep them elsewhere derive from `PyDatabase` and define the first five methods.
    `with database:` makes it the one that `Database.current()` gives, which compiling uses.
    """

    _entered = DATABASES

    def __init__(self, module_equality: str = "structural") -> None:
        self.module_equality = module_equality

    @abstractmethod
    def has_workload(self, mod: IRModule) -> bool:
        """Whether a workload equal to the module is there."""

    @abstractmethod
    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload equal to a module, added where it is missing."""

    @abstractmethod
    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Add a record of a committed workload."""

    @abstractmethod
    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, the fastest first."""

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The `top_k` fastest records of a workload that ran."""
        if top_k < 0:
            raise ValueError(f"top_k is not negative, got {top_k}")
        key = workload.key(self.module_equality)
        valid = [r for r in self.get_all_tuning_records() if r.is_valid]
        return [r for r in valid if r.workload.key(self.module_equality) == key][:top_k]

    def __len__(self) -> int:
        return len(self.get_all_tuning_records())

    def key_of(self, mod: IRModule) -> str:
        """The text by which the database tells workloads apart."""
        return module_key(mod, self.module_equality)

    def hash_of(self, mod: IRModule) -> str:
        """The hash of a workload, by the database's equality."""
        return shash2hex(mod, self.module_equality)

    # -- queries ----------------------------------------------------------------------------

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The fastest record of a module for a kind of target; None where there is none."""
        del workload_name
        mod = normalize_mod(mod)
        if not self.has_workload(mod):
            return None
        records = self.get_top_k(self.commit_workload(mod), len(self))
        return next((record for record in records if _is_for(record, target)), None)

    def query_schedule(
        self, mod: IRModule, target: Target, workload_name: str = "main"
    ) -> Schedule | None:
        """A schedule with the fastest record applied; None where there is none."""
        from relax_mlir.meta_schedule.trace_apply import schedule_of_record

        record = self.query_tuning_record(mod, target, workload_name)
        return None if record is None else schedule_of_record(record, normalize_mod(mod), target)

    def query_ir_module(
        self, mod: IRModule, target: Target, workload_name: str = "main"
    ) -> IRModule | None:
        """The module with the fastest record applied; None where there is none."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(
        self, mod: IRModule, target: Target, *, workload_name: str = "main", kind: str = "schedule"
    ) -> Schedule | IRModule | TuningRecord | None:
        """The best of a workload as a "schedule", a "record" or an "ir_module".

        Raises ValueError for another kind.
        """
        ways: dict[str, Callable[..., Any]] = {
            "schedule": self.query_schedule,
            "record": self.query_tuning_record,
            "ir_module": self.query_ir_module,
        }
        if kind not in ways:
            raise ValueError(f'kind is one of {", ".join(ways)}, not "{kind}"')
        return ways[kind](mod, target, workload_name)

    def dump_pruned(self, destination: Database) -> None:
        """Put the fastest record of each workload into another database."""
        seen: set[str] = set()
        for record in self.get_all_tuning_records():
            key = record.workload.key(self.module_equality)
            if key in seen or not record.is_valid:
                continue
            seen.add(key)
            workload = destination.commit_workload(record.workload.mod)
            destination.commit_tuning_record(
                TuningRecord(
                    record.trace, workload, record.run_secs, record.target, record.args_info
                )
            )

    # -- which one --------------------------------------------------------------------------

    @staticmethod
    def current() -> Database | None:
        """The innermost database of a `with`."""
        return DATABASES[-1] if DATABASES else None

    @staticmethod
    def create(
        kind: str | Callable[[Schedule], bool] = "json", *args: Any, **kwargs: Any
    ) -> Database:
        """A database by its kind: "json", "memory", "union", "ordered_union", or a function that
        schedules.  Raises ValueError for another name."""
        from relax_mlir.meta_schedule import database

        if not isinstance(kind, str):
            return database.ScheduleFnDatabase(kind, *args, **kwargs)
        kinds: dict[str, Callable[..., Database]] = {
            "json": database.JSONDatabase,
            "memory": database.MemoryDatabase,
            "union": database.UnionDatabase,
            "ordered_union": database.OrderedUnionDatabase,
        }
        return of_kind(kinds, kind, "database")(*args, **kwargs)


PyDatabase = Database
"""TVM's name of the class that users derive from."""


def _is_for(record: TuningRecord, target: Target) -> bool:
    """A record without a target is for every one."""
    return record.target is None or record.target.kind.name == target.kind.name
