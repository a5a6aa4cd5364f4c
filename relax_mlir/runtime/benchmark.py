"""Timing a function the way TVM does: mean over `number` calls, `repeat` times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["BenchmarkResult", "time_function"]


class BenchmarkResult:
    """Run times in seconds, one for each repeat, with their statistics."""

    def __init__(self, results: Sequence[float]):
        self.results = tuple(results)
        self.mean = float(np.mean(self.results))
        self.std = float(np.std(self.results))
        self.median = float(np.median(self.results))
        self.min = float(np.min(self.results))
        self.max = float(np.max(self.results))

    def __repr__(self) -> str:
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, "
            f"max={self.max}, std={self.std}, results={self.results})"
        )

    def __str__(self) -> str:
        columns = ("mean", "median", "max", "min", "std")
        head = " ".join(f"{f'{name} (ms)':^12}" for name in columns)
        row = " ".join(f"{getattr(self, name) * 1e3:^12.4f}" for name in columns)
        return f"Execution time summary:\n{head}\n{row}"


def time_function(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: float = 0,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    device: Any = None,
) -> BenchmarkResult:
    """Call `function(*args)` once to warm up, then `number` times for each of `repeat` repeats.

    When one repeat is shorter than `min_repeat_ms`, `number` grows until it is not.  On a GPU the
    time is that between two events of its stream.
    Raises ValueError when `number` or `repeat` is not positive.
    """
    if number < 1 or repeat < 1:
        raise ValueError(f"number and repeat must be positive, got {number} and {repeat}")
    function(*args)
    timed = _device_run(device) or _run
    flush = np.zeros(cache_flush_bytes, np.uint8)
    results: list[float] = []
    for index in range(repeat):
        flush += 1
        elapsed = timed(function, args, number)
        while elapsed * 1e3 < min_repeat_ms:
            number = max(number * 2, int(number * min_repeat_ms / max(elapsed * 1e3, 1e-6) * 1.05))
            elapsed = timed(function, args, number)
        results.append(elapsed / number)
        if cooldown_interval_ms > 0 and (index + 1) % repeats_to_cooldown == 0:
            time.sleep(cooldown_interval_ms / 1e3)
    return BenchmarkResult(results)


def _device_run(device: Any) -> Callable[[Callable[..., Any], Sequence[Any], int], float] | None:
    """How calls are timed on a GPU; None for the CPU."""
    if device is None or device.type == "cpu":
        return None
    from relax_mlir.runtime.device_api import Event

    def run(function: Callable[..., Any], args: Sequence[Any], number: int) -> float:
        device.sync()
        start, end = Event(device).record(), Event(device)
        for _ in range(number):
            function(*args)
        return start.elapsed_time(end.record()) / 1e3

    return run


def _run(function: Callable[..., Any], args: Sequence[Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        function(*args)
    return time.perf_counter() - start
