"""`tvm.meta_schedule`: schedules found by measuring.

A task is a TensorIR function.  A space generator says which schedules there are of it, a search
strategy which of them to try, a builder and a runner measure them in a process of their own, and
a database keeps the times.  The function as it is, which the compiler's own kernels compute, is
always measured too: a schedule that is not faster is not used.

Parts are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "Builder": "builder",
    "CostModel": "cost_model",
    "Database": "database",
    "ExtractedTask": "extracted_task",
    "FeatureExtractor": "feature_extractor",
    "MeasureCallback": "measure_callback",
    "Mutator": "mutator",
    "Postproc": "postproc",
    "Profiler": "profiler",
    "Runner": "runner",
    "ScheduleRule": "schedule_rule",
    "MeasureCandidate": "search_strategy",
    "SearchStrategy": "search_strategy",
    "SpaceGenerator": "space_generator",
    "TaskScheduler": "task_scheduler",
    "tune_tir": "tir_integration",
    "compile_tir": "tir_integration",
    "tune_relax": "relax_integration",
    "compile_relax": "relax_integration",
    "extract_tasks": "relax_integration",
    "tune_tasks": "tune",
    "TuneContext": "tune_context",
    "derived_object": "utils",
}
"""What this package names -> the part that has it."""

_PARTS = (
    "arg_info block_facts builder cost_model database extracted_task feature_extractor logging "
    "measure_callback module_equality mutator postproc profiler relax_integration runner "
    "schedule_rule search_strategy space_generator task_scheduler tir_integration trace_apply tune "
    "tune_context utils"
).split()


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    elif name in _PARTS:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_NAMES, *_PARTS])
