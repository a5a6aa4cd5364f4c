"""Interleaved timing: the contestants take turns, so that a disturbance hits all of them."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping

# One thread each, and OpenBLAS free to pick the kernels for this CPU.  Import before numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)


def interleaved(
    calls: Mapping[str, Callable[[], object]], rounds: int = 11, seconds: float = 0.004
) -> dict[str, float]:
    """Median seconds a call takes, by thread CPU time; each round runs each for `seconds`."""
    repeats: dict[str, int] = {}
    for name, call in calls.items():
        call()
        start = time.thread_time()
        call()
        once = max(time.thread_time() - start, 1e-7)
        repeats[name] = max(1, int(seconds / once))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(repeats[name]):
                call()
            samples[name].append((time.thread_time() - start) / repeats[name])
    return {name: statistics.median(values) for name, values in samples.items()}
