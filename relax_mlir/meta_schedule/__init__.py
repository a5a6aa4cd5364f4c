"""`tvm.meta_schedule`: schedules found by measuring.

A task is a TensorIR function.  A space generator says which schedules there are of it, a search
strategy which of them to try, a builder and a runner measure them in a process of their own, and
a database keeps the times.  The function as it is, which the compiler's own kernels compute, is
always measured too: a schedule that is not faster is not used.

Parts are imported on first use.
"""

from __future__ import annotations

from relax_mlir.on_demand import names_on_demand

_PARTS = {
    "arg_info": "",
    "block_facts": "",
    "builder": "Builder",
    "cost_model": "CostModel",
    "database": "Database",
    "extracted_task": "ExtractedTask",
    "feature_extractor": "FeatureExtractor",
    "logging": "",
    "measure_callback": "MeasureCallback",
    "module_equality": "",
    "mutator": "Mutator",
    "postproc": "Postproc",
    "profiler": "Profiler",
    "relax_integration": "tune_relax compile_relax extract_tasks",
    "runner": "Runner",
    "schedule_rule": "ScheduleRule",
    "search_strategy": "MeasureCandidate SearchStrategy",
    "space_generator": "SpaceGenerator",
    "task_scheduler": "TaskScheduler",
    "tir_integration": "tune_tir compile_tir",
    "trace_apply": "",
    "tune": "tune_tasks",
    "tune_context": "TuneContext",
    "utils": "derived_object",
}

__getattr__ = names_on_demand(__name__, _PARTS)


def __dir__() -> list[str]:
    return sorted([*_PARTS, *" ".join(_PARTS.values()).split()])
