"""Tuning: what is measured, what is kept, and that nothing gets slower.

Most tests have a runner that invents times, so that they do not depend on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import meta_schedule as ms
from relax_mlir import tir
from relax_mlir.errors import Error
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.runner import EvaluatorConfig, LocalRunner, RunnerResult
from relax_mlir.meta_schedule.search_strategy import MeasureCandidate
from relax_mlir.meta_schedule.task_scheduler import GradientBased, RoundRobin, table_of_tasks
from relax_mlir.meta_schedule.worker import close_idle
from tests.exec.meta_schedule_programs import PROGRAMS, InventedTimes, is_plain

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 2})


def tune(
    name: str, work_dir: Path, seconds: Callable[[str], float | None], **options: Any
) -> tuple[ms.Database, InventedTimes]:
    device = InventedTimes(seconds)
    given: dict[str, Any] = {
        "max_trials_global": 6, "num_trials_per_iter": 3, "strategy": "replay-trace", "seed": 5,
        "database": "memory", "builder": device, "runner": device, "cost_model": "random",
    }  # fmt: skip
    database = ms.tune_tir(PROGRAMS[name].mod, TARGET, str(work_dir), **{**given, **options})
    return database, device


def best(database: ms.Database, name: str) -> tir.Schedule:
    sch = ms.tir_integration.compile_tir(database, PROGRAMS[name].mod, TARGET)
    assert sch is not None
    return sch


def test_a_function_that_no_schedule_beats_stays_as_it_is(tmp_path: Path) -> None:
    database, device = tune("matmul_relu", tmp_path, lambda s: 1.0 if is_plain(s) else 1.5)
    assert len(database) == 7, "six trials and the function as it is"
    assert is_plain(device.scripts[0]) and not any(map(is_plain, device.scripts[1:]))
    assert best(database, "matmul_relu").trace.insts == []
    assert best(database, "matmul_relu").mod == PROGRAMS["matmul_relu"].mod


def test_the_fastest_schedule_is_kept(tmp_path: Path) -> None:
    def seconds(script: str) -> float:
        return 1.0 if is_plain(script) else 0.1 + len(script) % 7 / 10

    database, device = tune("convolution", tmp_path, seconds)
    fastest = min(device.scripts, key=seconds)
    assert not is_plain(fastest)
    assert best(database, "convolution").mod.script() == fastest
    PROGRAMS["convolution"].check(tvm.compile(best(database, "convolution").mod, TARGET))


def test_what_seems_faster_is_measured_again_beside_the_function_as_it_is(tmp_path: Path) -> None:
    """A machine that was busy at first: all later runs take half the time."""
    calls = 0

    def seconds(script: str) -> float:
        nonlocal calls
        calls += 1
        return (1.0 if is_plain(script) else 1.1) * (1.0 if calls < 2 else 0.5)

    database, device = tune("matmul_relu", tmp_path, seconds)
    assert not best(database, "matmul_relu").trace.insts
    records = database.get_all_tuning_records()
    assert records[0].seconds == 1.0 and not records[0].is_scheduled
    confirmed = [r for r in records if r.seconds == pytest.approx(1.1)]
    assert len(confirmed) == 6, "their times are those beside the function"
    assert device.runs.count(0) > 1


def test_failures_are_recorded_and_not_chosen(tmp_path: Path) -> None:
    database, _ = tune("matmul_relu", tmp_path, lambda s: 1.0 if is_plain(s) else None)
    records = database.get_all_tuning_records()
    assert len(records) == 7 and sum(r.is_valid for r in records) == 1
    assert not best(database, "matmul_relu").trace.insts
    failures, _ = tune("matmul_relu", tmp_path, lambda script: None)
    assert ms.tir_integration.compile_tir(failures, PROGRAMS["matmul_relu"].mod, TARGET) is None


def small_evolution(**options: Any) -> ms.SearchStrategy:
    return ms.search_strategy.EvolutionarySearch(
        population_size=12, genetic_num_iters=2, init_min_unmeasured=4, **options
    )


@pytest.mark.parametrize("kind", ["replay-trace", "replay-func", "evolutionary"])
def test_strategies_find_legal_schedules(kind: str, tmp_path: Path) -> None:
    strategy = small_evolution() if kind == "evolutionary" else kind
    database, device = tune("softmax", tmp_path, lambda s: float(1 + len(s) % 5), strategy=strategy)
    assert 4 <= len(database) <= 7
    if kind == "evolutionary":
        assert len(set(device.scripts)) == len(device.scripts), "nothing is measured twice"
    for record in database.get_all_tuning_records():
        assert record.as_schedule().mod.script() in device.scripts


def test_evolution_follows_the_cost_model(tmp_path: Path) -> None:
    """The model likes large tiles of the innermost level; what is measured has them."""

    def score(sch: tir.Schedule) -> float:
        tiles = [d for d in sch.trace.decisions.values() if isinstance(d, list) and len(d) == 4]
        return float(sum(tile[-1] for tile in tiles))

    class LikesLargeTiles(ms.cost_model.PyCostModel):
        updates = 0

        def load(self, path: str) -> None:
            raise OSError(path)

        def save(self, path: str) -> None:
            raise OSError(path)

        def update(self, context: Any, candidates: Any, results: Any) -> None:
            self.updates += len(candidates)

        def predict(self, context: Any, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
            return np.array([score(c.sch) for c in candidates])

    model = LikesLargeTiles()
    strategy = ms.search_strategy.EvolutionarySearch(population_size=18, genetic_num_iters=3)
    database, _ = tune("matmul_relu", tmp_path, lambda s: 1.0, strategy=strategy, cost_model=model)
    found = [score(r.as_schedule()) for r in database.get_all_tuning_records() if r.is_scheduled]
    random = [score(candidate.sch) for candidate in candidates_of("matmul_relu", 12)[1]]
    assert np.mean(found) > 1.5 * np.mean(random)
    assert model.updates == len(found) == 6


def test_tuning_goes_on_where_it_was(tmp_path: Path) -> None:
    options = {"database": "json", "strategy": small_evolution()}
    first, _ = tune("matmul_relu", tmp_path, lambda s: 1.0 if is_plain(s) else 0.5, **options)
    second, device = tune("matmul_relu", tmp_path, lambda s: 1.0 if is_plain(s) else 0.5, **options)
    assert len(second) == len(first) + len(device.scripts)
    lines = (tmp_path / "database_tuning_record.json").read_text().splitlines()
    assert len(lines) == len(second)
    assert len((tmp_path / "database_workload.json").read_text().splitlines()) == 1


# -- several tasks ----------------------------------------------------------------------------

SEVERAL = IRModule({name: PROGRAMS[name].mod["main"] for name in ("row_sum", "softmax")})


def tune_several(work_dir: Path, scheduler: ms.TaskScheduler, **options: Any) -> ms.TaskScheduler:
    def seconds(script: str) -> float:
        return 8.0 if 'T.block("exp")' in script else 1.0

    device = InventedTimes(seconds)
    ms.tune_tir(
        SEVERAL, TARGET, str(work_dir), builder=device, runner=device, database="memory", seed=3,
        strategy="replay-trace", cost_model="random", task_scheduler=scheduler, **options,
    )  # fmt: skip
    return scheduler


def test_tasks_take_turns(tmp_path: Path) -> None:
    scheduler = tune_several(tmp_path, RoundRobin(), max_trials_global=8, num_trials_per_iter=2)
    assert [len(task.latencies) for task in scheduler.tasks] == [4, 4]
    assert all(task.is_terminated for task in scheduler.tasks)


def test_trials_go_where_the_time_goes(tmp_path: Path) -> None:
    scheduler = tune_several(tmp_path, GradientBased(seed=1), max_trials_global=12,
                             num_trials_per_iter=2)  # fmt: skip
    assert [task.ctx.task_name for task in scheduler.tasks] == ["row_sum", "softmax"]
    assert [len(task.latencies) for task in scheduler.tasks] == [2, 10]


def test_the_limit_of_a_task(tmp_path: Path) -> None:
    scheduler = tune_several(tmp_path, GradientBased(seed=1), max_trials_global=30,
                             max_trials_per_task=4, num_trials_per_iter=2)  # fmt: skip
    assert [len(task.latencies) for task in scheduler.tasks] == [4, 4]
    table = table_of_tasks(scheduler.tasks)
    assert "softmax" in table and "Total trials: 8" in table
    logs = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert sorted(logs) == [
        f"relax_mlir.meta_schedule.{name}.log"
        for name in ("task_0_row_sum", "task_1_softmax", "task_scheduler")
    ]
    assert table in logs["relax_mlir.meta_schedule.task_scheduler.log"]
    assert "[Task #1: softmax] Trial #4" in logs["relax_mlir.meta_schedule.task_1_softmax.log"]


def test_spaces_for_single_functions(tmp_path: Path) -> None:
    def parallel(sch: tir.Schedule) -> None:
        sch.parallel(sch.get_loops("sum")[0])

    scheduler = tune_several(tmp_path, RoundRobin(), max_trials_global=2, num_trials_per_iter=1,
                             special_space={"row_sum": parallel, "softmax": None})  # fmt: skip
    assert [task.ctx.task_name for task in scheduler.tasks] == ["row_sum"]


def test_callbacks_and_profilers_of_the_user(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    class Counts(ms.measure_callback.PyMeasureCallback):
        def apply(
            self, task_scheduler: Any, task_id: int, measure_candidates: Any, builder_results: Any,
            runner_results: Any,
        ) -> None:  # fmt: skip
            seen.append((task_id, len(runner_results)))
            assert task_scheduler.tasks_[task_id].ctx.task_name == "main"
            assert task_scheduler.remaining_tasks_ == 1

    with ms.Profiler() as profiler:
        database, _ = tune("row_sum", tmp_path, lambda s: 1.0, measure_callbacks=Counts())
        with ms.Profiler.timeit("mine"):
            time.sleep(0.001)
    assert seen == [(0, 3), (0, 3)]
    assert len(database) == 1, "only the function as it is, which no callback records"
    assert profiler.get()["mine"] > 0 and ms.Profiler.current() is None
    assert profiler.table().splitlines()[2].split("|")[1].strip() == "Total"
    assert "SendToBuilder" in profiler.table()


# -- what cannot be ---------------------------------------------------------------------------


def test_mistakes_are_named(tmp_path: Path) -> None:
    mod = PROGRAMS["row_sum"].mod
    with pytest.raises(ValueError, match="No tasks to tune"):
        ms.tune_tasks(tasks=[], task_weights=[], work_dir=str(tmp_path), max_trials_global=1)
    with pytest.raises(ValueError, match="post optimization"):
        ms.tune_tir(mod, TARGET, str(tmp_path), 1, post_optimization=True)
    with pytest.raises(ValueError, match='no search strategy "genetic"'):
        ms.tune_tir(mod, TARGET, str(tmp_path), 1, strategy="genetic")
    with pytest.raises(ValueError, match='no task scheduler "fair"'):
        ms.tune_tir(mod, TARGET, str(tmp_path), 1, task_scheduler="fair")
    with pytest.raises(ValueError, match='no cost model "oracle"'):
        ms.tune_tir(mod, TARGET, str(tmp_path), 1, cost_model="oracle")
    with pytest.raises(ValueError, match="has no search_strategy"):
        ms.TuneContext(mod, target=TARGET).generate_measure_candidates()
    with pytest.raises(ValueError, match='"logical"'):
        ms.TuneContext(mod, num_threads="all")
    with pytest.raises(Error, match=r"no rocm device here.*\n.*PyRunner"):
        ms.tune_tir(mod, "rocm", str(tmp_path), 1)
    with pytest.raises(ValueError, match="symbols first"):
        ms.tune_tir(_dynamic(), TARGET, str(tmp_path), 1)


def _dynamic() -> tir.PrimFunc:
    from relax_mlir.script import tir as T

    @T.prim_func
    def main(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            with T.block("A"):
                vi = T.axis.spatial(n, i)
                A[vi] = T.float32(0)

    return main


def test_xgboost_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xgboost", None)
    with pytest.raises(Error, match=r"(?s)XGBoost.*relax_mlir\[tune\]"):
        ms.cost_model.create("xgb")


def test_a_random_model_goes_on_where_it_was(tmp_path: Path) -> None:
    model = ms.cost_model.RandomModel(seed=3)
    context: Any = None
    model.predict(context, [None] * 4)
    model.save(str(tmp_path / "model.json"))
    again = ms.cost_model.RandomModel(path=str(tmp_path / "model.json"))
    scores = model.predict(context, [None] * 4)
    np.testing.assert_array_equal(scores, again.predict(context, [None] * 4))


def candidates_of(name: str, number: int) -> tuple[ms.TuneContext, list[MeasureCandidate]]:
    context = ms.TuneContext(
        PROGRAMS[name].mod, target=TARGET, space_generator="post-order-apply",
        search_strategy="replay-trace", rand_state=2, task_name=name,
    )  # fmt: skip
    context.pre_tuning(number, number)
    found = context.generate_measure_candidates()
    assert found is not None
    return context, found


def test_features_tell_schedules_apart() -> None:
    context, candidates = candidates_of("matmul_relu", 4)
    plain = MeasureCandidate.of(tir.Schedule(PROGRAMS["matmul_relu"].mod))
    extractor = ms.feature_extractor.create("per-store-feature")
    matrices = extractor.extract_from(context, [plain, *candidates])
    assert [m.shape[1] for m in matrices] == [extractor.feature_vector_length] * 5
    assert matrices[0].shape[0] == 2, "a row for each block"
    assert len({m.tobytes() for m in matrices}) == 5
    serial, parallel = matrices[0][0][:2]
    assert serial == pytest.approx(np.log2(1 + 32 * 48 * 24)) and parallel == 1.0


def test_boosted_trees_learn_which_is_faster(tmp_path: Path) -> None:
    pytest.importorskip("xgboost")
    context, candidates = candidates_of("matmul_relu", 40)
    extractor = ms.feature_extractor.create("per-store-feature")
    cost = [float(m.sum()) for m in extractor.extract_from(context, candidates)]
    model = ms.cost_model.XGBModel()
    assert model.predict(context, candidates).shape == (40,)
    model.update(context, candidates[:30], [RunnerResult([c], None) for c in cost[:30]])
    scores = model.predict(context, candidates)
    assert np.corrcoef(scores, 1 / np.array(cost))[0, 1] > 0.8
    model.save(str(tmp_path / "model"))
    again = ms.cost_model.XGBModel()
    again.load(str(tmp_path / "model"))
    np.testing.assert_allclose(again.predict(context, candidates), scores, rtol=1e-5)


# -- for real ---------------------------------------------------------------------------------


def test_the_whole_way(tmp_path: Path) -> None:
    """Built and run in processes of their own, found in the files, compiled."""
    runner = LocalRunner(30, EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0))
    database = ms.tune_tir(
        PROGRAMS["matmul_relu"].mod, TARGET, str(tmp_path), max_trials_global=2, runner=runner,
        strategy="replay-trace", cost_model="random", seed=1, num_tuning_cores=1,
    )  # fmt: skip
    close_idle()
    records = database.get_all_tuning_records()
    assert len(records) == 3 and all(record.is_valid for record in records)
    again = ms.database.JSONDatabase(work_dir=str(tmp_path))
    for record in again.get_all_tuning_records():
        PROGRAMS["matmul_relu"].check(tvm.compile(record.as_schedule().mod, TARGET))
    assert best(again, "matmul_relu").mod == best(database, "matmul_relu").mod


@pytest.mark.parametrize(
    "part",
    ["Builder", "CostModel", "Database", "MeasureCallback", "Mutator", "Postproc", "Runner",
     "ScheduleRule", "SearchStrategy", "TaskScheduler"],
)  # fmt: skip
def test_parts_of_unknown_kinds_are_refused(part: str) -> None:
    with pytest.raises(ValueError, match=r'there is no .* "nonsense"; there is: [a-z]'):
        getattr(ms, part).create("nonsense")
