"""What a scheduler knows of a task, and the table of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.meta_schedule.block_facts import flops_of
from relax_mlir.meta_schedule.builder import BuilderResult
from relax_mlir.meta_schedule.runner import RunnerFuture
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
from relax_mlir.meta_schedule.tune_context import TuneContext
from relax_mlir.meta_schedule.utils import prim_func_of

__all__ = ["Batch", "TaskRecord", "table_of_tasks"]


@dataclass
class Batch:
    """Candidates that are built and run together."""

    candidates: list[MeasureCandidate]
    builder_results: list[BuilderResult]
    futures: list[RunnerFuture]


@dataclass
class TaskRecord:
    """A task and how its tuning goes; latencies are in seconds, infinite for what failed."""

    ctx: TuneContext
    task_weight: float = 1.0
    flop: int = 1
    is_terminated: bool = False
    build_error_count: int = 0
    run_error_count: int = 0
    unscheduled_artifact: str | None = None
    unscheduled_secs: float = float("inf")
    latencies: list[float] = field(default_factory=list)
    running: Batch | None = None

    @staticmethod
    def of(ctx: TuneContext, weight: float) -> TaskRecord:
        """The record of a task that begins.  Raises ValueError for an incomplete context."""
        for name in ("mod", "target", "space_generator", "search_strategy"):
            if getattr(ctx, name) is None:
                raise ValueError(f"the TuneContext of task '{ctx.task_name}' has no {name}")
        assert ctx.mod is not None
        return TaskRecord(ctx, weight, flops_of(prim_func_of(ctx.mod)))

    @property
    def best_secs(self) -> float:
        """The fastest time, that of the function as it is included."""
        return min([self.unscheduled_secs, *self.latencies])


def table_of_tasks(tasks: Sequence[TaskRecord]) -> str:
    """A line a task: how much there is to compute, how fast it is, how many trials it had.

    "Speedup" is against the function as it is.
    """
    head = ["ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)", "Speedup",
            "Weighted Latency (us)", "Trials", "Done"]  # fmt: skip
    rows = [_row(number, task) for number, task in enumerate(tasks)]
    widths = [max(len(line[n]) for line in [head, *rows]) for n in range(len(head))]
    lines = [" | ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True))
             for line in [head, *rows]]  # fmt: skip
    lines.insert(1, "-" * len(lines[0]))
    known = [t for t in tasks if t.best_secs < float("inf")]
    total = sum(t.best_secs * t.task_weight for t in known) * 1e6
    trials = sum(len(t.latencies) for t in tasks)
    return "\n".join([*lines, f"Total trials: {trials}", f"Total latency (us): {total:.4g}"])


def _row(number: int, task: TaskRecord) -> list[str]:
    best = task.best_secs
    known = best < float("inf")
    speedup = task.unscheduled_secs / best if known else float("inf")
    return [
        str(number),
        task.ctx.task_name,
        str(task.flop),
        f"{task.task_weight:g}",
        f"{task.flop / best / 1e9:.4f}" if known else "N/A",
        f"{best * 1e6:.4f}" if known else "N/A",
        f"{speedup:.2f}" if speedup < float("inf") else "N/A",
        f"{best * task.task_weight * 1e6:.4f}" if known else "N/A",
        str(len(task.latencies)),
        "Y" if task.is_terminated else "",
    ]
