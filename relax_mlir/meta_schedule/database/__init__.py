"""Databases of what was measured."""

from relax_mlir.meta_schedule.database.database import Database, PyDatabase
from relax_mlir.meta_schedule.database.json_database import JSONDatabase
from relax_mlir.meta_schedule.database.memory_database import MemoryDatabase
from relax_mlir.meta_schedule.database.records import TuningRecord, Workload
from relax_mlir.meta_schedule.database.schedule_fn_database import ScheduleFnDatabase
from relax_mlir.meta_schedule.database.union_database import OrderedUnionDatabase, UnionDatabase

__all__ = [
    "Database",
    "JSONDatabase",
    "MemoryDatabase",
    "OrderedUnionDatabase",
    "PyDatabase",
    "ScheduleFnDatabase",
    "TuningRecord",
    "UnionDatabase",
    "Workload",
    "create",
]

create = Database.create
