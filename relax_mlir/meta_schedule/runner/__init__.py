"""Runners of candidates."""

from relax_mlir.meta_schedule.runner.config import EvaluatorConfig
from relax_mlir.meta_schedule.runner.local_runner import LocalRunner, LocalRunnerFuture
from relax_mlir.meta_schedule.runner.runner import (
    PyRunner,
    PyRunnerFuture,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)

__all__ = [
    "EvaluatorConfig",
    "LocalRunner",
    "LocalRunnerFuture",
    "PyRunner",
    "PyRunnerFuture",
    "Runner",
    "RunnerFuture",
    "RunnerInput",
    "RunnerResult",
    "create",
]

create = Runner.create
