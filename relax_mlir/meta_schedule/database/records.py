"""What a database holds: workloads, and what was measured of schedules of them."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.arg_info import ArgInfo
from relax_mlir.meta_schedule.module_equality import module_key, shash2hex
from relax_mlir.target import Target
from relax_mlir.tir.schedule import Schedule, Trace

if TYPE_CHECKING:
    from relax_mlir.meta_schedule.search_strategy import MeasureCandidate

__all__ = ["TuningRecord", "Workload"]


class Workload:
    """A module to tune, which nobody changes, and its hash."""

    def __init__(self, mod: IRModule, shash: str | None = None) -> None:
        self.mod = mod
        self.shash = shash or shash2hex(mod)
        self._keys: dict[str, str] = {}

    def key(self, module_equality: str) -> str:
        """The text by which workloads are told apart (see `module_equality.py`)."""
        if module_equality not in self._keys:
            self._keys[module_equality] = module_key(self.mod, module_equality)
        return self._keys[module_equality]

    def as_json(self) -> list[Any]:
        """The hash, the module as MLIR text, and the constants it refers to."""
        constants = {key: _array_text(value) for key, value in self.mod.state.constants.items()}
        return [self.shash, self.mod.mlir(), constants]

    @staticmethod
    def from_json(json_obj: Sequence[Any]) -> Workload:
        """The workload that `as_json` wrote."""
        shash, text, constants = json_obj
        arrays = {key: _array(value) for key, value in constants.items()}
        return Workload(IRModule.parse(text, arrays), str(shash))


def _array_text(array: np.ndarray) -> str:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return base64.b64encode(file.getvalue()).decode()


def _array(text: str) -> np.ndarray:
    return np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)


class TuningRecord:
    """A schedule of a workload as its trace, and the seconds that it took.

    An empty trace stands for the workload as it is.
    """

    def __init__(
        self,
        trace: Trace,
        workload: Workload,
        run_secs: Sequence[float] | None = None,
        target: Target | None = None,
        args_info: Sequence[ArgInfo] | None = None,
    ) -> None:
        self.trace = trace
        self.workload = workload
        self.run_secs = None if run_secs is None else [float(s) for s in run_secs]
        self.target = target
        self.args_info = None if args_info is None else list(args_info)

    @property
    def is_valid(self) -> bool:
        """Whether the schedule ran."""
        return bool(self.run_secs) and all(0 <= s < 1e9 for s in self.run_secs or ())

    @property
    def seconds(self) -> float:
        """The median of the seconds; infinity for a schedule that did not run."""
        return median(self.run_secs) if self.is_valid and self.run_secs else float("inf")

    @property
    def is_scheduled(self) -> bool:
        """False for the workload as it is."""
        return bool(self.trace.insts)

    def as_schedule(self) -> Schedule:
        """The workload with the schedule applied."""
        sch = Schedule(self.workload.mod)
        self.trace.apply_to_schedule(sch)
        return sch

    def as_measure_candidate(self) -> MeasureCandidate:
        """What a builder and a runner take to measure the schedule again."""
        from relax_mlir.meta_schedule.search_strategy import MeasureCandidate

        return MeasureCandidate(self.as_schedule(), ArgInfo.from_entry_func(self.workload.mod))

    def as_json(self) -> list[Any]:
        """The trace, the seconds, the target and the arguments; not the workload."""
        target = None if self.target is None else self.target.export()
        infos = None if self.args_info is None else [info.as_json() for info in self.args_info]
        return [self.trace.as_json(), self.run_secs, target, infos]

    @staticmethod
    def from_json(json_obj: Sequence[Any], workload: Workload) -> TuningRecord:
        """The record of a workload that `as_json` wrote."""
        trace, run_secs, target, infos = json_obj
        return TuningRecord(
            Trace.from_json(trace),
            workload,
            run_secs,
            _target(target),
            None if infos is None else [ArgInfo.from_json(info) for info in infos],
        )


def _target(exported: Mapping[str, Any] | None) -> Target | None:
    return None if exported is None else Target(exported)
