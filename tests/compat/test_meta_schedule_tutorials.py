"""What TVM's tutorials on tuning do, with a CPU as the target and few trials."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir import relax
from relax_mlir.relax.frontend import nn
from relax_mlir.s_tir.meta_schedule.database import JSONDatabase, OrderedUnionDatabase
from relax_mlir.s_tir.meta_schedule.relax_integration import extract_tasks


class DemoModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 256)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(256, 10, bias=False)

    def forward(self, x):
        x = self.fc1(x)
        x = self.relu(x)
        x = self.fc2(x)
        return x


def _model() -> Any:
    input_shape = (1, 784)
    return DemoModel().export_tvm({"forward": {"x": nn.spec.Tensor(input_shape, "float32")}})


def _check(mod: tvm.IRModule, target: tvm.target.Target) -> None:
    rng = np.random.default_rng(0)
    x, w1, b1, w2 = (rng.standard_normal(shape).astype("float32")
                     for shape in ((1, 784), (256, 784), (256,), (10, 256)))  # fmt: skip
    vm = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    got = vm["forward"](*[tvm.runtime.tensor(a) for a in (x, w1, b1, w2)]).numpy()
    np.testing.assert_allclose(got, np.maximum(x @ w1.T + b1, 0) @ w2.T, rtol=1e-3, atol=1e-2)


@pytest.mark.slow
def test_the_tutorial_on_meta_schedule(tmp_path: Path) -> None:
    mod, _ = _model()
    target = tvm.target.Target.from_device(tvm.cpu(0))
    tmp_dir = str(tmp_path)
    with target:
        tuned_mod = tvm.ir.transform.Sequential(
            [
                relax.get_pipeline("zero"),
                relax.transform.MetaScheduleTuneTIR(work_dir=tmp_dir, max_trials_global=1),
                relax.transform.MetaScheduleApplyDatabase(work_dir=tmp_dir),
            ]
        )(mod)
        legalized_mod = relax.get_pipeline("zero")(mod)
    _check(tuned_mod, target)
    tasks = extract_tasks(legalized_mod, target)
    assert {task.task_name: task.weight for task in tasks} == {
        "transpose": 1, "transpose1": 1, "fused_matmul_add_relu": 1, "matmul1": 1,
    }  # fmt: skip
    with target:
        selected = tvm.ir.transform.Sequential(
            [
                relax.transform.MetaScheduleTuneIRMod(
                    params={}, work_dir=tmp_dir, max_trials_global=1, op_names=["matmul"]
                ),
                relax.transform.MetaScheduleApplyDatabase(work_dir=tmp_dir),
            ]
        )(legalized_mod)
    _check(selected, target)
    local_db = JSONDatabase(work_dir=tmp_dir)
    shared_db = JSONDatabase(work_dir=str(tmp_path / "shared"))
    combined_db = OrderedUnionDatabase(local_db, shared_db)
    with target, combined_db:
        _check(relax.transform.MetaScheduleApplyDatabase()(legalized_mod), target)


def test_the_tutorial_on_optimizing_a_model_end_to_end(tmp_path: Path) -> None:
    mod, params = _model()
    target = tvm.target.Target("llvm")
    mod = relax.get_pipeline(
        "static_shape_tuning",
        target=target,
        work_dir=str(tmp_path / "tuning_logs"),
        total_trials=1,
        max_trials_per_task=1,
    )(mod)
    assert "@R.function" in mod["forward"].script()
    assert [name for name, _ in params] == ["fc1.weight", "fc1.bias", "fc2.weight"]
    _check(mod, target)


def test_the_arguments_are_tvms() -> None:
    from relax_mlir import meta_schedule as ms

    expected = {
        ms.tune_tir: "mod target work_dir max_trials_global max_trials_per_task "
        "num_trials_per_iter builder runner database cost_model measure_callbacks task_scheduler "
        "space strategy num_tuning_cores seed module_equality special_space post_optimization",
        ms.tune_relax: "mod params target work_dir max_trials_global max_trials_per_task op_names "
        "num_trials_per_iter builder runner database cost_model measure_callbacks task_scheduler "
        "space strategy seed module_equality",
        ms.tune_tasks: "tasks task_weights work_dir max_trials_global max_trials_per_task "
        "num_trials_per_iter builder runner database cost_model measure_callbacks task_scheduler "
        "module_equality post_optimization",
        ms.compile_relax: "database mod target params enable_warning",
        ms.extract_tasks: "mod target params module_equality",
        ms.tir_integration.compile_tir: "database mod target",
    }
    for function, names in expected.items():
        assert list(inspect.signature(function).parameters) == names.split()
