"""The function as it is: candidate number 0 of a task.

What the compiler makes of a function without a schedule is its own kernels, which few schedules
beat.  So that tuning never makes a program slower, the function is measured before all else, and a
candidate that seems faster than what was best is measured again beside it: its time is recorded
relative to that of the function in the same moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from relax_mlir.meta_schedule.builder import Builder, BuilderInput, BuilderResult
from relax_mlir.meta_schedule.database import Database, TuningRecord
from relax_mlir.meta_schedule.runner import Runner, RunnerInput, RunnerResult
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
from relax_mlir.meta_schedule.task_scheduler.task_record import TaskRecord
from relax_mlir.tir.schedule import Schedule, Trace

__all__ = ["confirmed_results", "measure_unscheduled"]


def measure_unscheduled(
    task: TaskRecord, builder: Builder, runner: Runner, database: Database | None
) -> None:
    """Measure a task's function as it is, and record it with an empty trace."""
    ctx = task.ctx
    assert ctx.mod is not None and ctx.target is not None
    candidate = MeasureCandidate.of(Schedule(ctx.mod))
    built = builder.build([BuilderInput(ctx.mod, ctx.target)])[0]
    if built.artifact_path is None:
        ctx.logger.warning("the function as it is was not built: %s", built.error_msg)
        return
    task.unscheduled_artifact = built.artifact_path
    result = _run(runner, task, candidate, built.artifact_path)
    if not result.run_secs:
        ctx.logger.warning("the function as it is did not run: %s", result.error_msg)
        return
    task.unscheduled_secs = result.seconds
    ctx.logger.info("Trial #0, the function as it is: %.4f us", result.seconds * 1e6)
    if database is not None:
        workload = database.commit_workload(ctx.mod)
        database.commit_tuning_record(
            TuningRecord(Trace(), workload, result.run_secs, ctx.target, candidate.args_info)
        )


def confirmed_results(
    task: TaskRecord,
    runner: Runner,
    candidates: Sequence[MeasureCandidate],
    built: Sequence[BuilderResult],
    results: Sequence[RunnerResult],
) -> list[RunnerResult]:
    """The results, with those that seem to be the best so far measured again beside the function
    as it is."""
    confirmed = list(results)
    open_numbers = {n for n, result in enumerate(results) if result.run_secs}
    best = task.best_secs
    while open_numbers and task.unscheduled_artifact is not None:
        fastest = min(open_numbers, key=lambda n: confirmed[n].seconds)
        if confirmed[fastest].seconds >= best:
            break
        open_numbers.remove(fastest)
        path = built[fastest].artifact_path
        assert path is not None, "what ran was built"
        confirmed[fastest] = _beside(task, runner, candidates[fastest], path)
        best = min(best, confirmed[fastest].seconds)
    return confirmed


def _beside(
    task: TaskRecord, runner: Runner, candidate: MeasureCandidate, path: str
) -> RunnerResult:
    """A candidate's times between two measurements of the function as it is, as multiples of the
    time that was recorded for that."""
    assert task.unscheduled_artifact is not None
    paths = [task.unscheduled_artifact, path, task.unscheduled_artifact]
    before, again, after = [_run(runner, task, candidate, p) for p in paths]
    if not (before.run_secs and again.run_secs and after.run_secs):
        return again if not again.run_secs else RunnerResult(None, "measuring was disturbed")
    scale = task.unscheduled_secs / median([before.seconds, after.seconds])
    return RunnerResult([seconds * scale for seconds in again.run_secs], None)


def _run(runner: Runner, task: TaskRecord, candidate: MeasureCandidate, path: str) -> RunnerResult:
    target = task.ctx.target
    assert target is not None
    item = RunnerInput(path, target.device_type, candidate.args_info)
    return runner.run([item])[0].result()
