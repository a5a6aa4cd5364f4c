"""Measuring on this machine, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.meta_schedule.arg_info import ArgInfo, TensorInfo
from relax_mlir.meta_schedule.builder.local_builder import user_function
from relax_mlir.meta_schedule.profiler import Profiler
from relax_mlir.meta_schedule.runner.config import EvaluatorConfig
from relax_mlir.meta_schedule.runner.runner import (
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from relax_mlir.meta_schedule.worker import WorkerError, borrowed
from relax_mlir.runtime import device as make_device
from relax_mlir.runtime import empty, load_module

__all__ = ["LocalRunner", "LocalRunnerFuture", "run_artifact"]

_FLUSHED_BYTES = 64 << 20


class LocalRunnerFuture(RunnerFuture):
    """A measurement that is over."""

    def __init__(self, res: Sequence[float] | None = None, error_message: str | None = None):
        super().__init__()
        self._result = RunnerResult(res, error_message)

    def result(self) -> RunnerResult:
        return self._result


class LocalRunner(Runner):
    """Runs candidates one after the other in a process that is given `timeout_sec` for each.

    Arguments are allocated `alloc_repeat` times: floats at random, integers zero, for they may be
    indices.  `f_alloc_argument(device, args_info, alloc_repeat)`, `f_run_evaluator(module, device,
    evaluator_config, repeated_args)` and `f_cleanup()` are functions of the user; with one of them
    measuring happens in this process, without that protection.
    """

    def __init__(
        self,
        timeout_sec: float = 30,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: Callable[..., Any] | None = None,
        f_run_evaluator: Callable[..., Any] | None = None,
        f_cleanup: Callable[[], None] | None = None,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        self.timeout_sec = timeout_sec
        self.evaluator_config = evaluator_config or EvaluatorConfig()
        self.cooldown_sec = cooldown_sec
        self.alloc_repeat = alloc_repeat
        if initializer is not None:
            initializer()
        self._functions = [
            user_function("f_alloc_argument", f_alloc_argument),
            user_function("f_run_evaluator", f_run_evaluator),
            user_function("f_cleanup", f_cleanup),
        ]

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        return [self._run(item) for item in runner_inputs]

    def _run(self, item: RunnerInput) -> RunnerFuture:
        infos = [info.as_json() for info in item.args_info]
        arguments = (item.artifact_path, item.device_type, infos, tuple(self.evaluator_config),
                     self.alloc_repeat)  # fmt: skip
        time.sleep(self.cooldown_sec)
        with Profiler.timeit("LocalRunner/run"):
            try:
                if any(self._functions):
                    costs = _measure(*arguments, *self._functions)
                else:
                    with borrowed() as worker:
                        costs = worker.call("run", arguments, self.timeout_sec)
            except WorkerError as error:
                return LocalRunnerFuture(None, f"LocalRunner: {error}")
            except Exception as error:  # of a function of the user
                return LocalRunnerFuture(None, f"LocalRunner: {type(error).__name__}: {error}")
        return LocalRunnerFuture(costs, None)


def run_artifact(*arguments: Any) -> list[float]:
    """Measure a library; the seconds of each repeat."""
    return _measure(*arguments)


def _measure(
    artifact_path: str,
    device_type: str,
    args_info: Sequence[Sequence[Any]],
    config: Sequence[Any],
    alloc_repeat: int,
    f_alloc_argument: Callable[..., Any] | None = None,
    f_run_evaluator: Callable[..., Any] | None = None,
    f_cleanup: Callable[[], None] | None = None,
) -> list[float]:
    module = load_module(artifact_path)
    device = make_device(device_type, 0)
    try:
        allocate = f_alloc_argument or default_alloc_argument
        repeated = allocate(device, args_info, alloc_repeat)
        evaluate = f_run_evaluator or default_run_evaluator
        return [float(c) for c in evaluate(module, device, EvaluatorConfig(*config), repeated)]
    finally:
        if f_cleanup is not None:
            f_cleanup()


def default_alloc_argument(
    device: Any, args_info: Sequence[Sequence[Any]], alloc_repeat: int
) -> list[list[Any]]:
    """Arguments as their JSON descriptions say, `alloc_repeat` times."""
    rng = np.random.default_rng(0)
    infos = [ArgInfo.from_json(info) for info in args_info]
    return [[_argument(info, rng, device) for info in infos] for _ in range(alloc_repeat)]


def _argument(info: ArgInfo, rng: np.random.Generator, device: Any) -> Any:
    assert isinstance(info, TensorInfo)
    random = dtypes.is_float(info.dtype)
    values = rng.uniform(-1, 1, info.shape) if random else np.zeros(info.shape)
    return empty(info.shape, info.dtype, device).copyfrom(values)


def default_run_evaluator(
    module: Any, device: Any, config: EvaluatorConfig, repeated_args: Sequence[Sequence[Any]]
) -> list[float]:
    """The seconds of each measurement, for all allocations of arguments."""
    evaluator = module.time_evaluator(
        module.entry_name,
        device,
        number=config.number,
        repeat=config.repeat,
        min_repeat_ms=config.min_repeat_ms,
        cache_flush_bytes=_FLUSHED_BYTES if config.enable_cpu_cache_flush else 0,
    )
    return [seconds for args in repeated_args for seconds in evaluator(*args).results]
