"""How often a candidate is run to measure it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EvaluatorConfig"]


class EvaluatorConfig(NamedTuple):
    """`repeat` measurements, each the mean of `number` calls, after one call that is not counted.

    `number` grows until a measurement takes `min_repeat_ms`.  With `enable_cpu_cache_flush` what is
    in the CPU's caches is replaced before each measurement.
    """

    number: int = 3
    repeat: int = 3
    min_repeat_ms: int = 30
    enable_cpu_cache_flush: bool = False
