"""The interface of runners: what was built to seconds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.meta_schedule.arg_info import ArgInfo
from relax_mlir.meta_schedule.component import of_kind

__all__ = ["PyRunner", "PyRunnerFuture", "Runner", "RunnerFuture", "RunnerInput", "RunnerResult"]


@dataclass(frozen=True)
class RunnerInput:
    """What was built, the kind of device it is for ("cpu", "cuda"), and what it takes."""

    artifact_path: str
    device_type: str
    args_info: Sequence[ArgInfo]


@dataclass(frozen=True)
class RunnerResult:
    """The seconds of each measurement, or why there are none."""

    run_secs: Sequence[float] | None
    error_msg: str | None

    @property
    def seconds(self) -> float:
        """The median of the measurements; infinity without one."""
        return median(self.run_secs) if self.run_secs else float("inf")


class RunnerFuture:
    """A measurement that may not be over yet.  Users derive from `PyRunnerFuture`."""

    def __init__(
        self,
        f_done: Callable[[], bool] | None = None,
        f_result: Callable[[], RunnerResult] | None = None,
    ) -> None:
        self._f_done = f_done
        self._f_result = f_result

    def done(self) -> bool:
        """Whether `result` would not wait."""
        return self._f_done() if self._f_done is not None else True

    def result(self) -> RunnerResult:
        """The result, waiting for it."""
        if self._f_result is None:
            raise TypeError(f"{type(self).__name__} does not define result")
        return self._f_result()


class Runner(ABC):
    """Measures candidates.  Users' own derive from `PyRunner` and define `run`."""

    @abstractmethod
    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """One future for each input, in order; failures are results too."""

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Runner:
        """A runner by its kind: "local".

        Raises ValueError for another kind; Error for "rpc", which needs machines of its own.
        """
        from relax_mlir.meta_schedule.runner.local_runner import LocalRunner

        if kind == "rpc":
            raise Error(
                "there is no runner for other machines",
                hint="derive one from ms.runner.PyRunner: it gets the path of a library that "
                "relax_mlir.runtime.load_module reads",
            )
        kwargs.pop("max_workers", None)
        return of_kind({"local": LocalRunner}, kind, "runner")(*args, **kwargs)


PyRunner = Runner
PyRunnerFuture = RunnerFuture
"""TVM's names of the classes that users derive from."""
