"""A database in two files."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.meta_schedule.database.memory_database import MemoryDatabase
from relax_mlir.meta_schedule.database.records import TuningRecord, Workload

__all__ = ["JSONDatabase"]

_WORKLOADS = "database_workload.json"
_RECORDS = "database_tuning_record.json"


class JSONDatabase(MemoryDatabase):
    """A line of JSON for each workload in one file, for each record in the other.

    Lines are appended under a lock of the file, so that several processes may write; what others
    append later is seen when the database is opened again.  With `work_dir` the files are
    `database_workload.json` and `database_tuning_record.json` in that folder.

    Raises ValueError where a path is missing, FileNotFoundError for a file that is not there
    without `allow_missing`, and Error for a line that is no record.
    """

    def __init__(
        self,
        path_workload: str | None = None,
        path_tuning_record: str | None = None,
        *,
        work_dir: str | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ) -> None:
        super().__init__(module_equality)
        if work_dir is not None:
            os.makedirs(work_dir, exist_ok=True)
            path_workload = path_workload or os.path.join(work_dir, _WORKLOADS)
            path_tuning_record = path_tuning_record or os.path.join(work_dir, _RECORDS)
        if path_workload is None:
            raise ValueError("JSONDatabase: give path_workload or work_dir")
        if path_tuning_record is None:
            raise ValueError("JSONDatabase: give path_tuning_record or work_dir")
        self.path_workload = path_workload
        self.path_tuning_record = path_tuning_record
        self._numbers: dict[str, int] = {}
        self._load(allow_missing)

    def _load(self, allow_missing: bool) -> None:
        workloads: list[Workload] = []
        for place, row in _rows(self.path_workload, allow_missing):
            try:
                workload = Workload.from_json(row)
            except (ValueError, TypeError) as error:
                raise Error(f"{place}: not a workload: {error}") from None
            key = workload.key(self.module_equality)
            self._numbers.setdefault(key, len(workloads))
            super().add_workload(key, workload)
            workloads.append(workload)
        for place, row in _rows(self.path_tuning_record, allow_missing):
            try:
                number, record = row
                made = TuningRecord.from_json(record, workloads[number])
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise Error(f"{place}: not a tuning record: {error}") from None
            super().commit_tuning_record(made)

    def add_workload(self, key: str, workload: Workload) -> None:
        super().add_workload(key, workload)
        self._numbers[key] = _append_numbered(self.path_workload, workload.as_json())

    def commit_tuning_record(self, record: TuningRecord) -> None:
        super().commit_tuning_record(record)
        number = self._numbers[record.workload.key(self.module_equality)]
        _append(self.path_tuning_record, [number, record.as_json()])


def _append(path: str, row: Any) -> None:
    """Add a line under a lock, in the place of one that a killed process left half written."""
    with _locked(path) as file:
        file.write(json.dumps(row).encode() + b"\n")


def _append_numbered(path: str, row: Any) -> int:
    """Add a line as `_append` does; the number of the line, from zero."""
    with _locked(path) as file:
        file.seek(0)
        number = sum(1 for _ in file)
        file.write(json.dumps(row).encode() + b"\n")
    return number


@contextmanager
def _locked(path: str) -> Iterator[BufferedRandom]:
    """A file to append to, which no other process writes until it is closed."""
    with open(path, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _drop_unfinished(file)
        yield file


def _drop_unfinished(file: BufferedRandom) -> None:
    """Cut off what follows the last end of a line."""
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return
    file.seek(end - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def _rows(path: str, allow_missing: bool) -> Iterator[tuple[str, Any]]:
    """The place and the value of each line of a file.

    Raises Error for a line that is no JSON, but for the last one, which a process that was killed
    may have left half written.
    """
    if not os.path.exists(path):
        if allow_missing:
            return
        raise FileNotFoundError(f"JSONDatabase: no such file: {path}")
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines) and not line.endswith("\n"):
                return
            raise Error(f"{path}:{number}: not JSON: {error}") from None
        yield f"{path}:{number}", row
