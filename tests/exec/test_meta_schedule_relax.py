"""Tuning Relax programs: tasks, the passes of relax.transform, and the pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import meta_schedule as ms
from relax_mlir import relax, tir
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.meta_schedule.relax_integration import extract_tasks
from relax_mlir.relax.frontend import nn
from relax_mlir.relax.pipelines import default_build_pipeline
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T
from tests.exec.meta_schedule_programs import InventedTimes, is_plain

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 2})


class Model(nn.Module):
    """Two products of one shape and one of another."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16, bias=False)
        self.second = nn.Linear(16, 16, bias=False)
        self.third = nn.Linear(16, 8)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.third(nn.op.relu(self.second(self.first(x))))


MODULE, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor((4, 16), "float32")}})
RNG = np.random.default_rng(0)
X, W1, W2, W3, B3 = (RNG.standard_normal(shape).astype("float32") / 4
                     for shape in ((4, 16), (16, 16), (16, 16), (8, 16), (8,)))  # fmt: skip
EXPECTED = np.maximum(X @ W1.T @ W2.T, 0) @ W3.T + B3


def legalized() -> IRModule:
    with TARGET:
        return relax.get_pipeline("zero")(MODULE)


def check(executable: Any) -> None:
    function = relax.VirtualMachine(executable, tvm.cpu())["forward"]
    got = function(*[tvm.runtime.tensor(a) for a in (X, W1, W2, W3, B3)]).numpy()
    np.testing.assert_allclose(got, EXPECTED, rtol=1e-4, atol=1e-5)


def scheduled_functions(mod: IRModule) -> set[str]:
    return {v.name_hint for v, f in mod.functions.items() if f.get_attr("tir.is_scheduled")}


def parallel_rows(sch: tir.Schedule) -> bool:
    """Runs the outermost loop of each block in parallel."""
    for name in ms.utils.block_names(sch.mod):
        sch.parallel(sch.get_loops(name)[0])
    return True


# -- tasks ------------------------------------------------------------------------------------


def test_equal_functions_are_one_task() -> None:
    tasks = {task.task_name: task for task in extract_tasks(legalized(), TARGET)}
    weights = sorted(task.weight for task in tasks.values())
    assert sum(weights) == 6, "three transpositions and three products"
    assert weights == [1, 1, 1, 1, 2]
    assert [len(task.dispatched) for task in tasks.values()] == [1] * 5
    for task in tasks.values():
        assert [v.name_hint for v in task.mod.functions] == ["main"]
        assert task.dispatched[0] is task.mod
        assert task.target == TARGET


def test_tasks_of_the_same_anchor_block() -> None:
    structural = {t.task_name for t in extract_tasks(legalized(), TARGET)}
    anchor = extract_tasks(legalized(), TARGET, module_equality="anchor-block")
    assert len(anchor) == len(structural) - 1, "a product with and without relu"
    (both,) = [task for task in anchor if "matmul" in task.task_name and task.weight == 2]
    assert len(ms.utils.block_names(both.mod)) == 1, "of equal ones the smallest"


@I.ir_module
class Dynamic:
    @T.prim_func(private=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi]

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Dynamic
        return R.call_tir(cls.copy, (x,), R.Tensor((n,), "float32"))


def test_functions_of_symbolic_sizes_are_no_tasks() -> None:
    assert extract_tasks(Dynamic, TARGET) == []
    bound = relax.transform.BindSymbolicVars({"n": 8})(Dynamic)
    with TARGET:
        bound = relax.transform.SpecializePrimFuncBasedOnCallSite()(bound)
    assert len(extract_tasks(bound, "llvm")) <= 1
    with pytest.raises(ValueError, match="No tasks to tune"):
        ms.tune_relax(Dynamic, {}, TARGET, "unused", 1)


def test_operators_are_chosen_by_parts_of_their_names(tmp_path: Path) -> None:
    device = InventedTimes(lambda script: 1.0)
    ms.tune_relax(
        legalized(), {}, TARGET, str(tmp_path), 2, op_names=["transpose"], seed=1,
        builder=device, runner=device, strategy="replay-trace", cost_model="random",
        num_trials_per_iter=1,
    )  # fmt: skip
    logs = {path.name for path in (tmp_path / "logs").iterdir()}
    assert len(logs) == 3 and sum("transpose" in name for name in logs) == 2


def test_what_is_scheduled_already_is_left_out(tmp_path: Path) -> None:
    with TARGET, ms.database.ScheduleFnDatabase(parallel_rows):
        mod = relax.transform.MetaScheduleApplyDatabase()(legalized())
    tasks = extract_tasks(mod, TARGET)
    with pytest.warns(UserWarning, match="scheduled already"):
        contexts, weights = ms.relax_integration.extracted_tasks_to_tune_contexts(
            tasks, str(tmp_path)
        )
    assert contexts == weights == []


# -- applying what was found ------------------------------------------------------------------


def test_the_faster_schedules_are_applied(tmp_path: Path) -> None:
    """Products gain by schedules on the device that does not exist, all else loses."""

    def seconds(script: str) -> float:
        gains = 'T.block("matmul' in script
        return 1.0 if is_plain(script) else 0.5 if gains else 2.0

    device = InventedTimes(seconds)
    database = ms.tune_relax(
        legalized(), {}, TARGET, str(tmp_path), 10, builder=device, runner=device, seed=2,
        strategy="replay-trace", cost_model="random", num_trials_per_iter=2,
    )  # fmt: skip
    with TARGET:
        mod = relax.transform.MetaScheduleApplyDatabase(work_dir=str(tmp_path))(legalized())
    before, after = legalized(), scheduled_functions(mod)
    assert after == {v.name_hint for v in mod.functions if "matmul" in v.name_hint} != set()
    for var, function in mod.functions.items():
        old = before[var]
        assert function.is_private == old.is_private
        if var.name_hint in after:
            kept = {k: v for k, v in function.attrs.items() if k != "tir.is_scheduled"}
            assert kept == old.attrs
        else:
            assert function == old
    check(tvm.compile(mod, TARGET))
    check(ms.compile_relax(database, legalized(), TARGET))
    check(ms.compile_relax(database, MODULE, TARGET))


def test_every_way_to_a_database(tmp_path: Path) -> None:
    database = ms.database.ScheduleFnDatabase(parallel_rows)
    everything = {v.name_hint for v, f in legalized().functions.items()
                  if isinstance(f, tir.PrimFunc)}  # fmt: skip
    apply = relax.transform.MetaScheduleApplyDatabase
    with TARGET, database:
        assert scheduled_functions(apply()(legalized())) == everything
        assert scheduled_functions(relax.get_pipeline("zero")(MODULE)) == everything
        check(tvm.compile(MODULE, TARGET))
    assert scheduled_functions(relax.get_pipeline("zero")(MODULE)) == set()
    with TARGET:
        made_here = apply(str(tmp_path), enable_warning=True)
    with pytest.warns(UserWarning, match="no tuning record for"):
        assert made_here(legalized()) == legalized()
    with TARGET, pytest.raises(PassError, match="no database is current"):
        apply()(legalized())
    with database, pytest.raises(PassError, match="no target"):
        apply()(legalized())


def test_the_passes_tune(tmp_path: Path) -> None:
    mod = tvm.IRModule({"main": _relu, "add": _add})
    with TARGET:
        tuned = relax.transform.MetaScheduleTuneTIR(str(tmp_path), max_trials_global=1)(mod)
    assert tuned == mod
    records = ms.database.JSONDatabase(work_dir=str(tmp_path)).get_all_tuning_records()
    assert len(records) == 4 and sum(r.is_scheduled for r in records) == 2
    assert all(record.is_valid for record in records)
    with pytest.raises(PassError, match="MetaScheduleTuneTIR: no target"):
        relax.transform.MetaScheduleTuneTIR(str(tmp_path), 1)(mod)
    with pytest.raises(PassError, match="MetaScheduleTuneIRMod: no target"):
        relax.transform.MetaScheduleTuneIRMod({}, str(tmp_path), 1)(legalized())


@T.prim_func
def _relu(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.max(A[vi], T.float32(0))


@T.prim_func
def _add(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


# -- the pipeline -----------------------------------------------------------------------------


def test_the_pipeline_for_static_shapes(tmp_path: Path) -> None:
    mod = relax.get_pipeline(
        "static_shape_tuning",
        total_trials=2,
        target=TARGET,
        work_dir=str(tmp_path),
        max_trials_per_task=1,
    )(MODULE)
    check(tvm.compile(mod, TARGET))
    records = ms.database.JSONDatabase(work_dir=str(tmp_path)).get_all_tuning_records()
    assert sum(record.is_scheduled for record in records) == 2
    plain = [record for record in records if not record.is_scheduled]
    with TARGET:
        tasks = extract_tasks(default_build_pipeline()(MODULE), TARGET)
    assert len(plain) == len(tasks), "each function as it is"


def test_weights_are_prepared_once(tmp_path: Path) -> None:
    mod = relax.get_pipeline(
        "static_shape_tuning", total_trials=0, target=TARGET, work_dir=str(tmp_path),
        cpu_weight_prepack=True,
    )(MODULE)  # fmt: skip
    machine = relax.VirtualMachine(tvm.compile(mod, TARGET), tvm.cpu())
    weights = [tvm.runtime.tensor(w) for w in (W1, W2, W3, B3)]
    prepared = machine["forward_transform_params"](weights)
    got = machine["forward"](tvm.runtime.tensor(X), *prepared).numpy()
    np.testing.assert_allclose(got, EXPECTED, rtol=1e-4, atol=1e-5)
